"""Every item is checked when it is made: a broken item must never be asked."""

import json
import keyword
import re
from collections.abc import Iterable

from nanolm import answers
from nanolm.answers import refuse
from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.benchmarks.shuffle import Order
from nanolm.errors import ItemError
from nanolm.schema import Item

_ID = re.compile(r"[A-Za-z0-9._-]+")


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
    for item, order in made:
        if item.id in places:
            raise ItemError(
                f"{item.source}: found the id {item.id!r} again (first in {places[item.id]}), "
                f"expected ids that are unique in {item.benchmark}"
            )
        places[item.id] = item.source
        check(item)
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
        raise refuse(item, f"the id {item.id!r}", "letters, digits, '.', '_' and '-' only")
    if not item.question.strip():
        raise refuse(item, "an empty question", "a text")
    _CHECKS.get(item.answer_type, _by_answer_type)(item)


def _by_answer_type(item: Item) -> None:
    """What the answer type itself asks of an item, e.g. labels that can be told apart (ruling 27)."""
    answers.get(item.answer_type).check(item)


def _math_expression(item: Item) -> None:
    # Without the answer type's module: it is heavy to import.
    if not isinstance(item.gold, str) or not item.gold.strip():
        raise refuse(item, f"gold {item.gold!r}", "a math expression")


def _code(item: Item) -> None:
    name = item.function or ""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise refuse(item, f"function name {item.function!r}", "a Python identifier")
    if not item.dataset or not item.task:
        raise refuse(item, "no evaluator task", "a data set and a task id")


def _tool_calls(item: Item) -> None:
    if not item.functions or not item.documentation.strip():
        raise refuse(item, "no documented functions", "at least one function")
    if not isinstance(item.gold, list) or not item.gold:
        raise refuse(item, f"gold {item.gold!r}", "a list of calls")
    for call in item.gold:
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            raise refuse(item, f"gold call {call!r}", 'an object of "name" and "arguments"')
        if call["name"] not in item.functions or not isinstance(call["arguments"], dict):
            raise refuse(item, f"gold call {json.dumps(call)[:120]}", "a call of a documented function")


_CHECKS = {
    "math_expression": _math_expression,
    "code": _code,
    "tool_calls": _tool_calls,
}
