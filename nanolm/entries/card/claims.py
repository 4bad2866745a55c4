"""What a model card states, read from its Markdown: numbers with the line they stand on.

The list of what a card should state is the conventions' section 5 (docs/log-likelihood.md): architecture,
unique parameters, data, each benchmark number with its convention, the checkpoint's SHA-256, limitations.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

import msgspec

from nanolm.entries.card.sections import EVALUATION, Sections
from nanolm.entries.card.text import pieces, seen
from nanolm.entries.card.words import ARCHITECTURE, NAMES
from nanolm.entries.markdown import Line

_KV = re.compile(r"(?:kv|key[- ]value)[ _-]heads", re.I)

NUMBER = r"(?<!\d)(?:\d{1,3}(?:[,_ ]\d{3}){1,5}|\d{1,15}(?:\.\d{1,15})?)(?!\d)"
_CONTEXT = re.compile(ARCHITECTURE["context"].words, re.I)
_STRIDE = re.compile(r"\bstride|sliding", re.I)
_EVALUATED = re.compile(r"\bstride|sliding|perplexity|\bppl\b|shots?\b|\beval", re.I)
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s")


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


def body(card: str, own: tuple[str, ...] = ()) -> tuple[Line, ...]:
    """Numbered lines of what the card says of this model (`card_text.pieces`)."""
    return tuple((piece.line, piece.text) for piece in pieces(card, own))


def architecture(card: str, own: tuple[str, ...] = ()) -> Iterator[Stated]:
    """The first number stated of each part of the architecture."""
    for what, part in ARCHITECTURE.items():
        after = re.compile(rf"(?<![\w-])(?:{part.words})\b[^\d\n]{{0,16}}?({NUMBER})\s?(k)?\b", re.I)
        before = re.compile(rf"({NUMBER})\s?(k)?[\s-](?:{part.words})\b", re.I)
        for number, line in _about_the_model(card, own) if what == "context" else body(card, own):
            plain = line.replace("*", " ").replace("`", " ").replace("|", " ")
            match = before.search(plain) or after.search(plain)
            if match and not (what == "heads" and _KV.search(match.group(0))):
                value, unit = scaled(match[1], 1024 if match[2] else 1)
                text = " ".join(match.group(0).split())
                yield Stated(what=what, text=text, value=value, unit=unit, line=number)
                break


def _about_the_model(card: str, own: tuple[str, ...]) -> Iterator[Line]:
    """Sentences without those of an evaluation: the context there is the evaluation's own convention."""
    place = sections(card)
    of_run: dict[int, bool] = {}
    for number, line in body(card, own):
        if not _CONTEXT.search(line):
            continue
        block = place.block(number)
        if block not in of_run:
            of_run[block] = _STRIDE.search(place.paragraph(number)) is not None
        if of_run[block] or EVALUATION.search(place.heading(number)):
            continue
        for sentence in _SENTENCE_END.split(line):
            if not (_EVALUATED.search(sentence) or NAMES.search(sentence)):
                yield number, sentence


@lru_cache(maxsize=1)
def sections(card: str) -> Sections:
    return Sections(card)


def says(card: str, *words: str) -> bool:
    """Whether a line of the card has all these words (regular expressions), in any order."""
    wanted = [re.compile(each, re.I) for each in words]
    return any(all(each.search(line) for each in wanted) for _, line in seen(card))


def scaled(digits: str, scale: int) -> tuple[Decimal, Decimal]:
    plain = re.sub(r"[,_ ]", "", digits)
    value = Decimal(plain)
    exponent = value.as_tuple().exponent
    return value * scale, Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) * scale
