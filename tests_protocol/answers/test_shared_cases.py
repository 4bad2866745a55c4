"""The extraction cases that stand beside the official source data: all of these types must hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from nanolm import answers
from nanolm.answers import reasoning
from nanolm.schema import Item, Verdict

COUNTS = {"letter": 75, "label": 43, "number": 62, "reasoning": 23, "featherweight_letter": 25}


def _cases(file: Path, answer_type: str) -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = [case for case in cases if case["type"] == answer_type]
    assert len(found) == COUNTS[answer_type]
    return found


def _reply(case: dict[str, Any]) -> reasoning.Reply:
    context = case["context"]
    return reasoning.remove(
        case["input"],
        context.get("finish_reason", "stop"),
        opener=context.get("opener", reasoning.THINK[0]),
        closer=context.get("closer", reasoning.THINK[1]),
        opened_by_template=context.get("template_opens_block", False),
        end_markers=reasoning.END_MARKERS,
    )


def _judge(case: dict[str, Any]) -> Verdict:
    context = case["context"]
    item = Item(
        benchmark="cases",
        id=case["id"],
        answer_type=case["type"],
        question="",
        gold=context["gold"],
        options=tuple(context.get("options", context.get("choices", ()))),
        labels=tuple(context.get("labels", ())),
    )
    if case["type"] == "featherweight_letter":
        module = answers.get("featherweight_letter")
        return module.judge(module.extract(case["input"], item), item)
    return answers.verdict(_reply(case), item)


def _differences(case: dict[str, Any], verdict: Verdict) -> list[str]:
    expected = case["expected"]
    # The cases leave the reason of a plain wrong answer out, and call ours of Featherweight "parse_error".
    reason = None if verdict.reason == "wrong" else verdict.reason
    wanted = {"parse_error": "unparseable"}.get(expected["reason"], expected["reason"])
    found = [f"correct {verdict.correct}"] if verdict.correct != expected["correct"] else []
    found += [f"reason {reason}"] if reason != wanted else []
    if verdict.answer != expected["value"]:
        found.append(f"answer {verdict.answer!r}")
    return found


@pytest.mark.shared_data
@pytest.mark.parametrize("answer_type", ["letter", "label", "number", "featherweight_letter"])
def test_all_cases_hold(shared_cases: Path, answer_type: str) -> None:
    wrong = [
        f"{case['id']} {case['input']!r}: {differences}; expected {case['expected']}"
        for case in _cases(shared_cases, answer_type)
        if (differences := _differences(case, _judge(case)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.shared_data
def test_all_reasoning_cases_hold(shared_cases: Path) -> None:
    for case in _cases(shared_cases, "reasoning"):
        reply = _reply(case)
        text = None if reply.rule == "open-block" else reply.text
        assert (text, reply.truncated) == (
            case["expected"]["value"],
            case["expected"]["reason"] == "truncated",
        ), case["id"]
        assert case["input"][reply.offset :].startswith(reply.text)
