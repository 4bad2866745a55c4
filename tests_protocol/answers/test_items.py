"""Items that can't be judged are refused when they are made, naming source file and row."""

from typing import Any

import pytest

from nanolm import answers
from nanolm.errors import ItemError, UsageError
from nanolm.schema import Item


def _item(answer_type: Any, gold: Any, **fields: Any) -> Item:
    return Item(
        benchmark="b",
        id="7",
        answer_type=answer_type,
        question="",
        gold=gold,
        source="data/x.csv:7",
        **fields,
    )


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (_item("letter", "E", options=("a", "b", "c", "d")), "gold 'E'"),
        (_item("letter", "AB", options=("a", "b", "c", "d")), "gold 'AB'"),
        (_item("letter", "", options=("a", "b")), "gold ''"),
        (_item("letter", 1, options=("a", "b")), "gold 1"),
        (_item("letter", "A", options=("a",)), "1 options"),
        (_item("letter", "A", options=("a", " ")), "an empty option"),
        (_item("label", "x", labels=("y", "z")), "gold 'x'"),
        (_item("label", "x", labels=()), "no labels"),
        (_item("label", "pin_change", labels=("pin_change", "Pin change?")), "equal after normalisation"),
        (_item("label", "?", labels=("?", "a")), "the label '?', of which normalisation leaves nothing"),
        (_item("number", "about ten"), "gold 'about ten'"),
        (_item("number", "1, 2"), "gold '1, 2'"),
        (_item("number", 72), "gold 72"),
        (_item("featherweight_letter", "E", options=("a", "b", "c", "d")), "gold 'E'"),
        (_item("featherweight_letter", "A", options=("a", "b")), "choices"),
    ],
)
def test_bad_items_are_refused(item: Item, found: str) -> None:
    with pytest.raises(ItemError) as caught:
        answers.get(item.answer_type).check(item)
    assert found in str(caught.value)
    assert "data/x.csv:7" in str(caught.value)


@pytest.mark.parametrize(
    "item",
    [
        _item("letter", "B", options=("same", "same")),
        _item("label", "a?", labels=("a?", "b_c", "b c d")),
        _item("number", "1,234"),
        _item("featherweight_letter", "D", options=("a", "b", "c", "d")),
    ],
)
def test_good_items_pass(item: Item) -> None:
    answers.get(item.answer_type).check(item)


def test_unknown_type_names_the_close_ones() -> None:
    with pytest.raises(UsageError, match="tool_calls"):
        answers.get("tool_call")
