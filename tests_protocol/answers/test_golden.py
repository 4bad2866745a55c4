"""Our own golden cases: each rule is the deciding rule of at least one, and all of them hold.

`golden/<type>.jsonl`: reply, item, and what is expected: value, correct, reason, rule, with why.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from nanolm import answers
from nanolm.answers import reasoning
from nanolm.schema import Item

GOLDEN = Path(__file__).with_name("golden")
TYPES = ("letter", "label", "number", "featherweight_letter")


def cases(answer_type: str) -> list[dict[str, Any]]:
    text = (GOLDEN / f"{answer_type}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def item_of(answer_type: str, fields: dict[str, Any]) -> Item:
    return Item(
        benchmark="golden",
        id="0",
        answer_type=answer_type,
        question="",
        gold=fields["gold"],
        options=tuple(fields.get("options", ())),
        labels=tuple(fields.get("labels", ())),
    )


@pytest.mark.parametrize("answer_type", TYPES)
def test_golden_cases_hold(answer_type: str) -> None:
    module = answers.get(answer_type)
    wrong = []
    for case in cases(answer_type):
        item = item_of(answer_type, case["item"])
        verdict = module.judge(module.extract(case["reply"], item), item)
        found = verdict.answer, verdict.correct, verdict.reason, verdict.rule
        if found != (case["value"], case["correct"], case["reason"], case["rule"]):
            wrong.append(f"{case['reply']!r} ({case['why']}): {found}; expected {case}")
        if verdict.span is not None:
            assert 0 <= verdict.span[0] <= verdict.span[1] <= len(case["reply"])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("answer_type", TYPES)
def test_each_rule_decides_a_golden_case(answer_type: str) -> None:
    assert {case["rule"] for case in cases(answer_type)} == set(answers.get(answer_type).RULES)


def test_golden_reasoning_cases_hold() -> None:
    found = cases("reasoning")
    for case in found:
        fields = case["item"]
        reply = reasoning.remove(
            case["reply"],
            case["finish_reason"],
            opener=fields["opener"],
            closer=fields["closer"],
            opened_by_template=fields["template_opens_block"],
            end_markers=reasoning.END_MARKERS,
        )
        assert (reply.text, reply.truncated, reply.rule) == (
            case["value"] or "",
            case["truncated"],
            case["rule"],
        ), case
    assert {case["rule"] for case in found} == set(reasoning.RULES)


def test_there_are_enough() -> None:
    assert sum(len(cases(answer_type)) for answer_type in (*TYPES, "reasoning")) >= 170
