"""The sanity gate, and the exact expectation of random guessing."""

from typing import Any

import numpy as np
import pytest

from nanolm.errors import ScoreError
from nanolm.schema import Item
from nanolm.scoring import score_entry
from nanolm.scoring.sanity import guess_chance, random_index, random_raw, sanity


def test_expectation_by_hand(make_edition: Any) -> None:
    # two items with two options each: 0, 1, 2 right with 1/4, 1/2, 1/4; chance 0.5: skill 0, 0, 1
    edition = make_edition({"c": ["a"]})
    found = random_index(edition, {"a": [0.5, 0.5]}, {"a": 0.5})
    assert found.mean == pytest.approx(25.0)
    assert found.deviation == pytest.approx(100 * np.sqrt(0.25 * 0.75))


def test_expectation_equals_a_simulation(make_edition: Any) -> None:
    edition = make_edition({"c": ["a", "b"], "d": ["open"]})
    chances = {"a": [1 / 4] * 60 + [1 / 5] * 40, "b": [1 / 2] * 30, "open": [0.0] * 10}
    levels = {"a": 0.26, "b": 0.5, "open": 0.0}
    found = random_index(edition, chances, levels)
    draw = np.random.default_rng(0)
    skills = {}
    for slug in ("a", "b"):
        raws = (draw.random((20_000, len(chances[slug]))) < np.array(chances[slug])).mean(axis=1)
        skills[slug] = np.clip((raws - levels[slug]) / (1 - levels[slug]), 0, 1)
    drawn = 100 * ((skills["a"] + skills["b"]) / 2 + 0) / 2
    assert found.mean == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(20_000))
    assert found.deviation == pytest.approx(drawn.std(), rel=0.03)


def test_expectation_at_the_size_of_mmlu_cf(make_edition: Any) -> None:
    edition = make_edition({"c": ["a"]})
    found = random_index(edition, {"a": [0.25] * 10_000}, {"a": 0.25})
    deviation = np.sqrt(0.25 * 0.75 / 10_000) / 0.75
    assert found.mean == pytest.approx(100 * deviation / np.sqrt(2 * np.pi), rel=0.01)


def test_open_ended_items_can_not_be_guessed() -> None:
    item = Item(benchmark="b", id="1", answer_type="number", question="?", gold="1")
    assert guess_chance(item) == 0.0
    letter = Item(benchmark="b", id="1", answer_type="letter", question="?", gold="A", options=("x", "y"))
    assert guess_chance(letter) == 0.5
    label = Item(benchmark="b", id="1", answer_type="label", question="?", gold="x", labels=("x", "y", "z"))
    assert guess_chance(label) == pytest.approx(1 / 3)


def test_raw_accuracy_of_guessing() -> None:
    found = random_raw([0.5] * 100)
    assert found.mean == 0.5
    assert found.deviation == pytest.approx(0.05)
    assert found.near(0.74)
    assert not found.near(0.76)


def _scores(
    edition: Any, make_result: Any, oracle: list[int], constant: list[int], guess: list[int]
) -> dict[str, Any]:
    return {
        name: score_entry(edition, {"a": make_result("a", counts, chance=0.5)}, intervals=False)
        for name, counts in (("oracle", oracle), ("constant", constant), ("random", guess))
    }


def test_the_gate_passes_and_fails(make_edition: Any, make_result: Any) -> None:
    edition, chances = make_edition({"c": ["a"]}), {"a": [0.5] * 100}
    half = [1, 0] * 50
    checks = sanity(edition, _scores(edition, make_result, [1] * 100, half, half), chances)
    assert [(check.entry, check.what, check.ok) for check in checks] == [
        ("oracle", "index", True),
        ("constant", "index", True),
        ("random", "index", True),
        ("random", "a", True),
    ]
    for counts, failed in (
        (([1] * 99 + [0], half, half), ("oracle", "index")),
        (([1] * 100, [1] * 51 + [0] * 49, half), ("constant", "index")),
        (([1] * 100, half, [0] * 100), ("random", "a")),
    ):
        checks = sanity(edition, _scores(edition, make_result, *counts), chances)
        assert [(check.entry, check.what) for check in checks if not check.ok] == [failed]


def test_a_partial_run_proves_nothing(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a", "b"]})
    results = _scores(edition, make_result, [1], [0], [0])
    with pytest.raises(ScoreError, match="whole run of 'oracle'"):
        sanity(edition, results, {"a": [0.5]})
