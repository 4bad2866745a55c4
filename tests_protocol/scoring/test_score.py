"""Protocol §8, formula by formula, against fractions worked out by hand or with `fractions`."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.entries.entry import Entry
from nanolm.errors import ScoreError
from nanolm.schema import Interval
from nanolm.scoring import entry_score, score_entries, score_entry, skill, without


def test_the_formulas_on_a_case_worked_out_by_hand(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"knowing": ["letters", "facts"], "doing": ["sums"]})
    scores = score_entry(
        edition,
        {
            "letters": make_result("letters", [4, 3, 2, 1], samples=4, chance=0.25),  # raw 10/16 = 0.625
            "facts": make_result("facts", [1, 0, 0, 0], chance=0.25),  # raw 0.25: no skill
            "sums": make_result("sums", [1, 1, 0, 0]),  # raw 0.5
        },
        intervals=False,
    )
    assert scores.benchmarks["letters"].raw == 0.625
    assert scores.benchmarks["letters"].skill == 0.5
    assert scores.benchmarks["facts"].skill == 0.0
    assert scores.categories == {"knowing": Interval(0.25), "doing": Interval(0.5)}
    assert scores.index == Interval(37.5)
    assert scores.raw_index == pytest.approx(100 * ((0.625 + 0.25) / 2 + 0.5) / 2)


def test_skill_is_clipped_at_both_ends() -> None:
    assert skill(0.1, 0.25) == 0.0
    assert skill(0.25, 0.25) == 0.0
    assert skill(1.0, 0.25) == 1.0


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1000, 5500), Fraction(85, 203)]),
)
def test_skill_equals_exact_arithmetic(correct: list[int], chance: Fraction) -> None:
    from nanolm.scoring import BenchmarkResult

    result = BenchmarkResult(
        slug="b",
        category="c",
        chance=float(chance),
        chance_rule="constant",
        items=tuple(map(str, range(len(correct)))),
        correct=np.array(correct, dtype=np.uint8),
        samples=4,
    )
    raw = Fraction(sum(correct), 4 * len(correct))
    assert result.raw == float(raw)
    exact = min(max((raw - chance) / (1 - chance), Fraction(0)), Fraction(1))
    assert skill(result.raw, result.chance) == pytest.approx(float(exact), abs=1e-14)


def test_an_oracle_scores_100_and_a_constant_0_with_intervals_of_no_width(
    make_edition: Any, make_result: Any
) -> None:
    edition = make_edition({"c": ["a", "b"]})
    oracle = {slug: make_result(slug, [1] * 30, chance=0.3) for slug in "ab"}
    constant = {slug: make_result(slug, [1, 0, 0, 0, 0], chance=0.2) for slug in "ab"}
    scores = score_entries(edition, {"oracle": oracle, "constant": constant})
    assert scores["oracle"].index == Interval(100.0, 100.0, 100.0)
    found = scores["constant"].index
    assert found is not None
    assert found.value == 0.0


def test_without_all_benchmarks_there_is_no_index(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"whole": ["a"], "half": ["b", "missing"]})
    scores = score_entry(edition, {slug: make_result(slug, [1, 0]) for slug in "ab"})
    assert scores.index is None
    assert scores.raw_index is None
    assert list(scores.categories) == ["whole"]
    assert list(scores.benchmarks) == ["a", "b"]


def test_nothing_at_all_scores_nothing(make_edition: Any) -> None:
    scores = score_entry(make_edition({"c": ["a"]}), {})
    assert (scores.index, scores.categories, scores.benchmarks) == (None, {}, {})


def test_a_result_of_another_edition_is_refused(make_edition: Any, make_result: Any) -> None:
    with pytest.raises(ScoreError, match=r"'zzz'.*edition small has a"):
        score_entry(make_edition({"c": ["a"]}), {"zzz": make_result("zzz", [1])})


def test_entries_scored_together_get_the_numbers_they_get_alone(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"], "d": ["b"]})
    draw = np.random.default_rng(5)
    entries = {
        f"e{k}": {slug: make_result(slug, list(draw.integers(0, 5, 41)), samples=4) for slug in "ab"}
        for k in range(5)
    }
    together = score_entries(edition, entries)
    assert together == {name: score_entry(edition, results) for name, results in entries.items()}


def test_intervals_hold_the_value_and_stay_in_range(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    scores = score_entry(edition, {"a": make_result("a", [1, 0] * 50, chance=0.25)})
    assert scores.index is not None
    assert scores.index.low is not None
    assert scores.index.high is not None
    assert 0 <= scores.index.low < scores.index.value < scores.index.high <= 100
    # raw 0.5 ± 1.96 · 0.05, chance-corrected
    assert scores.index.low == pytest.approx(100 * (0.5 - 0.098 - 0.25) / 0.75, abs=1.5)


def test_what_score_json_holds(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    scores = score_entry(edition, {"a": make_result("a", [1, 0])}, intervals=False)
    entry = Entry(name="some-model", title="Some model", artefact="transformers", samples=1)
    engine = {"name": "vllm", "version": "0.31.0"}
    found = entry_score(edition, entry, scores, complete=True, engine=engine)
    assert found.publishable
    assert found.edition_digest == edition.digest
    assert found.decoding["values"]["temperature"] == 0.0
    found = entry_score(
        edition, entry, scores, complete=True, engine=engine, not_publishable_because=["x", "x"]
    )
    assert not found.publishable
    assert found.not_publishable_because == ("x",)
    assert not entry_score(edition, entry, scores, complete=False, engine=engine).publishable


def test_the_order_of_items_changes_nothing(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"c": ["a"]})
    result = make_result("a", list(np.random.default_rng(2).integers(0, 5, 50)), samples=4)
    shuffled = result.only(list(np.random.default_rng(3).permutation(50)))
    assert score_entry(edition, {"a": result}) == score_entry(edition, {"a": shuffled})


def test_raw_accuracy_has_the_interval_that_its_skill_has(make_edition: Any, make_result: Any) -> None:
    """skill = (raw - chance) / (1 - chance), so their bounds are the same resamples."""
    results = {"letters": make_result("letters", [1] * 70 + [0] * 30, chance=0.25)}
    found = score_entry(make_edition({"knowing": ["letters"]}), results)
    line = found.benchmarks["letters"]
    assert line.low is not None
    assert line.high is not None
    assert line.raw_low == pytest.approx(0.25 + 0.75 * line.low)
    assert line.raw_high == pytest.approx(0.25 + 0.75 * line.high)
    assert line.raw_low < line.raw == 0.7 < line.raw_high  # type: ignore[operator]


def test_no_index_over_what_was_not_measured(make_edition: Any, make_result: Any) -> None:
    edition = make_edition({"one": ["a"], "two": ["b", "c"]})
    results = {slug: make_result(slug, [1, 0, 1, 0]) for slug in "abc"}
    scores = without(edition, score_entry(edition, results, intervals=False), {"c"})
    assert (scores.index, scores.raw_index, list(scores.categories)) == (None, None, ["one"])
    assert list(scores.benchmarks) == ["a", "b", "c"]
