"""Counting verdicts, and refusing what can't be counted."""

from typing import Any

import numpy as np
import pytest

from nanolm.errors import ScoreError
from nanolm.schema import Verdict
from nanolm.scoring import BenchmarkResult, Tally

RIGHT = Verdict(correct=True, reason=None)


def wrong(reason: Any) -> Verdict:
    return Verdict(correct=False, reason=reason)


@pytest.fixture
def tally(make_edition: Any) -> Tally:
    spec = make_edition({"c": ["a"]}).benchmarks["a"]
    return Tally(spec, 0.25, "constant", ["x", "y"], samples=2)


def test_counts_tokens_and_reasons(tally: Tally) -> None:
    tally.add("y", 1, RIGHT, 10)
    tally.add("y", 0, RIGHT, 20)
    tally.add("x", 0, wrong("truncated"), 30)
    assert tally.missing == 1
    tally.add("x", 1, wrong("wrong"), 40)
    result = tally.result()
    assert tally.missing == 0
    assert result.correct.tolist() == [0, 2]
    assert result.raw == 0.5
    assert result.mean_output_tokens == 25.0
    assert result.truncated_share == 0.25
    assert result.reasons == {"truncated": 1, "wrong": 1}


def test_a_missing_sample_counts_as_not_correct(tally: Tally) -> None:
    tally.add("x", 0, RIGHT, 10)
    assert tally.missing == 3
    assert tally.result().raw == 0.25


@pytest.mark.parametrize(("item", "sample"), [("z", 0), ("x", 2), ("x", -1)])
def test_a_verdict_nobody_asked_for_is_refused(tally: Tally, item: str, sample: int) -> None:
    with pytest.raises(ScoreError, match="not among its 2 items with 2 samples"):
        tally.add(item, sample, RIGHT, 1)


def test_the_same_sample_twice_is_refused(tally: Tally) -> None:
    tally.add("x", 0, RIGHT, 1)
    with pytest.raises(ScoreError, match="two verdicts on item 'x', sample 0"):
        tally.add("x", 0, RIGHT, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": ()}, "has no items"),
        ({"correct": np.array([1], dtype=np.uint8)}, "one count per item"),
        ({"correct": np.array([1, 0])}, "uint8"),
        ({"correct": np.array([1, 3], dtype=np.uint8)}, "3 right samples of an item of 2 samples"),
        ({"samples": 0}, "item of 0 samples"),
        ({"chance": 1.0}, "chance level 1.0"),
        ({"chance": float("nan")}, "chance level nan"),
    ],
)
def test_impossible_results_are_refused(changes: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "slug": "a",
        "category": "c",
        "chance": 0.25,
        "chance_rule": "constant",
        "items": ("x", "y"),
        "correct": np.array([1, 0], dtype=np.uint8),
        "samples": 2,
    }
    with pytest.raises(ScoreError, match=message):
        BenchmarkResult(**{**fields, **changes})


def test_the_same_item_twice_is_refused() -> None:
    with pytest.raises(ScoreError, match="'x' stands twice"):
        BenchmarkResult(
            slug="a",
            category="c",
            chance=0.0,
            chance_rule="open-ended",
            items=("x", "y", "x"),
            correct=np.array([1, 0, 0], dtype=np.uint8),
            samples=1,
        )
