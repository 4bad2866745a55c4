"""`nanolm judge`: one JSON object a line in and out, explanations, and errors that name the line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nanolm.cli import judge
from nanolm.errors import UsageError


def _run(kind: str, *lines: dict[str, Any] | str, explain: bool = False) -> str:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    arguments = ["--type", kind, *(["--explain"] if explain else [])]
    result = CliRunner().invoke(judge.command, arguments, input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def _judged(kind: str, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _run(kind, *lines).splitlines()]


LETTER = {"options": ["apple", "pear", "plum"], "gold": "B"}


def test_letters() -> None:
    assert _judged(
        "letter",
        {"reply": "Answer: B", "finish_reason": "stop", "item": LETTER},
        {"reply": "Answer: A", "item": LETTER},
        {"reply": "no idea", "item": LETTER},
        {"reply": "Answer: B", "finish_reason": "length", "item": LETTER},
        {"reply": "<think>A?</think>B<|im_end|>", "item": LETTER},
        {"reply": "B\ud800", "item": LETTER},
    ) == [
        {"answer": "B", "correct": True, "reason": None},
        {"answer": "A", "correct": False, "reason": "wrong"},
        {"answer": None, "correct": False, "reason": "unparseable"},
        {"answer": "B", "correct": False, "reason": "truncated"},
        {"answer": "B", "correct": True, "reason": None},
        {"answer": None, "correct": False, "reason": "unparseable"},
    ]


def test_labels_and_numbers() -> None:
    label = {"reply": "Answer: Late Bus", "item": {"labels": ["late_bus", "oos"], "gold": "late_bus"}}
    assert _judged("label", label) == [{"answer": "late_bus", "correct": True, "reason": None}]
    number = {"reply": "\\boxed{1,200}", "item": {"gold": "1200"}}
    assert _judged("number", number) == [{"answer": "1200", "correct": True, "reason": None}]


def test_reasoning_shows_what_is_left() -> None:
    fields = {"opener": "<r>", "closer": "</r>", "template_opens_block": True, "mode": "think"}
    assert _judged(
        "reasoning",
        {"reply": "a</r> b", "item": fields},
        {"reply": "a", "item": fields},
        {"reply": "a</r>b", "finish_reason": "length", "item": fields},
    ) == [
        {"answer": "b", "correct": None, "reason": None},
        {"answer": None, "correct": None, "reason": "truncated"},
        {"answer": "b", "correct": None, "reason": "truncated"},
    ]


def test_programs_are_read_but_not_run() -> None:
    reply = "```python\ndef f():\n    return 1\n```"
    assert _judged("code", {"reply": reply, "item": {"function": "f"}}) == [
        {"answer": "def f():\n    return 1", "correct": None, "reason": None}
    ]


def test_featherweight_has_its_own_rules() -> None:
    item = {"choices": ["Oslo", "Rome", "Bern", "Lima"], "gold": "B"}
    assert _judged(
        "featherweight_letter",
        {"reply": "It is Rome.", "finish_reason": "length", "item": item},
        {"reply": "It is (b)", "item": item},
    ) == [
        {"answer": "B", "correct": True, "reason": None},
        {"answer": None, "correct": False, "reason": "parse_error"},
    ]


def test_explain_marks_what_was_read_and_names_the_rule() -> None:
    shown = _run("letter", {"reply": "Well.\n\nAnswer: **A**\x1b[0m", "item": LETTER}, explain=True)
    assert shown == (
        'line 1: wrong, rule answer-line; answer "A", gold "B"\n'
        "    Well.\n    \n    Answer: **⟦A⟧**\\x1b[0m\n"
    )


def test_explain_cuts_long_replies() -> None:
    shown = _run(
        "letter", {"reply": "x " * 5000 + "\nAnswer: B\n" + "y" * 9000, "item": LETTER}, explain=True
    )
    assert len(shown) < 4000
    assert "characters]" in shown
    assert "⟦B⟧" in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2"),
        ("[1]", "line 2"),
        ('{"item": {}}', "reply"),
        ('{"reply": 3, "item": {}}', "reply"),
        ('{"reply": "B", "item": {"gold": "B"}}', "options"),
        ('{"reply": "B", "finish_reason": "eos", "item": {}}', "finish_reason"),
        ("\xff\xfe", "line 2"),
    ],
)
def test_a_bad_line_is_named(line: str, said: str) -> None:
    good = json.dumps({"reply": "Answer: B", "item": LETTER})
    with pytest.raises(UsageError) as caught:
        _run("letter", good, line)
    assert "line 2" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "item", "said"),
    [
        ("letter", {"options": ["x", "y"], "gold": "Z"}, "found gold 'Z'; expected one of A, B"),
        ("letter", {"options": ["x"], "gold": "A"}, "found 1 options; expected 2 to 26"),
        ("label", {"labels": ["late", "oos"], "gold": "early"}, "found gold 'early'; expected one of its 2"),
        ("number", {"gold": "abc"}, "found gold 'abc'; expected the text of one number"),
        ("math", {"gold": " "}, "found gold ' '; expected an expression"),
        ("code", {"function": "1f"}, "expected a Python identifier"),
        ("tool_calls", {"gold": ["f"], "functions": {"f": {}}}, "a gold call without a name"),
        ("featherweight_letter", {"choices": list("wxyz"), "gold": "E"}, "expected A, B, C or D"),
    ],
)
def test_an_item_that_no_reply_can_answer_is_refused(kind: str, item: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        _run(kind, "", {"reply": "Answer: B", "item": item})
    assert "standard input, line 2: " in str(caught.value)
    assert said in str(caught.value)


def test_labels_that_collide_are_judged() -> None:
    item = {"labels": ["pin_change", "pin-change", "oos"], "gold": "oos"}
    assert [
        each["reason"]
        for each in _judged(
            "label", {"reply": "Answer: oos", "item": item}, {"reply": "Answer: pin change", "item": item}
        )
    ] == [None, "unparseable"]


@pytest.mark.parametrize("raw", [b"\xff\xfe\n", b'{"reply": "\xff", "item": {}}\n'])
def test_bytes_that_are_no_utf_8_are_named_by_their_line(raw: bytes) -> None:
    with pytest.raises(UsageError, match=r"line 2 is not UTF-8"):
        CliRunner().invoke(judge.command, ["--type", "letter"], input=b"\n" + raw, catch_exceptions=False)


def test_a_byte_order_mark_is_no_part_of_the_line() -> None:
    line = json.dumps({"reply": "Answer: B", "item": LETTER})
    assert json.loads(_run("letter", "\ufeff" + line))["correct"]


@pytest.mark.shared_data
@pytest.mark.parametrize("kind", judge.TYPES)
def test_shared_cases(shared_cases: Path, kind: str) -> None:
    cases = [
        case for case in map(json.loads, shared_cases.read_text("utf-8").splitlines()) if case["type"] == kind
    ]
    lines = [
        {
            "reply": case["input"],
            "finish_reason": case["context"].get("finish_reason", "stop"),
            "item": case["context"],
        }
        for case in cases
    ]
    found = _judged(kind, *lines)
    assert len(found) == len(cases) > 20
    for case, shown in zip(cases, found, strict=True):
        expected = case["expected"]
        reason = None if shown["reason"] == "wrong" else shown["reason"]
        assert (shown["answer"], reason) == (expected["value"], expected["reason"]), case["id"]
        if shown["correct"] is not None:
            assert shown["correct"] == expected["correct"], case["id"]
