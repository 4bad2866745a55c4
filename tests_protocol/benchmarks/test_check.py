"""Items that must never be asked are refused when they are made."""

from typing import Any

import msgspec
import pytest

from nanolm.benchmarks.check import check, clean_id, collect
from nanolm.errors import ItemError
from nanolm.schema import FunctionSignature, Item

LETTER = Item(benchmark="b", id="x", answer_type="letter", question="?", gold="A", options=("a", "b"))
CODE = Item(
    benchmark="b", id="x", answer_type="code", question="?", gold=None, function="f", dataset="d", task="t"
)
CALLS = Item(
    benchmark="b",
    id="x",
    answer_type="tool_calls",
    question="?",
    gold=[{"name": "f", "arguments": {}}],
    documentation="f",
    functions={"f": FunctionSignature()},
)
NUMBER = Item(benchmark="b", id="x", answer_type="number", question="?", gold="-1.5")
MATH = Item(benchmark="b", id="x", answer_type="math_expression", question="?", gold="x")
LABEL = Item(benchmark="b", id="x", answer_type="label", question="?", gold="l", labels=("l", "m"))


@pytest.mark.parametrize("item", [LETTER, CODE, CALLS, NUMBER, MATH, LABEL])
def test_good_items_pass(item: Item) -> None:
    check(item)
    assert collect([(item, None)]).items == (item,)


@pytest.mark.parametrize(
    ("item", "change"),
    [
        (LETTER, {"id": "a b"}),
        (LETTER, {"id": ""}),
        (LETTER, {"id": "a/b"}),
        (LETTER, {"question": " "}),
        (LETTER, {"gold": "C"}),
        (LETTER, {"gold": "a"}),
        (LETTER, {"gold": 0}),
        (LETTER, {"options": ("a",)}),
        (LETTER, {"options": ("a", " ")}),
        (LETTER, {"options": tuple("x" * 27)}),
        (CODE, {"function": None}),
        (CODE, {"function": "1f"}),
        (CODE, {"function": "class"}),
        (CODE, {"task": ""}),
        (CALLS, {"functions": {}}),
        (CALLS, {"documentation": ""}),
        (CALLS, {"gold": []}),
        (CALLS, {"gold": [{"name": "g", "arguments": {}}]}),
        (CALLS, {"gold": [{"name": "f", "arguments": []}]}),
        (CALLS, {"gold": [{"name": "f"}]}),
        (NUMBER, {"gold": "1 and 2"}),
        (NUMBER, {"gold": "nan"}),
        (NUMBER, {"gold": "1_000"}),
        (NUMBER, {"gold": 5}),
        (MATH, {"gold": ""}),
        (LABEL, {"gold": "n"}),
        (LABEL, {"labels": ("l", "L-")}),
        (LABEL, {"labels": ()}),
    ],
)
def test_broken_items_are_refused(item: Item, change: dict[str, Any]) -> None:
    broken = msgspec.structs.replace(item, source="file.json:3", **change)
    with pytest.raises(ItemError, match=r"file\.json:3: item .*found .*; expected "):
        check(broken)


@pytest.mark.parametrize(
    ("item", "change"),
    [
        (LETTER, {"question": "half \ud800"}),
        (LETTER, {"options": ("a", "\udfff")}),
        (LETTER, {"documentation": "\ud800"}),
        (LABEL, {"labels": ("l", "\ud800x")}),
        (MATH, {"gold": "\ud800"}),
        (CODE, {"preamble": "# \ud800"}),
        (CODE, {"reference": "# \ud800"}),
        (CODE, {"task": "\ud800"}),
        (CALLS, {"gold": [{"name": "f", "arguments": {"q": ["\ud800"]}}]}),
    ],
)
def test_text_that_can_not_be_written_is_refused(item: Item, change: dict[str, Any]) -> None:
    broken = msgspec.structs.replace(item, source="file.json:3", **change)
    with pytest.raises(ItemError, match=r"file\.json:3: .*half of a surrogate pair") as caught:
        check(broken)
    str(caught.value).encode()


def test_clean_id() -> None:
    assert clean_id("AKDE&ED_2008 4/1é") == "AKDE-ED_2008-4-1-"
