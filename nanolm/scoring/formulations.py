"""One question, two ways of asking: two benchmarks compared on the items that both have, by id.

For example the letter by log-likelihood against the letter by generation. The two may be of different
editions; what is compared is raw accuracy, item by item, never an index.
"""

import msgspec
import numpy as np

from nanolm.errors import ScoreError
from nanolm.schema import Interval
from nanolm.scoring.bootstrap import bounds, resampled_sums
from nanolm.scoring.compare import Difference, items_needed
from nanolm.scoring.result import BenchmarkResult


class Formulations(msgspec.Struct, frozen=True, kw_only=True):
    """First minus second, on shared items."""

    items: int
    first: Interval
    """Raw accuracy on the shared items, with its own 95% interval."""
    second: Interval
    first_chance: float
    second_chance: float
    difference: Difference
    """Of raw accuracy, paired."""
    items_needed: int | None
    both: int
    """Items that every sample of both has right."""
    only_first: tuple[str, ...]
    """Items on which the first does better, in order of id."""
    only_second: tuple[str, ...]


def compare_formulations(first: BenchmarkResult, second: BenchmarkResult) -> Formulations:
    """Compare two benchmarks whose items carry the same ids. Raises `ScoreError` when none do."""
    at_first = {item: place for place, item in enumerate(first.items)}
    at_second = {item: place for place, item in enumerate(second.items)}
    shared = sorted(at_first.keys() & at_second.keys())
    if not shared:
        raise ScoreError(
            f"{first.slug} and {second.slug} have no item in common: item ids such as {first.items[0]!r} and "
            f"{second.items[0]!r}; expected two benchmarks made of the same questions"
        )
    a, b = first.only([at_first[item] for item in shared]), second.only([at_second[item] for item in shared])
    # On a common scale, so that everything is decided by integers.
    right_a = a.correct.astype(np.int64) * b.samples
    right_b = b.correct.astype(np.int64) * a.samples
    scale = a.samples * b.samples
    slug = "/".join(sorted((first.slug, second.slug)))  # the same draws whichever is named first
    drawn = resampled_sums(slug, np.stack([right_a, right_b], axis=1)) / (scale * len(shared))
    by_item = right_a - right_b
    low, high = bounds(drawn[:, 0] - drawn[:, 1])
    return Formulations(
        items=len(shared),
        first=Interval(a.raw, *bounds(drawn[:, 0])),
        second=Interval(b.raw, *bounds(drawn[:, 1])),
        first_chance=first.chance,
        second_chance=second.chance,
        difference=Difference(value=a.raw - b.raw, low=low, high=high),
        items_needed=items_needed(by_item / scale),
        both=int(((right_a == scale) & (right_b == scale)).sum()),
        only_first=tuple(shared[place] for place in np.flatnonzero(by_item > 0)),
        only_second=tuple(shared[place] for place in np.flatnonzero(by_item < 0)),
    )
