"""Benchmark numbers that a model card states, each with what is said of its convention.

A number is a benchmark's result where it stands as one: the name, perhaps its convention, then the number or
what leads to it (`:`, `=`, `of`, `at`, `is`, a table's bar); never one with a unit, of a date, or of a later
clause.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

import msgspec

from nanolm.entries.card import convention as card_convention
from nanolm.entries.card import names as card_names
from nanolm.entries.card.claims import Stated, scaled
from nanolm.entries.card.names import Names
from nanolm.entries.card.sections import Sections
from nanolm.entries.card.text import Piece, names, pieces, seen
from nanolm.entries.card.words import NAMES, PERPLEXITY

_NUMBER_ROW = re.compile(r"\s*\|.*\|\s*[*_]*\d[\d.,]*\s?%?[*_]*\s*(?:\||$)")
"""A row of a table that holds a number, of this model or another, of a benchmark known here or not."""
_WINDOW = 240
"""Characters after a name in which its number stands."""
_UNITS = (
    r"(?:[KMGT]i?B|[KMBTkms]|ms|secs?|seconds?|min(?:utes)?|hours?|h|days?|x|\u00d7|items?|questions?|examples?|"
    r"tokens?|tasks?|samples?|rows?|[- ]?shots?|languages?|categories|steps?|epochs?|points?|pp|param\w*|"
    r"words?|million|billion|thousand|characters?|sentences?|pairs?|sets?|options?|choices?|runs?|seeds?|GPUs?|models?|"
    r"benchmarks?|times|out of)"
)
_NUMBER = (
    r"(?P<n>\d{1,15}(?:\.\d{1,15})?)(?!\d|[.,]\d)\s?(?P<share>%)?(?![\w-])"
    rf"(?!\s?(?:/|of)\s?\d)(?!\s?{_UNITS}(?![\w-]))"
)
_GAP = re.compile(
    r"(?:[\s:=|*_\[\]\u2192\u2248~\u2013\u2014\u2191\u2193]|(?<=[-=])>|-(?=[\s>A-Za-z])|,(?=\s[a-z])|\([^()]{0,160}\)"
    r"|\b(?:context|ctx|stride|window)(?:\s(?:length|size|of)){0,2}[\s=:]{0,2}\d[\d,]{0,8}k?\b"
    r"|\b\d{1,3}[- ]shots?\b|\b(?:n_shots?|num_fewshot)\s?[=:]\s?\d{1,3}\b"
    r"|\bacc_norm\b|\b(?:accuracy|accuracies|acc|norm|normali[sz]ed|normali[sz]ation|un|non|no|not|without|length|"
    r"scores?|scored|results?|test|validation|val|dev|split|zero|one|two|three|five|ten|few|shots?|none|raw|sum|"
    r"option|answer|letters?|texts?|by|per|tokens?|bytes?|words?|characters?|level|perplexity|ppl|with|"
    r"using|of|at|is|was|are|an?|the|set|on|about|around|approximately|roughly|reaches|reached|gets|got|"
    r"achieves|achieved|gives|context|stride|window|mean|average|average[ds]|final|overall|sliding|rolling)\b)*+",
    re.I,
)
_LED = re.compile(r"[:=|]\s*[*_]{0,3}$")
_VALUE = re.compile(rf"(?P<sign>[-\u2212](?=\d))?{_NUMBER}", re.I)
_BRACKET = re.compile(r"[\s*_]*\(([^()]{0,160})\)")
_NEXT = re.compile(
    rf"[\s*_]*(?:,|;|/|\band\b|,\s*and\b)\s*[*_]{{0,3}}{_NUMBER}[*_]{{0,3}}\s?\((?P<said>[^()]{{0,160}})\)",
    re.I,
)
_NEXT_LED = re.compile(
    rf"[\s*_]*(?:,|;|/|\band\b)\s*(?P<said>acc_norm|acc|by letter|by text)\s?[:=]?\s?{_NUMBER}", re.I
)
_CLAUSE = re.compile(r"[.;!?](?:\s|$)")
_OF_MODEL = re.compile(r"[\s*_%]{0,4}(?:\([^()]{0,80}\)\s?)?(?:for|by|of)\s(?:the\s)?([A-Za-z][\w./-]*\w)")
_LIST = re.compile(r"\s*>?\s*(?:[-*+]|\d+[.)])\s")

CONVENTIONS: dict[str, re.Pattern[str]] = {
    "prompt format": re.compile(r"prompt|zero-shot|\d-shot|few-shot|harness|lm[-_]eval|template", re.I),
    "normalisation": re.compile(r"acc_norm|acc\b|normali[sz]|log-?likelihood|per[- ]byte|by letter", re.I),
}
PERPLEXITY_CONVENTIONS: dict[str, re.Pattern[str]] = {
    "token or byte level": re.compile(
        r"tokens?[- _](?:level|perplexity|ppl)|per[- ]token"
        r"|(?<!\d )(?<!\d[TBMK] )(?<!\d[TBMK])(?<!illion )token(?!iz)"  # no amount of data
        r"|byte|bits[ -]per|\bbpb\b|per word|word[- ]level",
        re.I,
    ),
    "stride or context": re.compile(r"stride|context|window|ctx|sliding", re.I),
}


class Claim(Stated, frozen=True, kw_only=True):
    """A benchmark number; an accuracy in percent, whichever way it is written."""

    near: str = ""
    """What is said of this number alone: its brackets, its row, the head of its column."""
    around: tuple[str, ...] = ()
    """The texts around it in which its convention may be said, the nearest first (`card_sections`)."""
    impossible: str = ""
    """Why no measurement gives such a number."""
    doubt: str = ""
    """Why it can't be told to be this model's."""

    @property
    def perplexity(self) -> bool:
        """Whether it is a perplexity or bits per byte, not an accuracy."""
        return PERPLEXITY.search(self.what) is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """All that its convention may be said in, the nearest first."""
        return (self.near, *self.around)

    @property
    def convention(self) -> card_convention.Convention:
        return card_convention.of(self.texts)


def benchmarks(card: str, own: tuple[str, ...] = ()) -> list[Claim]:
    """Every number that stands as a benchmark's result, in the order of the card. Code around it counts for
    its convention: a command says how to repeat a number."""
    mine = names(card, own)
    found = [(piece, list(_claims(piece, mine))) for piece in pieces(card, own) if NAMES.search(piece.text)]
    alone = {
        piece.line
        for piece, claims in found
        if claims and (piece.cell or "|" in piece.text or _LIST.match(piece.text) or _one(piece, claims))
    }
    alone |= {number for number, line in seen(card) if _NUMBER_ROW.match(line)}
    near = _sections(card, frozenset(alone))
    return [
        msgspec.structs.replace(claim, around=(*claim.around, *near.around(claim.line)))
        for _, claims in found
        for claim in claims
    ]


def _one(piece: Piece, claims: list[Claim]) -> bool:
    """Whether a line is about one number: what it says of it is said of no other."""
    (claim, *more) = claims
    return not more and not claim.perplexity and NAMES.match(piece.text.lstrip(" *_>")) is not None


@lru_cache(maxsize=1)
def _sections(card: str, but: frozenset[int]) -> Sections:
    return Sections(card, but)


def _claims(piece: Piece, own: Names) -> Iterator[Claim]:
    line = piece.text
    named = list(NAMES.finditer(line))
    begun = 0
    for place, name in enumerate(named, 1):
        until = named[place].start() if place < len(named) else len(line)
        window = line[: min(until, name.end() + _WINDOW)]
        gap = _GAP.match(window, name.end())
        at = gap.end() if gap else name.end()
        value = _VALUE.match(window, at)
        if value is None:
            continue
        led = _LED.search(line, max(name.end(), at - 8), at) is not None
        bracket = _BRACKET.match(line, value.end())
        end = bracket.end() if bracket else value.end()
        said = f"{piece.about}; {line[max(begun, name.start() - 60) : end]}"
        clause = (
            max((one.end() for one in _CLAUSE.finditer(line, 0, name.start())), default=0)
            if place == 1
            else begun
        )
        sentence = () if piece.cell else (_rest(line, end, until, place == len(named)),)
        claim = _claim(piece, name.group(0), value, said, led)
        if claim is None:
            continue
        doubt = (
            ""
            if piece.cell
            else _said_of(line, max(clause, name.start() - 160), name.start(), value.end(), own)
        )
        claim = msgspec.structs.replace(claim, around=sentence, doubt=doubt)
        yield claim
        begun = end
        for more in _further(line, end):
            other = _claim(piece, name.group(0), more, f"{piece.about}; {more['said']}", False)
            if other:
                yield msgspec.structs.replace(other, around=sentence, doubt=doubt)
            begun = more.end()


def _rest(line: str, end: int, until: int, last: bool) -> str:
    """What follows a number in its clause, up to the next name or number."""
    stop = _CLAUSE.search(line, end, until)
    rest = line[end : min(stop.start() if stop else until, end + _WINDOW)]
    number = None if last else re.search(r"\d", rest)
    return rest[: number.start()] if number else rest


def _further(line: str, end: int) -> Iterator[re.Match[str]]:
    """More numbers of the same benchmark, each with its own convention in brackets."""
    while (more := _NEXT.match(line, end) or _NEXT_LED.match(line, end)) is not None:
        said = card_convention.of([more["said"]])
        if said == card_convention.Convention() and card_convention.unit([more["said"]]) is None:
            return
        yield more
        end = more.end()


def _claim(piece: Piece, what: str, match: re.Match[str], near: str, led: bool) -> Claim | None:
    value, step = scaled(match["n"], 1)
    negative = bool(match.groupdict().get("sign"))
    if negative and not led:
        return None
    impossible = ""
    if PERPLEXITY.search(what):
        if match["share"] or negative:
            return None
    elif negative:
        value, impossible = -value, "no accuracy is below 0"
    elif value > 100:
        if not match["share"]:
            return None
        impossible = "no accuracy is above 100%"
    elif value <= 1 and "." in match["n"] and not match["share"]:
        value, step = value * 100, step * 100
    text = match.group(0) if "sign" in match.groupdict() else f"{match['n']}{match['share'] or ''}"
    return Claim(
        what=what, text=text.strip(), value=Decimal(value), unit=step, line=piece.line, near=near,
        impossible=impossible,
    )  # fmt: skip


def _said_of(line: str, start: int, name: int, end: int, own: Names) -> str:
    """The other model that a clause names."""
    follows = _OF_MODEL.match(line, end)
    other = card_names.last_model(follows[1], own) if follows else ""
    other = other or card_names.last_model(NAMES.sub(" ", line[start:name]), own)
    return f"it is said of {other}" if other else ""


def only_named(card: str) -> tuple[int, list[str]] | None:
    """The first line that names benchmarks, and which; for cards without a number beside any of them."""
    named = ((number, [name.group(0) for name in NAMES.finditer(line)]) for number, line in seen(card))
    return next(((number, names) for number, names in named if names), None)


def conventions(claim: Claim) -> list[str]:
    """What is not said around a benchmark number, of what a reader needs to repeat it."""
    said = {name for text in claim.texts for name in _said(text, claim.perplexity)}
    said |= set(_said(claim.what, claim.perplexity))
    return [
        name for name in (PERPLEXITY_CONVENTIONS if claim.perplexity else CONVENTIONS) if name not in said
    ]


@lru_cache(maxsize=1024)
def _said(text: str, perplexity: bool) -> tuple[str, ...]:
    wanted = PERPLEXITY_CONVENTIONS if perplexity else CONVENTIONS
    return tuple(name for name, words in wanted.items() if words.search(text))
