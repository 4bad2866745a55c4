"""Paired comparison: sharper than two intervals, and silent where nothing was shown."""

from typing import Any

import numpy as np
import pytest

from nanolm.errors import ScoreError
from nanolm.scoring import score_entry
from nanolm.scoring.compare import (
    compare,
    items_of_disagreement,
    shown_differences,
    useful_middle,
    wilson,
)


def test_a_small_difference_on_the_same_items_is_shown_though_intervals_overlap(
    make_edition: Any, make_result: Any
) -> None:
    edition = make_edition({"c": ["a"]})
    weak = [1, 0] * 100
    strong = [1, 0] * 90 + [1, 1] * 10  # right wherever the weak one is, and on ten more
    a, b = {"a": make_result("a", strong)}, {"a": make_result("a", weak)}
    one, two = score_entry(edition, a).index, score_entry(edition, b).index
    assert one is not None
    assert two is not None
    assert one.low is not None
    assert two.high is not None
    assert one.low < two.high  # apart, the intervals say nothing
    found = compare(edition, ("strong", a), ("weak", b))
    assert found.index is not None
    assert found.index.value == pytest.approx(5.0)
    assert found.index.shown
    assert found.benchmarks["a"].raw.low > 0
    assert found.benchmarks["a"].only_first == tuple(f"{i:04d}" for i in range(181, 200, 2))
    assert found.benchmarks["a"].only_second == ()


def test_equal_entries_are_not_shown_to_differ(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    same = {"a": make_result("a", [1, 0, 1, 1, 0])}
    found = compare(edition, ("x", same), ("y", same))
    assert found.index is not None
    assert (found.index.value, found.index.low, found.index.high) == (0.0, 0.0, 0.0)
    assert not found.index.shown
    assert found.benchmarks["a"].items_needed is None


def test_items_needed_follow_from_the_spread_of_differences(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    a = {"a": make_result("a", [1] * 6 + [0] * 4 + [1] * 90)}
    b = {"a": make_result("a", [0] * 6 + [1] * 4 + [1] * 90)}
    found = compare(edition, ("a", a), ("b", b)).benchmarks["a"]
    # mean 0.02, variance 0.1 - 0.0004: n = 1.96² · 0.0996 / 0.0004
    assert found.items_needed == 957
    assert not found.raw.shown


def test_different_numbers_of_samples_compare(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    four = {"a": make_result("a", [4, 2, 0], samples=4)}
    one = {"a": make_result("a", [1, 1, 0], samples=1)}
    found = compare(edition, ("four", four), ("one", one)).benchmarks["a"]
    assert found.raw.value == pytest.approx(0.5 - 2 / 3)
    assert found.only_second == ("0001",)


def test_only_shared_items_are_compared_and_then_there_is_no_index(
    make_edition: Any, make_result: Any
) -> None:
    edition = make_edition({"c": ["a"]})
    found = compare(
        edition, ("long", {"a": make_result("a", [1, 0, 1])}), ("short", {"a": make_result("a", [1, 1])})
    )
    assert found.benchmarks["a"].items == 2
    assert found.index is None


def test_nothing_in_common_and_other_chance_levels_are_errors(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"], "d": ["b"]})
    with pytest.raises(ScoreError, match="no answered item in common"):
        compare(edition, ("x", {"a": make_result("a", [1])}), ("y", {"b": make_result("b", [1])}))
    with pytest.raises(ScoreError, match="chance level"):
        compare(
            edition,
            ("x", {"a": make_result("a", [1], chance=0.1)}),
            ("y", {"a": make_result("a", [1], chance=0.2)}),
        )


def test_all_pairs_at_once_equal_each_pair_alone(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    draw = np.random.default_rng(1)
    results = {name: {"a": make_result("a", list(draw.integers(0, 2, 60)))} for name in "xyz"}
    found = shown_differences(edition, results)
    for row in results:
        assert found[row][row] is None
        for column in set(results) - {row}:
            alone = compare(edition, (row, results[row]), (column, results[column]))
            assert found[row][column] == alone.index


def test_pairs_with_other_items_are_not_compared(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    results = {"x": {"a": make_result("a", [1, 0])}, "y": {"a": make_result("a", [1])}}
    assert shown_differences(edition, results)["x"]["y"] is None


def test_floor_ceiling_and_the_useful_middle(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["low", "mid", "high"]})

    def entry(shift: int) -> dict[str, Any]:
        return {
            "low": make_result("low", [1, 0, 0, 0] * 50, chance=0.25),
            "mid": make_result("mid", [1] * (80 + shift) + [0] * (120 - shift), chance=0.25),
            "high": make_result("high", [1] * (190 + shift) + [0] * (10 - shift), chance=0.25),
        }

    found = useful_middle(edition, {"x": entry(0), "y": entry(5)})
    assert [(line.benchmark, line.place) for line in found] == [
        ("low", "floor"),
        ("mid", "middle"),
        ("high", "ceiling"),
    ]
    assert (found[2].lowest, found[2].highest) == (0.95, 0.975)


def test_wilson_of_nothing_and_of_everything() -> None:
    none = wilson(0, 20)
    assert none.value == 0
    assert none.low == 0
    assert none.high == pytest.approx(0.1611, abs=1e-4)
    with pytest.raises(ScoreError):
        wilson(0, 0)


def test_items_of_disagreement(make_result: Any) -> None:
    a, b = make_result("a", [1, 1, 0]), make_result("a", [4, 0, 2], samples=4)
    assert items_of_disagreement([a, b]) == ("0001",)
    assert items_of_disagreement([]) == ()
