"""What a model card states, read from its Markdown: numbers with the line they stand on.

The list of what a card should state is the conventions' section 5 (docs/log-likelihood.md): architecture,
unique parameters, data, each benchmark number with its convention, the checkpoint's SHA-256, limitations.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

import msgspec

from nanolm.entries.card_sections import EVALUATION, Sections
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

NUMBER = r"(?<!\d)(?:\d{1,3}(?:[,_ ]\d{3}){1,5}|\d{1,15}(?:\.\d{1,15})?)(?!\d)"
_SUM = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_FILE = re.compile(
    r"(?<![\w.-])([\w-]{1,80}(?:\.[\w-]{1,40}){0,8}\.(?:safetensors|bin|gguf|ggml|pth?|ckpt|onnx|h5|msgpack|npz|"
    r"jsonl?|model|txt|jinja|md|py|ya?ml|toml|csv|parquet|zip|tar|t?gz|zst|whl))(?![\w-])",
    re.I,
)
_FILE_LAST = re.compile(_FILE.pattern + "$", re.I)
_VALUE = re.compile(r"(?<![\w.])(\d{1,15}(?:\.\d{1,15})?)(?!\d)\s?%?(?![\w-])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_CELL_TAG = re.compile(r"<t[dh]\b[^<>]*>", re.I)
_ROW, _ROW_END = re.compile(r"<tr\b", re.I), re.compile(r"</tr\b|</table\b", re.I)
_CONTEXT = re.compile(ARCHITECTURE["context"].words, re.I)
_STRIDE = re.compile(r"\bstride|sliding", re.I)
_EVALUATED = re.compile(r"\bstride|sliding|perplexity|\bppl\b|shots?\b|\beval", re.I)
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s")
_NAMES = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in BENCHMARKS), re.I)

CONVENTIONS: dict[str, re.Pattern[str]] = {
    "prompt format": re.compile(r"prompt|zero-shot|\d-shot|few-shot|harness|lm[-_]eval|template", re.I),
    "normalisation": re.compile(r"acc_norm|acc\b|normali[sz]|log-?likelihood|per[- ]byte|by letter", re.I),
}
PERPLEXITY_CONVENTIONS: dict[str, re.Pattern[str]] = {
    "token or byte level": re.compile(
        r"token[- ]level|(?<!\d )(?<!\d[TBMK] )(?<!\d[TBMK])(?<!illion )token(?!iz)"  # no amount of data
        r"|byte|bits[ -]per|\bbpb\b|per word|word[- ]level",
        re.I,
    ),
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
    around: tuple[str, ...] = ()
    """The texts around it in which its convention may be said (`card_sections`)."""


@lru_cache(maxsize=1)
def body(card: str) -> tuple[Line, ...]:
    """Numbered lines of the card's running text: what stands in code blocks (samples of usage, logs of
    training), in comments and in the YAML at the top is no claim. A row of an HTML table is one line, and
    tags are left out: the numbers in them are none of the card's."""
    found: list[Line] = []
    row: list[str] | None = None
    for number, line in running_lines(card):
        text = _TAG.sub(" ", _CELL_TAG.sub(" | ", line))
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


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """A SHA-256 of a card, in small hex digits."""

    value: str
    line: int
    """1-based."""
    file: str
    """The file it is said of, by its own line or one that leads to it; empty when none is named."""
    running: bool
    """Whether it stands in running text; else in code, where a card may show sums of other files, too."""


def sums(card: str) -> Iterator[Sum]:
    """Every SHA-256, in the order of the card."""
    running = {number for number, _ in body(card)}
    led = ""
    for number, line in running_lines(card, code=True):
        found = list(_SUM.finditer(line))
        for place, match in enumerate(found):
            before = line[found[place - 1].end() if place else 0 : match.start()]
            after = line[match.end() : found[place + 1].start() if place + 1 < len(found) else len(line)]
            names = [*reversed(_FILE.findall(before)), *_FILE.findall(after)]
            yield Sum(
                value=match.group(0).lower(), line=number, running=number in running,
                file=names[0] if names else led if not place else "",
            )  # fmt: skip
        if line.strip():
            leads = None if found else _FILE_LAST.search(line.rstrip(" :*`|"))
            led = leads[1] if leads else ""


def architecture(card: str) -> Iterator[Stated]:
    """The first number stated of each part of the architecture."""
    for what, part in ARCHITECTURE.items():
        after = re.compile(rf"(?<![\w-])(?:{part.words})\b[^\d\n]{{0,16}}?({NUMBER})\s?(k)?\b", re.I)
        before = re.compile(rf"({NUMBER})\s?(k)?[\s-](?:{part.words})\b", re.I)
        for number, line in _about_the_model(card) if what == "context" else body(card):
            plain = line.replace("*", " ").replace("`", " ").replace("|", " ")
            match = before.search(plain) or after.search(plain)
            if match and not (what == "heads" and _KV.search(match.group(0))):
                value, unit = scaled(match[1], 1024 if match[2] else 1)
                text = " ".join(match.group(0).split())
                yield Stated(what=what, text=text, value=value, unit=unit, line=number)
                break


def _about_the_model(card: str) -> Iterator[Line]:
    """Sentences without those of an evaluation: the context there is the evaluation's own convention."""
    place = sections(card)
    of_run: dict[int, bool] = {}
    for number, line in body(card):
        if not _CONTEXT.search(line):
            continue
        block = place.block(number)
        if block not in of_run:
            of_run[block] = _STRIDE.search(place.paragraph(number)) is not None
        if of_run[block] or EVALUATION.search(place.heading(number)):
            continue
        for sentence in _SENTENCE_END.split(line):
            if not (_EVALUATED.search(sentence) or _NAMES.search(sentence)):
                yield number, sentence


@lru_cache(maxsize=1)
def sections(card: str) -> Sections:
    return Sections(card)


def benchmarks(card: str) -> list[Stated]:
    """Every number beside a benchmark's name on a line, the first after the name; and the text around it,
    with its code: a command says how to repeat a number."""
    found: list[Stated] = []
    for number, line in body(card):
        names = list(_NAMES.finditer(line))
        around = sections(card).around(number) if names else ()
        for place, name in enumerate(names, 1):
            end = names[place].start() if place < len(names) else len(line)
            value = _VALUE.search(line, name.end(), end)
            if value:
                amount, unit = scaled(value[1], 1)
                found.append(
                    Stated(
                        what=name.group(0), text=value.group(0).strip(), value=amount, unit=unit, line=number,
                        around=around,
                    )
                )  # fmt: skip
    return found


def only_named(card: str) -> tuple[int, list[str]] | None:
    """The first line that names benchmarks, and which; for cards without a number beside any of them."""
    named = ((number, _NAMES.findall(line)) for number, line in body(card))
    return next(((number, names) for number, names in named if names), None)


def conventions(stated: Stated) -> list[str]:
    """What is not said around a benchmark number, of what a reader needs to repeat it."""
    perplexity = _PERPLEXITY.search(stated.what) is not None
    said = {name for text in stated.around for name in _said(text, perplexity)}
    return [name for name in (PERPLEXITY_CONVENTIONS if perplexity else CONVENTIONS) if name not in said]


@lru_cache(maxsize=1024)
def _said(text: str, perplexity: bool) -> tuple[str, ...]:
    wanted = PERPLEXITY_CONVENTIONS if perplexity else CONVENTIONS
    return tuple(name for name, words in wanted.items() if words.search(text))


def says(card: str, *words: str) -> bool:
    """Whether a line of the card has all these words (regular expressions), in any order."""
    wanted = [re.compile(each, re.I) for each in words]
    return any(all(each.search(line) for each in wanted) for _, line in body(card))


def scaled(digits: str, scale: int) -> tuple[Decimal, Decimal]:
    plain = re.sub(r"[,_ ]", "", digits)
    value = Decimal(plain)
    exponent = value.as_tuple().exponent
    return value * scale, Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) * scale
