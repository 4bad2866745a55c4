"""Tables of a model card that compare models: which of their cells are this model's."""

import re
from collections.abc import Iterator, Sequence

from nanolm.entries.card import names as card_names
from nanolm.entries.card.names import Names
from nanolm.entries.card.text import Piece
from nanolm.entries.card.words import NAMES, PROPERTY
from nanolm.entries.markdown import Line

_PIPE = re.compile(r"(?<!\\)\|")
_RULE_CELL = re.compile(r"\s*:?-+:?\s*")
_NUMERIC = re.compile(r"[\s*_~\u2248<>+\u2212-]*(?:about |ca\. ?)?\d", re.I)
_VALUE = re.compile(r"[\s*_~\u2248-]*\d[\d.,_]*\s?(?:%|[kmbt]|million|billion)?[\s*_]*", re.I)
_NOTHING = re.compile(
    r"chance|random|guess|baseline|std\w*|std\.? ?err\w*|\u00b1|items|questions|examples|samples|n|#|\u0394|"
    r"delta|diff\w*|gain|human|sota|majority|teacher|reference|published|version|rank|skill|"
    r"(?:95% )?(?:interval|ci)|(?:mean )?(?:output )?tokens|truncated|rule",
    re.I,
)
"""Heads of columns that hold no number of any model, or another's."""
_QUALIFIES = re.compile(
    r"metrics?|n?-?\s?shots?|#\s?shots?|num_fewshot|settings?|prompt(?: format)?|conventions?|formats?|"
    r"filter|normali[sz]ation|scoring|method|level|context|stride|split|subset",
    re.I,
)
_NEUTRAL = re.compile(
    r"\b(?:raw|value|score|result|number|count|acc(?:uracy)?|shots?|test|validation|val|dev|letter|text|ppl|"
    r"perplexity|bpb|bits|performance|size|spec\w*|detail\w*|setting\w*|config\w*)s?\b|acc_norm|normali[sz]|%",
    re.I,
)
_PROSE = re.compile(r"notes?|descriptions?|comments?|sources?|links?|licen[cs]e|remarks?|why", re.I)
_MODELS = re.compile(r"models?|names?|systems?|checkpoints?|lms?|", re.I)


def is_rule(line: str) -> bool:
    """Whether a line parts a table's head from its rows."""
    return "|" in line and all(_RULE_CELL.fullmatch(cell) for cell in cells(line))


def cells(line: str) -> list[str]:
    """The texts between a row's bars."""
    plain = line.strip(" \t>")
    return [cell.strip() for cell in _PIPE.split(plain.removeprefix("|").removesuffix("|"))]


def table(head: Line, lines: Sequence[Line], own: Names) -> Iterator[Piece]:
    """This model's cells, each beside what it is a number of."""
    heads = cells(head[1])
    rows = [(number, cells(line)) for number, line in lines]
    if any(_VALUE.fullmatch(cell) for cell in heads[1:]):  # a list of properties whose first stands on top
        yield from (Piece(*line) for line in (head, *lines))
        return
    yield Piece(head[0], "")
    if any(PROPERTY.search(text) and not _QUALIFIES.fullmatch(text.strip(" *_")) for text in heads[1:]):
        yield from _by_row(heads, rows, own)
    else:
        yield from _by_column(heads, rows, own)


def _at(row: Sequence[str], place: int) -> str:
    return row[place] if place < len(row) else ""


def _about(heads: Sequence[str], row: Sequence[str], but: int) -> str:
    """What a row's other cells, and the head of the cell's own column, say of it."""
    said = [_at(heads, but)]
    for place, text in enumerate(heads):
        cell = _at(row, place)
        if place and place != but and cell and _QUALIFIES.fullmatch(text):
            shots = re.search(r"shot", text, re.I) and cell.isdigit()
            said.append(f"{cell}-shot" if shots else f"{text} {cell}" if cell[0].isdigit() else cell)
    return "; ".join(part for part in said if part)


def _by_row(heads: Sequence[str], rows: Sequence[tuple[int, list[str]]], own: Names) -> Iterator[Piece]:
    """A row is a model; or a data set whose numbers stand under their names."""
    subjects: list[str] = []
    for _, row in rows:
        subjects.append(_at(row, 0) or (subjects[-1] if subjects else ""))
    mine = set(card_names.own_places(subjects, own))
    if not mine:
        mine = {
            place
            for place, text in enumerate(subjects)
            if NAMES.search(text)
            or PROPERTY.search(heads[0])
            or not (card_names.looks_like_model(text) or _NOTHING.fullmatch(text.strip(" *_")))
        }
        models = {subjects[place] for place in mine if not NAMES.search(subjects[place])}
        if len(models) > 1 and _MODELS.fullmatch(heads[0].strip(" *_")):
            mine -= {place for place in mine if subjects[place] in models}
    for place, (number, row) in enumerate(rows):
        if place not in mine:
            continue
        subject = subjects[place] if NAMES.search(subjects[place]) else ""
        for column, text in enumerate(heads):
            if _at(row, column) and (column or PROPERTY.search(text)) and not _nothing(text):
                said = _about(heads, row, column)
                yield Piece(number, f"| {subject} {text} | {row[column]} |", said, cell=True)


def _nothing(head: str) -> bool:
    return _NOTHING.fullmatch(head.strip(" *_")) is not None


def _by_column(heads: Sequence[str], rows: Sequence[tuple[int, list[str]]], own: Names) -> Iterator[Piece]:
    """A row is a property; a column a model, or a way to measure."""
    kept = _columns(heads, rows, own)
    if kept is None:
        yield from (Piece(number, "| " + " | ".join(row) + " |") for number, row in rows)
        return
    name = ""
    for number, row in rows:
        further = any(_at(row, place) and _QUALIFIES.fullmatch(text) for place, text in enumerate(heads))
        name = _at(row, 0) or (name if further else "")
        for column in kept:
            if _at(row, column):
                yield Piece(number, f"| {name} | {row[column]} |", _about(heads, row, column), cell=True)


def _columns(heads: Sequence[str], rows: Sequence[tuple[int, list[str]]], own: Names) -> list[int] | None:
    """The columns of this model's numbers; None for a table that has no numbers in columns."""
    numeric = [
        place
        for place in range(1, len(heads))
        if not _PROSE.fullmatch(heads[place].strip(" *_"))
        and any(_NUMERIC.match(_at(row, place)) for _, row in rows)
    ]
    mine = [place + 1 for place in card_names.own_places(heads[1:], own)]
    if mine:
        return mine
    values = [place for place in numeric if not _QUALIFIES.fullmatch(heads[place].strip(" *_"))]
    if not numeric or not values:
        return None
    values = [place for place in values if not _nothing(heads[place])]
    ways = [
        place
        for place in values
        if not heads[place]
        or (_NEUTRAL.search(heads[place]) and not card_names.looks_like_model(heads[place]))
    ]
    others = [place for place in values if place not in ways]
    if len(others) == 1 and not card_names.looks_like_model(heads[others[0]]):
        return sorted([*ways, *others])
    return ways
