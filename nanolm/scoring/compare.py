"""Paired comparison of entries on the same items (§8): differences, not two separate intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from nanolm.editions.edition import Edition
from nanolm.errors import ScoreError
from nanolm.schema import Interval
from nanolm.scoring.bootstrap import bounds
from nanolm.scoring.result import BenchmarkResult
from nanolm.scoring.score import (
    Resampled,
    by_category,
    of_index,
    resampled_raws,
    score_entries,
    skill,
    skills_of,
)

Results = Mapping[str, BenchmarkResult]

CEILING = 0.9
"""Raw accuracy above which a benchmark says little about an entry: what is left is often faulty items."""
_TWO_SIDED_95 = 1.959964


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A first minus a second entry, with its paired 95% interval."""

    value: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """False where the interval holds 0: not shown to differ."""
        return self.low > 0 or self.high < 0


class BenchmarkDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark's difference, on the items that both entries answered."""

    skill: Difference
    raw: Difference
    items: int
    items_needed: int | None
    """Items at which an interval of this difference and spread would leave 0 out; None if there is no
    difference to show. A normal approximation from the items' own differences."""
    only_first: tuple[str, ...]
    """Items on which the first entry does better, in order of id."""
    only_second: tuple[str, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """First minus second, from the benchmarks up to the index."""

    first: str
    second: str
    index: Difference | None
    """Index points; None while a benchmark is missing or was answered on fewer items."""
    categories: dict[str, Difference]
    benchmarks: dict[str, BenchmarkDifference]


class Usefulness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a benchmark can tell these entries apart ("useful middle")."""

    benchmark: str
    place: str
    """`floor`: every entry's interval holds chance; `ceiling`: every entry's raw accuracy is above 0.9;
    `middle` otherwise."""
    lowest: float
    """Raw accuracy of the weakest entry."""
    highest: float


def compare(edition: Edition, first: tuple[str, Results], second: tuple[str, Results]) -> Comparison:
    """Compare two entries given as (name, results). Raises `ScoreError` when they share no item."""
    (a, results_a), (b, results_b) = first, second
    shared = [slug for slug in edition.benchmarks if slug in results_a and slug in results_b]
    pairs = {slug: _common(results_a[slug], results_b[slug]) for slug in shared}
    pairs = {slug: pair for slug, pair in pairs.items() if pair[0].items}
    if not pairs:
        raise ScoreError(
            f"{a} and {b} have no answered item in common in edition {edition.name}; "
            "run both on the same benchmarks"
        )
    first_results = {slug: pair[0] for slug, pair in pairs.items()}
    second_results = {slug: pair[1] for slug, pair in pairs.items()}
    raws = resampled_raws({"first": first_results, "second": second_results})
    one = _carry(edition, first_results, raws["first"])
    two = _carry(edition, second_results, raws["second"])
    whole = _same_items(results_a, results_b)
    return Comparison(
        first=a,
        second=b,
        index=one.index - two.index if whole and one.index and two.index else None,
        categories={slug: one.categories[slug] - two.categories[slug] for slug in one.categories},
        benchmarks={
            slug: _benchmark(pair, one.skills[slug] - two.skills[slug], one.raws[slug] - two.raws[slug])
            for slug, pair in pairs.items()
        },
    )


class _Resampled(NamedTuple):
    """A value and the same on every resample."""

    value: float
    drawn: npt.NDArray[np.float64]

    def __sub__(self, other: "_Resampled") -> Difference:
        low, high = bounds(self.drawn - other.drawn)
        return Difference(value=self.value - other.value, low=low, high=high)


@dataclass(frozen=True)
class _Carried:
    """One entry's numbers from the benchmarks up to the index, with their resamples (§8)."""

    raws: dict[str, _Resampled]
    skills: dict[str, _Resampled]
    categories: dict[str, _Resampled]
    index: _Resampled | None


def _carry(edition: Edition, results: Results, raws: Mapping[str, npt.NDArray[np.float64]]) -> _Carried:
    skills = {slug: skill(result.raw, result.chance) for slug, result in results.items()}
    drawn = {slug: skills_of(raws[slug], result.chance) for slug, result in results.items()}
    categories, drawn_categories = by_category(edition, skills), by_category(edition, drawn)
    index, drawn_index = of_index(edition, categories), of_index(edition, drawn_categories)
    return _Carried(
        raws={slug: _Resampled(result.raw, raws[slug]) for slug, result in results.items()},
        skills={slug: _Resampled(value, drawn[slug]) for slug, value in skills.items()},
        categories={slug: _Resampled(value, drawn_categories[slug]) for slug, value in categories.items()},
        index=None if index is None or drawn_index is None else _Resampled(index, drawn_index),
    )


def _common(a: BenchmarkResult, b: BenchmarkResult) -> tuple[BenchmarkResult, BenchmarkResult]:
    """Both entries' counts on the items they share, in order of id (no items: an empty pair)."""
    if a.chance != b.chance:
        raise ScoreError(
            f"benchmark {a.slug!r} has chance level {a.chance} for one entry and {b.chance} for the other; "
            "they were scored under different editions: rescore both (nanolm rescore)"
        )
    at_a = {item: i for i, item in enumerate(a.items)}
    at_b = {item: i for i, item in enumerate(b.items)}
    shared = sorted(at_a.keys() & at_b.keys())
    if not shared:
        raise ScoreError(f"benchmark {a.slug!r}: the two entries answered none of the same items")
    return a.only([at_a[item] for item in shared]), b.only([at_b[item] for item in shared])


def _benchmark(
    pair: tuple[BenchmarkResult, BenchmarkResult], of_skill: Difference, of_raw: Difference
) -> BenchmarkDifference:
    a, b = pair
    # On a common scale, so that who did better on an item is decided by integers.
    by_item = a.correct.astype(np.int64) * b.samples - b.correct.astype(np.int64) * a.samples
    return BenchmarkDifference(
        skill=of_skill,
        raw=of_raw,
        items=len(a.items),
        items_needed=items_needed(by_item / (a.samples * b.samples)),
        only_first=tuple(a.items[i] for i in np.flatnonzero(by_item > 0)),
        only_second=tuple(a.items[i] for i in np.flatnonzero(by_item < 0)),
    )


def items_needed(by_item: npt.NDArray[np.float64]) -> int | None:
    """n at which 1.96 · s / √n equals the mean difference, s being the spread over items."""
    mean = float(by_item.mean())
    if math.isclose(mean, 0.0, abs_tol=1e-12):
        return None
    return max(1, math.ceil((_TWO_SIDED_95 * float(by_item.std()) / mean) ** 2))


def shown_differences(
    edition: Edition, results: Mapping[str, Results], resampled: Resampled | None = None
) -> dict[str, dict[str, Difference | None]]:
    """Index differences of all pairs of entries, row minus column; None where they can't be compared.

    One bootstrap for all of them, since every entry is resampled with the same items. `resampled`: as of
    `score_entries`.
    """
    raws = resampled_raws(results) if resampled is None else resampled
    indices = {name: _carry(edition, each, raws[name]).index for name, each in results.items()}

    def difference(row: str, column: str) -> Difference | None:
        one, two = indices[row], indices[column]
        if row == column or one is None or two is None or not _same_items(results[row], results[column]):
            return None
        return one - two

    return {row: {column: difference(row, column) for column in results} for row in results}


def _same_items(a: Results, b: Results) -> bool:
    return a.keys() == b.keys() and all(set(a[slug].items) == set(b[slug].items) for slug in a)


def useful_middle(
    edition: Edition, results: Mapping[str, Results], resampled: Resampled | None = None
) -> list[Usefulness]:
    """For each benchmark that all entries answered: at the floor, at the ceiling, or useful. `resampled`: as
    of `score_entries`."""
    scores = score_entries(edition, results, resampled=resampled)
    found = []
    for slug in edition.benchmarks:
        lines = [each.benchmarks[slug] for each in scores.values() if slug in each.benchmarks]
        if not lines or len(lines) < len(results):
            continue
        # skill is clipped at 0, so its lower bound is 0 exactly when the interval reaches chance
        if all(line.low == 0.0 for line in lines):
            place = "floor"
        elif all(line.raw > CEILING for line in lines):
            place = "ceiling"
        else:
            place = "middle"
        raws = [line.raw for line in lines]
        found.append(Usefulness(benchmark=slug, place=place, lowest=min(raws), highest=max(raws)))
    return found


def wilson(count: int, total: int) -> Interval:
    """A share with its 95% Wilson score interval, for small samples read by hand (§10).

    >>> found = wilson(8, 10)
    >>> round(found.value, 3), round(found.low or 0, 3), round(found.high or 0, 3)
    (0.8, 0.49, 0.943)
    """
    if not 0 <= count <= total or total == 0:
        raise ScoreError(f"{count} of {total} is no share")
    z, share = _TWO_SIDED_95, count / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return Interval(share, max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale))


def items_of_disagreement(results: Sequence[BenchmarkResult]) -> tuple[str, ...]:
    """Ids of items that some entry always gets right and another never, in order of id."""
    shared = set.intersection(*(set(result.items) for result in results)) if results else set()
    always: set[str] = set()
    never: set[str] = set()
    for result in results:
        right = result.correct.tolist()
        always.update(item for item, n in zip(result.items, right, strict=True) if n == result.samples)
        never.update(item for item, n in zip(result.items, right, strict=True) if n == 0)
    return tuple(sorted(shared & always & never))
