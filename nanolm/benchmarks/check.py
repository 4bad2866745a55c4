"""Every item is checked when it is made: a broken item must never be asked."""

import json
import re
from collections.abc import Iterable, Iterator

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
    for text in _texts(item):
        if not _is_unicode(text):
            raise refuse(item, f"{text[:60]!r}, half of a surrogate pair in it", "text that UTF-8 can hold")
    if any("\n" in label for label in item.labels):
        raise refuse(item, "a label of several lines", "labels that are shown one a line")
    # What the answer type itself asks of an item, e.g. labels that can be told apart (ruling 27).
    answers.get(item.answer_type).check(item)
    if item.answer_type == "tool_calls":
        _documented(item)


def _texts(item: Item) -> Iterator[str]:
    """All that is shown, judged or run."""
    yield from (item.question, item.documentation, item.preamble, item.reference, item.function or "")
    yield from (item.dataset, item.task, item.group, *item.options, *item.labels)
    # A gold of calls as text, so that its names and values are among it.
    yield item.gold if isinstance(item.gold, str) else json.dumps(item.gold, ensure_ascii=False)


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _documented(item: Item) -> None:
    """The gold calls are calls of documented functions (ruling 76)."""
    if not item.functions or not item.documentation.strip():
        raise refuse(item, "no documented functions", "at least one function")
    for call in item.gold:
        if set(call) != {"name", "arguments"} or call["name"] not in item.functions:
            raise refuse(item, f"gold call {json.dumps(call)[:120]}", "a call of a documented function")
