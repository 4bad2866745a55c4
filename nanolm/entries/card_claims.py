"""What a model card states, read from its Markdown: numbers with the line they stand on.

The list of what a card should state is the conventions' section 5 (docs/log-likelihood.md): architecture,
unique parameters, data, each benchmark number with its convention, the checkpoint's SHA-256, limitations.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

import msgspec

from nanolm.entries.markdown import Line, running_lines


class Part(msgspec.Struct, frozen=True):
    """A part of the architecture: how cards call it (a regular expression), and config.json's keys."""

    words: str
    keys: tuple[str, ...]


ARCHITECTURE = {
    "layers": Part(
        r"(?:hidden |transformer )?layers|n_layers?|num_hidden_layers|blocks",
        ("num_hidden_layers", "n_layer"),
    ),
    "width": Part(
        r"d_model|hidden[ _]size|embedding (?:dim\w*|size)|n_embd|width", ("hidden_size", "n_embd")
    ),
    "heads": Part(r"(?:attention )?heads|n_heads?|num_attention_heads", ("num_attention_heads", "n_head")),
    "kv heads": Part(
        r"(?:kv|key[- ]value)[ _-]heads|num_key_value_heads|n_kv_heads?", ("num_key_value_heads",)
    ),
    "feed-forward": Part(
        r"(?:ffn|mlp|feed[- ]forward|intermediate)[ _]?(?:size|dim\w*|width)?",
        ("intermediate_size", "n_inner"),
    ),
    "vocabulary": Part(r"vocab(?:ulary)?[ _]?(?:size)?", ("vocab_size",)),
    "context": Part(
        r"context[ _]?(?:length|window|size)?|ctx|block_size|max_position_embeddings|sequence length",
        ("max_position_embeddings", "n_positions"),
    ),
}
_KV = re.compile(r"(?:kv|key[- ]value)[ _-]heads", re.I)

BENCHMARKS = (
    "BLiMP", "ARC-Easy", "ARC-Challenge", "ARC-E", "ARC-C", "PIQA", "HellaSwag", "SciQ", "WinoGrande", "MMLU",
    "WikiText-2", "WikiText", "LAMBADA", "OpenBookQA", "BoolQ", "perplexity", "PPL", "byte_ppl", "BPB",
    "bits per byte",
)  # fmt: skip
_PERPLEXITY = re.compile(r"wikitext|perplexity|\bppl|byte_ppl|\bbpb\b|bits[ -]per[ -]byte", re.I)

_NUMBER = r"(?<!\d)(?:\d{1,3}(?:[,_ ]\d{3}){1,5}|\d{1,15}(?:\.\d{1,15})?)(?!\d)"
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "million": 10**6, "b": 10**9, "billion": 10**9}
_COUNTED = re.compile(
    rf"(?P<a>{_NUMBER})\s?(?P<as>k|m|b|million|billion)?\s"
    r"(?:unique |trainable |total |model )*param(?:eter)?s?\b"
    rf"|\bparam(?:eter)?s?\b(?: count)?[^\d\n]{{0,24}}?(?P<b>{_NUMBER})\s?(?P<bs>k|m|b|million|billion)?\b",
    re.I,
)
_SUM = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_VALUE = re.compile(r"(?<![\w.])(\d{1,15}(?:\.\d{1,15})?)(?!\d)\s?%?(?![\w-])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_ROW, _ROW_END = re.compile(r"<tr\b", re.I), re.compile(r"</tr\b|</table\b", re.I)
_SECTION = re.compile(r"\s*##?\s")
"""A heading of the first two levels: what is said under it holds for its subsections too."""
_NAMES = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in BENCHMARKS), re.I)

CONVENTIONS: dict[str, re.Pattern[str]] = {
    "prompt format": re.compile(r"prompt|zero-shot|\d-shot|few-shot|harness|lm[-_]eval|template", re.I),
    "normalisation": re.compile(r"acc_norm|acc\b|normali[sz]|log-?likelihood|per[- ]byte|by letter", re.I),
}
PERPLEXITY_CONVENTIONS: dict[str, re.Pattern[str]] = {
    "token or byte level": re.compile(r"token|byte|bits[ -]per|\bbpb\b|per word|word[- ]level", re.I),
    "stride or context": re.compile(r"stride|context|window|ctx|sliding", re.I),
}


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """A number of a card."""

    what: str
    text: str
    """As it stands there."""
    value: Decimal
    unit: Decimal
    """One of its last digit, so that rounding can be told from a difference."""
    line: int
    """1-based."""
    around: str = ""
    """The section it stands in, where its convention may be said."""


@lru_cache(maxsize=1)
def body(card: str) -> tuple[Line, ...]:
    """Numbered lines of the card's running text: what stands in code blocks (samples of usage, logs of
    training), in comments and in the YAML at the top is no claim. A row of an HTML table is one line, and
    tags are left out: the numbers in them are none of the card's."""
    found: list[Line] = []
    row: list[str] | None = None
    for number, line in running_lines(card):
        text = _TAG.sub(" ", line)
        if row is not None:
            row.append(text)
        else:
            found.append((number, text))
            row = [text] if _ROW.search(line) else None
        if row is not None and (_ROW_END.search(line) or not line.strip()):
            found[-1] = (found[-1][0], " ".join(row))
            row = None
    if row is not None:
        found[-1] = (found[-1][0], " ".join(row))
    return tuple(found)


def parameters(card: str) -> list[Stated]:
    """Every parameter count, in the order of the card."""
    found = []
    for number, line in body(card):
        for match in _COUNTED.finditer(line.replace("*", " ").replace("|", " ")):
            digits = match["a"] or match["b"]
            scale = _SCALES[(match["as"] or match["bs"] or "").lower()]
            value, unit = _scaled(digits, scale)
            if value >= 1000:
                found.append(
                    Stated(
                        what="parameters", text=match.group(0).strip(), value=value, unit=unit, line=number
                    )
                )
    return found


def sums(card: str) -> list[tuple[int, str, bool]]:
    """SHA-256 sums with their lines, and whether they stand in running text; else in code, where a card may
    show sums of other files, too."""
    running = {number for number, _ in body(card)}
    return [
        (number, match.group(0).lower(), number in running)
        for number, line in running_lines(card, code=True)
        for match in _SUM.finditer(line)
    ]


def architecture(card: str) -> Iterator[Stated]:
    """The first number stated of each part of the architecture."""
    for what, part in ARCHITECTURE.items():
        after = re.compile(rf"(?<![\w-])(?:{part.words})\b[^\d\n]{{0,16}}?({_NUMBER})\s?(k)?\b", re.I)
        before = re.compile(rf"({_NUMBER})\s?(k)?[\s-](?:{part.words})\b", re.I)
        for number, line in body(card):
            plain = line.replace("*", " ").replace("`", " ").replace("|", " ")
            match = before.search(plain) or after.search(plain)
            if match and not (
                what == "heads" and re.search(r"(?:kv|key[- ]value)[ _-]heads", match.group(0), re.I)
            ):
                value, unit = _scaled(match[1], 1024 if match[2] else 1)
                yield Stated(
                    what=what, text=" ".join(match.group(0).split()), value=value, unit=unit, line=number
                )
                break


def benchmarks(card: str) -> list[Stated]:
    """Every number beside a benchmark's name on a line, the first after the name; and its section, with its
    code: a command says how to repeat a number."""
    found: list[tuple[int, Stated]] = []
    starts = [0, *(number for number, line in body(card) if _SECTION.match(line))]
    sections: dict[int, list[str]] = {}
    for number, line in running_lines(card, code=True):
        sections.setdefault(starts[bisect_right(starts, number) - 1], []).append(line)
    for number, line in body(card):
        heading = starts[bisect_right(starts, number) - 1]
        names = list(_NAMES.finditer(line))
        for place, name in enumerate(names, 1):
            end = names[place].start() if place < len(names) else len(line)
            value = _VALUE.search(line, name.end(), end)
            if value:
                amount, unit = _scaled(value[1], 1)
                one = Stated(
                    what=name.group(0), text=value.group(0).strip(), value=amount, unit=unit, line=number
                )
                found.append((heading, one))
    around = {start: "\n".join(lines) for start, lines in sections.items()}
    return [msgspec.structs.replace(one, around=around[heading]) for heading, one in found]


def only_named(card: str) -> tuple[int, list[str]] | None:
    """The first line that names benchmarks, and which; for cards without a number beside any of them."""
    named = ((number, _NAMES.findall(line)) for number, line in body(card))
    return next(((number, names) for number, names in named if names), None)


def conventions(stated: Stated) -> list[str]:
    """What is not said of a benchmark number in its section, of what a reader needs to repeat it."""
    return list(_not_said(stated.around, _PERPLEXITY.search(stated.what) is not None))


@lru_cache(maxsize=1024)
def _not_said(section: str, perplexity: bool) -> tuple[str, ...]:
    wanted = PERPLEXITY_CONVENTIONS if perplexity else CONVENTIONS
    return tuple(name for name, words in wanted.items() if not words.search(section))


def says(card: str, *words: str) -> bool:
    """Whether a line of the card has all these words (regular expressions), in any order."""
    wanted = [re.compile(each, re.I) for each in words]
    return any(all(each.search(line) for each in wanted) for _, line in body(card))


def _scaled(digits: str, scale: int) -> tuple[Decimal, Decimal]:
    plain = re.sub(r"[,_ ]", "", digits)
    value = Decimal(plain)
    exponent = value.as_tuple().exponent
    return value * scale, Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) * scale
