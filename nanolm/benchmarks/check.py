"""Every item is checked when it is made: a broken item must never be asked."""

import json
import keyword
import re
from collections.abc import Iterable
from fractions import Fraction

from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.benchmarks.shuffle import LETTERS, Order
from nanolm.errors import ItemError
from nanolm.schema import Item

_ID = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)")


def clean_id(text: str) -> str:
    """A source's own id with what does not fit a test id replaced by `-`.

    >>> clean_id("AKDE&ED_2008_4_19")
    'AKDE-ED_2008_4_19'
    """
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)


def collect(made: Iterable[tuple[Item, Order | None]], excluded: Iterable[Exclusion] = ()) -> BenchmarkItems:
    """All items of a benchmark, each checked; `ItemError` for a broken item or an id given twice."""
    items: list[Item] = []
    pinned, frozen = [], []
    places: dict[str, str] = {}
    labels: tuple[str, ...] | None = None
    for item, order in made:
        if item.id in places:
            raise ItemError(
                f"{item.source}: found the id {item.id!r} again (first in {places[item.id]}), "
                f"expected ids that are unique in {item.benchmark}"
            )
        places[item.id] = item.source
        check(item)
        if item.labels is not labels:
            check_labels(item)
            labels = item.labels
        items.append(item)
        if order is not None and order.pinned:
            pinned.append(item.id)
        if order is not None and order.frozen:
            frozen.append(item.id)
    return BenchmarkItems(
        items=tuple(items), excluded=tuple(excluded), pinned=tuple(pinned), frozen=tuple(frozen)
    )


def check(item: Item) -> None:
    """Raise `ItemError` for an item that can't be asked or whose gold can't be given."""
    if not _ID.fullmatch(item.id):
        raise _broken(item, f"the id {item.id!r}", "letters, digits, '.', '_' and '-' only")
    if not item.question.strip():
        raise _broken(item, "an empty question", "a text")
    _CHECKS[item.answer_type](item)


def _letter(item: Item) -> None:
    count = len(item.options)
    if not 2 <= count <= len(LETTERS):
        raise _broken(item, f"{count} options", f"2 to {len(LETTERS)}")
    if any(not option.strip() for option in item.options):
        raise _broken(item, f"an empty option in {item.options}", "a text in each option")
    if item.gold not in tuple(LETTERS[:count]):
        raise _broken(item, f"the gold {item.gold!r}", f"one of the letters {', '.join(LETTERS[:count])}")


def _label(item: Item) -> None:
    if item.gold not in item.labels:
        raise _broken(item, f"the gold {item.gold!r}", f"one of the {len(item.labels)} labels")


def check_labels(item: Item) -> None:
    """Ruling 27: two labels that are equal after normalisation can't be told apart in a reply."""
    seen: dict[str, str] = {}
    for label in item.labels:
        form = normal_label(label)
        if not form or form in seen:
            raise _broken(item, f"the labels {seen.get(form)!r} and {label!r}", "labels that differ")
        seen[form] = label


def normal_label(label: str) -> str:
    """A label as section 6 compares it (ruling 22), as far as labels of a source need it."""
    return " ".join(re.sub(r"[_-]", " ", label).split()).casefold().strip(" .,;:!?'\"`*()[]{}")


def _number(item: Item) -> None:
    if not isinstance(item.gold, str) or not _NUMBER.fullmatch(item.gold):
        raise _broken(item, f"the gold {item.gold!r}", "a plain number")
    Fraction(item.gold)


def _math_expression(item: Item) -> None:
    if not isinstance(item.gold, str) or not item.gold.strip():
        raise _broken(item, f"the gold {item.gold!r}", "a math expression")


def _code(item: Item) -> None:
    name = item.function or ""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise _broken(item, f"the function name {item.function!r}", "a Python identifier")
    if not item.dataset or not item.task:
        raise _broken(item, "no evaluator task", "a data set and a task id")


def _tool_calls(item: Item) -> None:
    if not item.functions or not item.documentation.strip():
        raise _broken(item, "no documented functions", "at least one function")
    if not isinstance(item.gold, list) or not item.gold:
        raise _broken(item, f"the gold {item.gold!r}", "a list of calls")
    for call in item.gold:
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            raise _broken(item, f"the gold call {call!r}", 'an object of "name" and "arguments"')
        if call["name"] not in item.functions or not isinstance(call["arguments"], dict):
            raise _broken(item, f"the gold call {json.dumps(call)[:120]}", "a documented function")


_CHECKS = {
    "letter": _letter,
    "label": _label,
    "number": _number,
    "math_expression": _math_expression,
    "code": _code,
    "tool_calls": _tool_calls,
}


def _broken(item: Item, found: str, expected: str) -> ItemError:
    return ItemError(f"{item.source} ({item.benchmark}, {item.id}): found {found}, expected {expected}")
