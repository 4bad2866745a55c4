"""Judging a record again: the same bytes whatever its order, and a diff that names both rules."""

import random
from pathlib import Path

import pytest

from nanolm.errors import RecordError
from nanolm.schema import Decoding, Item, Output
from nanolm.verdicts import file
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.rescore import diff, rescore

ITEMS = {
    "numbers": tuple(
        Item(benchmark="numbers", id=str(n), answer_type="number", question="", gold=str(n))
        for n in range(20)
    ),
    "maths": tuple(
        Item(benchmark="maths", id=str(n), answer_type="math_expression", question="", gold=str(n))
        for n in range(6)
    ),
}


def outputs(form: str = "\\boxed{{{}}}") -> list[Output]:
    return [
        Output(
            benchmark=benchmark,
            item=item.id,
            sample=sample,
            seed=0,
            entry="",
            prompt_digest="",
            rendered_digest="",
            decoding=Decoding(),
            max_tokens=9,
            text=form.format(f"{item.gold} + {sample}" if benchmark == "maths" else int(item.gold) + sample),
            finish_reason="stop",
        )
        for benchmark, items in ITEMS.items()
        for item in items
        for sample in range(2)
    ]


def test_a_rescore_gives_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(outputs(), 52)
    told: list[int] = []
    with Judge(workers=2, cache=tmp_path) as judge:
        first = rescore(ITEMS, outputs(), judge, progress=told.append)
    with Judge(workers=1, cache=tmp_path) as judge:
        second = rescore(ITEMS, shuffled, judge)
    assert told == list(range(1, 53))
    assert [file.encode(one) for one in first] == [file.encode(one) for one in second]
    assert [one.key for one in first[:3]] == [("numbers", "0", 0), ("numbers", "0", 1), ("numbers", "1", 0)]
    assert sum(one.correct for one in first) == 26
    assert diff(first, second) == []


def test_a_diff_names_the_rule_before_and_after() -> None:
    with Judge(workers=1) as judge:
        old = rescore(
            {"numbers": ITEMS["numbers"]}, [o for o in outputs() if o.benchmark == "numbers"], judge
        )
        new = rescore(
            {"numbers": ITEMS["numbers"]},
            [o for o in outputs("Answer: {}") if o.benchmark == "numbers"][:-1],
            judge,
        )
    changes = diff(old, new)
    assert len(changes) == 40
    assert str(changes[0]) == "numbers/0/0: correct by box 0 -> correct by answer-line 0"
    assert str(changes[1]) == "numbers/0/1: wrong by box 1 -> wrong by answer-line 1"
    assert changes[-1].after is None
    assert str(changes[-1]).endswith("-> no verdict")


def test_an_output_of_no_item_is_refused() -> None:
    with Judge() as judge, pytest.raises(RecordError, match="item '0' of benchmark 'numbers'"):
        rescore({"maths": ITEMS["maths"]}, outputs(), judge)
