"""Math expressions: golden cases, rules and properties of reading; the library is asked in this process."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.answers import math_expression
from nanolm.errors import ItemError
from nanolm.schema import Item

GOLDEN_FILE = Path(__file__).parent / "golden" / "math_expression.jsonl"
GOLDEN = [json.loads(line) for line in GOLDEN_FILE.read_text().splitlines()]


def item(gold: str = "5") -> Item:
    return Item(
        benchmark="math-500",
        id="1",
        answer_type="math_expression",
        question="",
        gold=gold,
        source="test.jsonl:0",
    )


@pytest.mark.parametrize("case", GOLDEN, ids=[case["why"] for case in GOLDEN])
def test_golden(case: dict[str, Any]) -> None:
    one = item(case["gold"])
    answer = math_expression.extract(case["reply"], one)
    verdict = math_expression.judge(answer, one)
    assert (verdict.answer, verdict.rule) == (case["answer"], case["rule"])
    assert (verdict.correct, verdict.reason) == (case["correct"], case["reason"])


def test_every_rule_decides_a_golden_case() -> None:
    assert {case["rule"] for case in GOLDEN} == set(math_expression.RULES)


@pytest.mark.shared_data
def test_shared_cases_are_read_as_expected(shared_cases: Path) -> None:
    """Their verdicts, one of which needs to be killed, are in tests_protocol/verdicts."""
    cases = [
        case for case in map(json.loads, shared_cases.read_text().splitlines()) if case["type"] == "math"
    ]
    assert len(cases) == 57
    for case in cases:
        answer = math_expression.extract(case["input"], item(case["context"]["gold"]))
        expected = case["expected"]
        assert (answer.value, answer.reason) == (expected["value"], expected["reason"]), case["id"]


EXPRESSIONS = st.sampled_from(
    ["5", r"\frac{1}{2}", r"\{1, 2\}", "x = 3", r"\sqrt{\frac{a}{b}}", "(1, 2]", "a_1"]
)
DISTRACTIONS = st.sampled_from(
    [
        "",
        r"\boxed{1}",
        "Answer: 7\n",
        r"\boxed{\boxed{2}} so ",
        r"\fbox{3}",
        "\\boxed 4\n",
        "So x = 5. ",
        r"\{",
    ]
)


@given(EXPRESSIONS, st.lists(DISTRACTIONS).map("".join))
def test_the_last_answer_wins(expression: str, before: str) -> None:
    boxed = f"{before} thus $\\boxed{{ {expression} }}$"
    answer = math_expression.extract(boxed, item())
    assert (answer.value, answer.rule) == (expression, "box")
    assert answer.span is not None
    assert boxed[slice(*answer.span)] == expression


@given(
    EXPRESSIONS,
    st.sampled_from(["Answer:", "**Answer:**", "ANSWER :", "Final answer:", "answer："]),
    st.sampled_from(["{}", "**{}**", "*{}*", "`{}`", " {} ", "\u200b{}\u00a0"]),
    st.sampled_from(["", "\n", "\r\nDone.", "\n\nThat is it."]),
)
def test_forms_of_an_answer_line_change_nothing(expression: str, word: str, form: str, after: str) -> None:
    reply = f"Working: 1 + 1 = 2\nAnswer: 99\n{word} {form.format(expression)}{after}"
    answer = math_expression.extract(reply, item())
    assert (answer.value, answer.rule) == (expression, "answer-line")
    assert math_expression.extract(f"\\boxed{{{answer.value}}}", item()).value == expression


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(["\\boxed{", "}", "{", "\\", "Answer:", "5", "*", "\n"])).map("".join),
    )
)
def test_extract_is_total(reply: str) -> None:
    answer = math_expression.extract(reply, item())
    assert answer.rule in math_expression.RULES
    if answer.reason is None:
        assert answer.span is not None
        assert reply[slice(*answer.span)] == answer.value
        assert answer.value.strip()
    else:
        assert answer.value is None


MEGABYTE = 1_000_000
ADVERSARIAL = {
    "boxes": "\\boxed{" * (MEGABYTE // 7),
    "boxes without braces": "\\boxed" * (MEGABYTE // 6),
    "braces": "\\boxed{5" + "{" * MEGABYTE,
    "closed boxes": "\\boxed{5}" * (MEGABYTE // 9),
    "answer lines": "Answer: 5\n" * (MEGABYTE // 10),
    "stars": "Answer: " + "*" * MEGABYTE,
    "backslashes": "\\" * MEGABYTE,
    "words": "answer " * (MEGABYTE // 7),
    "blanks": "Answer" + " " * MEGABYTE,
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_megabyte_takes_less_than_a_second(name: str) -> None:
    start = time.process_time()
    math_expression.extract(ADVERSARIAL[name], item())
    # A quadratic reader would take minutes; the figures themselves are perf/answers.py's.
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "expression", ["\ud800", "\\", "{", "}", "$", "%", "\\frac{", "=", "\\text{", "\x00"]
)
def test_odd_expressions_are_not_equal_and_raise_nothing(expression: str) -> None:
    assert not math_expression.equal("5", expression)


@pytest.mark.parametrize("gold", [None, "", " ", 5])
def test_an_item_without_gold_is_refused(gold: Any) -> None:
    with pytest.raises(ItemError, match=r"test\.jsonl:0.*gold"):
        math_expression.check(item(gold))
