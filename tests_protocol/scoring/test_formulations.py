"""Two ways of asking the same questions, compared item by item."""

import numpy as np
import pytest

from nanolm.errors import ScoreError
from nanolm.scoring.formulations import compare_formulations
from nanolm.scoring.result import BenchmarkResult


def result(slug: str, right: dict[str, int], samples: int = 1, chance: float = 0.25) -> BenchmarkResult:
    return BenchmarkResult(
        slug=slug,
        category="knowledge",
        chance=chance,
        chance_rule="constant",
        items=tuple(right),
        correct=np.array(list(right.values()), dtype=np.uint8),
        samples=samples,
    )


def test_only_shared_items_count_by_id_whatever_their_order() -> None:
    first = result("letter", {"a": 1, "b": 0, "c": 1, "only-here": 1})
    second = result("likelihood", {"c": 0, "b": 0, "a": 1}, chance=0.26)
    found = compare_formulations(first, second)
    assert (found.items, found.both, found.only_first, found.only_second) == (3, 1, ("c",), ())
    assert found.first.value == pytest.approx(2 / 3)
    assert found.second.value == pytest.approx(1 / 3)
    assert found.difference.value == pytest.approx(1 / 3)
    assert (found.first_chance, found.second_chance) == (0.25, 0.26)


def test_samples_are_put_on_one_scale() -> None:
    found = compare_formulations(result("x", {"a": 2, "b": 4}, samples=4), result("y", {"a": 1, "b": 1}))
    assert found.first.value == 0.75
    assert found.difference.value == -0.25
    assert (found.only_first, found.only_second, found.both) == ((), ("a",), 1)


def test_the_pair_is_resampled_together() -> None:
    same = {f"i{n}": n % 2 for n in range(400)}
    alike = compare_formulations(result("x", same), result("y", same))
    assert (alike.difference.low, alike.difference.high, alike.items_needed) == (0.0, 0.0, None)
    better = {item: 1 if n < 100 else right for n, (item, right) in enumerate(same.items())}
    one = compare_formulations(result("x", better), result("y", same))
    other = compare_formulations(result("y", same), result("x", better))
    assert one.difference.shown
    assert (one.difference.low, one.difference.high) == (-other.difference.high, -other.difference.low)


def test_without_a_shared_item_it_says_so() -> None:
    with pytest.raises(ScoreError, match=r"x and y have no item in common: item ids such as 'a' and 'b'"):
        compare_formulations(result("x", {"a": 1}), result("y", {"b": 1}))
