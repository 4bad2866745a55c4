"""The sanity gate (§10): oracle 100.00, constant 0.00, random near its expectation (ruling 78)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from nanolm.editions.edition import Edition
from nanolm.errors import ScoreError
from nanolm.schema import EntryScore, Item
from nanolm.scoring.score import Scores, by_category, of_index, skills_of

SPREAD = 5.0
"""How many standard deviations a random draw may lie from its expectation."""


class Expected(NamedTuple):
    """A random quantity's mean and standard deviation."""

    mean: float
    deviation: float

    def near(self, value: float) -> bool:
        """Whether `value` lies within SPREAD standard deviations (and a hair, for rounding)."""
        return abs(value - self.mean) <= SPREAD * self.deviation + 1e-9


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the sanity gate."""

    entry: str
    """`oracle`, `constant` or `random`."""
    what: str
    """`index`, or a benchmark's slug for its raw accuracy."""
    found: float
    expected: float
    tolerance: float
    ok: bool


def guess_chance(item: Item) -> float:
    """How likely uniform guessing is right on an item (§8); 0 for open-ended answer types."""
    choices = len(item.options) or len(item.labels)
    return 1 / choices if choices else 0.0


def _distribution(chances: Sequence[float]) -> npt.NDArray[np.float64]:
    """Exact probabilities of 0 … n right guesses: a convolution of one binomial per distinct chance."""
    found = np.ones(1)
    for chance, count in sorted(Counter(chances).items()):
        if not 0.0 <= chance <= 1.0:
            raise ScoreError(f"{chance} is no chance of guessing right")
        found = np.convolve(found, _binomial(count, chance))
    return found


def _binomial(n: int, p: float) -> npt.NDArray[np.float64]:
    if p in (0.0, 1.0):
        certain = np.zeros(n + 1)
        certain[0 if p == 0.0 else n] = 1.0
        return certain
    log = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
        for k in range(n + 1)
    ]
    found = np.exp(np.array(log))
    return np.asarray(found / found.sum())


def random_raw(chances: Sequence[float]) -> Expected:
    """Raw accuracy of uniform guessing with one sample per item."""
    n = len(chances)
    return Expected(sum(chances) / n, math.sqrt(sum(p * (1 - p) for p in chances)) / n)


def random_index(
    edition: Edition, chances: Mapping[str, Sequence[float]], levels: Mapping[str, float]
) -> Expected:
    """Index of uniform guessing, from the exact distribution of right guesses on each benchmark.

    `chances`: by benchmark, each item's chance of a right guess; `levels`: chance levels. The clip at 0 makes
    the expectation positive although no skill is there. Benchmarks are independent, so means and
    variances add up with the weights of §8. Raises `ScoreError` while a benchmark of the edition is missing.
    """
    means: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for slug, each in chances.items():
        probability = _distribution(each)
        skills = skills_of(np.arange(len(probability)) / len(each), levels[slug])
        means[slug] = float(probability @ skills)
        deviations[slug] = math.sqrt(max(0.0, float(probability @ (skills - means[slug]) ** 2)))
    mean = of_index(edition, by_category(edition, means))
    if mean is None:
        raise ScoreError(f"edition {edition.name}: the random expectation needs items of every benchmark")
    variance = 0.0
    for slug, spec in edition.benchmarks.items():
        together = sum(other.category == spec.category for other in edition.benchmarks.values())
        variance += (100 * deviations[slug] / together / len(edition.categories)) ** 2
    return Expected(mean, math.sqrt(variance))


def sanity(
    edition: Edition,
    scores: Mapping[str, Scores | EntryScore],
    chances: Mapping[str, Sequence[float]],
) -> list[Check]:
    """Check the scores of the three synthetic entries, given by name.

    `chances`: by benchmark, each item's `guess_chance`. Raises `ScoreError` if one is missing or partial.
    """
    found = []
    for name, exact in (("oracle", 100.0), ("constant", 0.0)):
        value = _index(edition, scores, name)
        found.append(
            Check(entry=name, what="index", found=value, expected=exact, tolerance=0.0, ok=value == exact)
        )
    drawn = _index(edition, scores, "random")
    lines = scores["random"].benchmarks
    levels = {slug: line.chance for slug, line in lines.items()}
    found.append(_near("index", drawn, random_index(edition, chances, levels)))
    found += [_near(slug, line.raw, random_raw(chances[slug])) for slug, line in lines.items()]
    return found


def _index(edition: Edition, scores: Mapping[str, Scores | EntryScore], name: str) -> float:
    index = scores[name].index if name in scores else None
    if index is None:
        raise ScoreError(
            f"the sanity gate needs a whole run of {name!r} on edition {edition.name}; a benchmark is missing"
        )
    return index.value


def _near(what: str, value: float, expected: Expected) -> Check:
    return Check(
        entry="random",
        what=what,
        found=value,
        expected=expected.mean,
        tolerance=SPREAD * expected.deviation,
        ok=expected.near(value),
    )
