"""Code: golden cases, rules, and properties of the fence scanner (rulings 44 to 48, 81)."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.answers import code
from nanolm.errors import ItemError
from nanolm.schema import Item

GOLDEN_FILE = Path(__file__).parent / "golden" / "code.jsonl"
GOLDEN = [json.loads(line) for line in GOLDEN_FILE.read_text().splitlines()]


def item(function: str = "area", **fields: Any) -> Item:
    return Item(
        benchmark="mbpp-plus",
        id="2",
        answer_type="code",
        question="",
        gold=None,
        function=function,
        **{"dataset": "mbpp-plus", "task": "Mbpp/2", **fields},
    )


@pytest.mark.parametrize("case", GOLDEN, ids=[case["why"] for case in GOLDEN])
def test_golden(case: dict[str, Any]) -> None:
    answer = code.extract(case["reply"], item(case["function"]))
    assert (answer.value, answer.rule, answer.reason) == (case["answer"], case["rule"], case["reason"])


def test_every_rule_decides_a_golden_case() -> None:
    assert {case["rule"] for case in GOLDEN} == set(code.RULES)


@pytest.mark.shared_data
def test_shared_cases(shared_cases: Path) -> None:
    cases = [
        case for case in map(json.loads, shared_cases.read_text().splitlines()) if case["type"] == "code"
    ]
    assert len(cases) == 36
    for case in cases:
        if case["context"]["finish_reason"] == "length":
            continue  # truncated before anything is read: tests_protocol/verdicts
        reply = case["input"].removesuffix("<|im_end|>")
        answer = code.extract(reply, item(case["context"]["function"]))
        expected = case["expected"]
        assert (answer.value, answer.reason) == (expected["value"], expected["reason"]), case["id"]


PIECES = st.sampled_from(
    ["```", "~~~", "````", "python", "\n", "\r\n", "  ", "def area(w, h):", "    return 1", "area = 2", "x"]
)
REPLIES = st.one_of(st.text(), st.lists(PIECES).map("".join), st.text(st.characters(categories=["Cs", "Nd"])))


@given(REPLIES)
def test_extract_is_total_and_its_span_lies_in_the_reply(reply: str) -> None:
    answer = code.extract(reply, item())
    assert answer.rule in code.RULES
    assert (answer.value is None) == (answer.reason == "unparseable")
    if answer.span is not None:
        start, end = answer.span
        assert 0 <= start <= end <= len(reply)
        if answer.value and "\n" not in answer.value:
            assert answer.value.strip() in reply[start:end] or answer.rule == "whole-reply"


@given(
    st.sampled_from(["```", "~~~", "````", "~~~~~"]),
    st.sampled_from(["", "python", "py", "Python 3", 'python title="x.py"']),
    st.sampled_from(["", " ", "   ", "\t"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_any_fence_gives_the_program_unchanged(
    fence: str, info: str, indent: str, end: str, closed: bool
) -> None:
    program = "import math\n\ndef area(w, h):\n\n    return w * h\n# done"
    lines = [fence + info, *program.split("\n"), *([fence] if closed else [])]
    block = end.join(indent + line if line else line for line in lines)
    answer = code.extract(f"Words first.{end}{block}", item())
    assert (answer.value, answer.rule) == (program, "defining-block")
    assert code.extract(f"```\n{answer.value}\n```", item()).value == program


@given(st.text(st.characters(exclude_characters="`~")))
def test_prose_around_the_block_changes_nothing(prose: str) -> None:
    program = "def area(w, h):\n    return w * h"
    answer = code.extract(f"{prose}\n```python\n{program}\n```\n{prose}", item())
    assert (answer.value, answer.rule) == (program, "defining-block")


MEGABYTE = 1_000_000
ADVERSARIAL = {
    "backticks": "`" * MEGABYTE,
    "fences": "```\n" * (MEGABYTE // 4),
    "tildes and names": "~~~\narea\n" * (MEGABYTE // 9),
    "blanks before a fence": " " * MEGABYTE + "```",
    "fences of one line": "```x```\n" * (MEGABYTE // 8),
    "headers": "def area(w):\n" * (MEGABYTE // 13),
    "headers in blocks": "```\ndef area(w):\n" * (MEGABYTE // 17),
    "broken blocks": "```\ndef area(a): return 1 +\n```\n" * (MEGABYTE // 32),
    "statements": "area = 1\n" * (MEGABYTE // 9),
    "brackets": "area" + "(" * MEGABYTE,
    "minuses": "area = " + "-" * MEGABYTE + "1",
    "attributes": "area = x" + ".x" * (MEGABYTE // 2),
    "openers behind words": "so: ```python\n" * (MEGABYTE // 14) + "```",
    "closers behind code": "```\narea = 1```\n" * (MEGABYTE // 16),
    "text behind closers": "```\narea = (\n``` so it is\n" * (MEGABYTE // 26),
    "unclosed": "```python\narea = [" + "1," * (MEGABYTE // 2),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_megabyte_takes_less_than_a_second(name: str) -> None:
    start = time.process_time()
    code.extract(ADVERSARIAL[name], item())
    # A quadratic reader would take minutes; the figures themselves are perf/answers.py's.
    assert time.process_time() - start < 20


def test_without_an_evaluator_nothing_is_measured_and_it_says_what_to_do() -> None:
    verdict = code.judge(code.extract("area = max", item()), item())
    assert (verdict.correct, verdict.reason, verdict.answer) == (False, "error", "area = max")
    assert "nanolm evaluators install" in verdict.detail


def test_the_preamble_stands_before_the_program() -> None:
    one = item(preamble="import math")
    assert code.program(code.extract("area = max", one), one) == "import math\narea = max"


@pytest.mark.parametrize("name", [None, "", "2d", "a b", "class", "a.b"])
def test_a_function_name_that_is_no_identifier_is_refused(name: str | None) -> None:
    with pytest.raises(ItemError, match=r"MbppPlus\.jsonl:7.*function name"):
        code.check(item(name, source="MbppPlus.jsonl:7"))  # type: ignore[arg-type]


def test_an_item_that_no_evaluator_knows_is_refused() -> None:
    with pytest.raises(ItemError, match="data set"):
        code.check(item(dataset=""))
    code.check(item())
