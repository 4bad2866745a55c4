"""What a model card states, read from its Markdown: numbers with the line they stand on.

The list of what a card should state is the conventions' section 5 (docs/log-likelihood.md): architecture,
unique parameters, data, each benchmark number with its convention, the checkpoint's SHA-256, limitations.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec


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

_NUMBER = r"\d{1,3}(?:[,_ ]\d{3})+|\d+(?:\.\d+)?"
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "million": 10**6, "b": 10**9, "billion": 10**9}
_COUNTED = re.compile(
    rf"(?P<a>{_NUMBER})\s?(?P<as>k|m|b|million|billion)?\s"
    r"(?:unique |trainable |total |model )*param(?:eter)?s?\b"
    rf"|\bparam(?:eter)?s?\b(?: count)?[^\d\n]{{0,24}}?(?P<b>{_NUMBER})\s?(?P<bs>k|m|b|million|billion)?\b",
    re.I,
)
_SUM = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_VALUE = re.compile(r"(?<![\w.])(\d+\.\d+|\d+)\s?%?(?![\w-])")
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


def body(card: str) -> list[tuple[int, str]]:
    """Numbered lines without the YAML at the top."""
    lines = card.splitlines()
    start = 0
    if lines and lines[0].strip() == "---":
        start = next((number for number, line in enumerate(lines[1:], 2) if line.strip() == "---"), 0)
    return [(number, line) for number, line in enumerate(lines, 1) if number > start]


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


def sums(card: str) -> list[tuple[int, str]]:
    """SHA-256 sums with their lines."""
    return [(number, match.group(0).lower()) for number, line in body(card) for match in _SUM.finditer(line)]


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
    """Every number beside a benchmark's name on a line, the first after the name; and its section."""
    found: list[tuple[int, Stated]] = []
    heading = 0
    sections: dict[int, list[str]] = {}
    for number, line in body(card):
        heading = number if _SECTION.match(line) else heading
        sections.setdefault(heading, []).append(line)
        for match in _NAMES.finditer(line):
            rest = line[match.end() :]
            nearest = _NAMES.search(rest)
            value = _VALUE.search(rest[: nearest.start()] if nearest else rest)
            if value:
                amount, unit = _scaled(value[1], 1)
                what, text = match.group(0), value.group(0).strip()
                one = Stated(what=what, text=text, value=amount, unit=unit, line=number)
                found.append((heading, one))
    around = {start: "\n".join(lines) for start, lines in sections.items()}
    return [msgspec.structs.replace(one, around=around[heading]) for heading, one in found]


def conventions(stated: Stated) -> list[str]:
    """What is not said of a benchmark number in its section, of what a reader needs to repeat it."""
    wanted = PERPLEXITY_CONVENTIONS if _PERPLEXITY.search(stated.what) else CONVENTIONS
    return [name for name, words in wanted.items() if not words.search(stated.around)]


def says(card: str, words: str) -> bool:
    """Whether the card has these words (a regular expression) anywhere."""
    return any(re.search(words, line, re.I) for _, line in body(card))


def _scaled(digits: str, scale: int) -> tuple[Decimal, Decimal]:
    plain = re.sub(r"[,_ ]", "", digits)
    value = Decimal(plain)
    exponent = value.as_tuple().exponent
    return value * scale, Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) * scale
