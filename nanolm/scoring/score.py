"""The formulas of §8: raw, skill, category, index; and their intervals."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.errors import ScoreError
from nanolm.schema import BenchmarkScore, EntryScore, Interval
from nanolm.scoring.bootstrap import RESAMPLES, bounds, resampled_sums
from nanolm.scoring.result import BenchmarkResult

Values = npt.NDArray[np.float64]
Resampled = Mapping[str, Mapping[str, Values]]
"""raw_b of every resample, per entry and benchmark (`resampled_raws`)."""
V = TypeVar("V", float, Values)
"""A number, or an array with one value per resample."""


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """What §8 makes of one entry's verdicts."""

    index: Interval | None
    """0 to 100; None while a benchmark of the edition is missing."""
    raw_index: float | None
    categories: dict[str, Interval]
    """By slug, 0 to 1; only categories whose benchmarks are all there."""
    benchmarks: dict[str, BenchmarkScore]
    """By slug in the edition's order; `low` and `high` are the interval of `skill`."""


def skill(raw: float, chance: float) -> float:
    """skill_b (§8): 0 is no better than a no-skill strategy, 1 is perfect."""
    return min(max((raw - chance) / (1.0 - chance), 0.0), 1.0)


def skills_of(raws: Values, chance: float) -> Values:
    """`skill` for an array, with the same operations in the same order."""
    return np.clip((raws - chance) / (1.0 - chance), 0.0, 1.0)


def _mean(parts: Sequence[V]) -> V:
    """Sum from left to right, then one division: the same for a number and for an array of resamples."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / len(parts)


def score_entry(edition: Edition, results: Mapping[str, BenchmarkResult], intervals: bool = True) -> Scores:
    """Score one entry (§8). `intervals=False` leaves all bounds None and takes no time."""
    return score_entries(edition, {"": results}, intervals)[""]


def score_entries(
    edition: Edition,
    results: Mapping[str, Mapping[str, BenchmarkResult]],
    intervals: bool = True,
    resampled: Resampled | None = None,
) -> dict[str, Scores]:
    """Score several entries with the same resampled items (§8): the same numbers as one by one, quicker.

    `resampled`: these results' own, where they are at hand; else they are drawn here.
    """
    for benchmarks in results.values():
        _check(edition, benchmarks)
    if resampled is None:
        resampled = resampled_raws(results) if intervals else {name: {} for name in results}
    return {name: _scores(edition, results[name], resampled[name]) for name in results}


def _check(edition: Edition, results: Mapping[str, BenchmarkResult]) -> None:
    for slug, result in results.items():
        if slug != result.slug or slug not in edition.benchmarks:
            raise ScoreError(
                f"a result of benchmark {result.slug!r} stands under {slug!r}; edition {edition.name} "
                f"has {', '.join(edition.benchmarks)}"
            )


def resampled_raws(
    results: Mapping[str, Mapping[str, BenchmarkResult]],
) -> dict[str, dict[str, Values]]:
    """raw_b of every resample, per entry and benchmark: arrays of shape (RESAMPLES,).

    Entries with the same items get the same resampled items, so the difference of two entries' arrays is
    the paired bootstrap of their difference.
    """
    together: dict[tuple[str, tuple[str, ...]], list[tuple[str, BenchmarkResult]]] = {}
    for name, benchmarks in results.items():
        for slug, result in benchmarks.items():
            in_order = result.in_order_of_ids()
            together.setdefault((slug, in_order.items), []).append((name, in_order))
    raws: dict[str, dict[str, Values]] = {name: {} for name in results}
    for (slug, items), entries in together.items():
        counts = np.stack([result.correct for _, result in entries], axis=1)
        sums = resampled_sums(slug, counts, RESAMPLES)
        for column, (name, result) in enumerate(entries):
            raws[name][slug] = sums[:, column] / (result.samples * len(items))
    return raws


def raw_interval(result: BenchmarkResult) -> Interval:
    """raw_b with its bootstrap interval over items; the same resamples as the interval of its skill."""
    drawn = resampled_raws({"": {result.slug: result}})[""][result.slug]
    return _interval(result.raw, drawn)


def _scores(
    edition: Edition, results: Mapping[str, BenchmarkResult], resampled: Mapping[str, Values]
) -> Scores:
    slugs = [slug for slug in edition.benchmarks if slug in results]
    skills = {slug: skill(results[slug].raw, results[slug].chance) for slug in slugs}
    raws = {slug: results[slug].raw for slug in slugs}
    drawn = {slug: skills_of(resampled[slug], results[slug].chance) for slug in slugs if slug in resampled}

    points, categories = by_category(edition, skills), by_category(edition, drawn)
    benchmarks = {
        slug: _benchmark_score(results[slug], skills[slug], drawn.get(slug), resampled.get(slug))
        for slug in slugs
    }
    index = of_index(edition, points)
    return Scores(
        index=None if index is None else _interval(index, of_index(edition, categories)),
        raw_index=of_index(edition, by_category(edition, raws)),
        categories={slug: _interval(value, categories.get(slug)) for slug, value in points.items()},
        benchmarks=benchmarks,
    )


def by_category(edition: Edition, benchmarks: Mapping[str, V]) -> dict[str, V]:
    """category_c (§8): the mean over all its benchmarks; a category that lacks one is left out."""
    found: dict[str, V] = {}
    for category in edition.categories:
        slugs = [slug for slug, spec in edition.benchmarks.items() if spec.category == category.slug]
        if slugs and all(slug in benchmarks for slug in slugs):
            found[category.slug] = _mean([benchmarks[slug] for slug in slugs])
    return found


def of_index(edition: Edition, categories: Mapping[str, V]) -> V | None:
    """Nano LM Index (§8): 100 times the mean of the category scores; None while one is missing."""
    if not categories or any(category.slug not in categories for category in edition.categories):
        return None
    return 100 * _mean([categories[category.slug] for category in edition.categories])


def _interval(value: float, resampled: Values | None) -> Interval:
    if resampled is None:
        return Interval(value)
    low, high = bounds(resampled)
    return Interval(value, low, high)


def _benchmark_score(
    result: BenchmarkResult, value: float, resampled: Values | None, raws: Values | None
) -> BenchmarkScore:
    interval = _interval(value, resampled)
    raw = _interval(result.raw, raws)
    return BenchmarkScore(
        skill=value,
        raw=result.raw,
        chance=result.chance,
        chance_rule=result.chance_rule,
        items=len(result.items),
        low=interval.low,
        high=interval.high,
        raw_low=raw.low,
        raw_high=raw.high,
        mean_output_tokens=result.mean_output_tokens,
        truncated_share=result.truncated_share,
        reasons=dict(result.reasons),
    )


def without(edition: Edition, scores: Scores, unmeasured: Collection[str]) -> Scores:
    """The same without index and categories that rest on benchmarks of which something was not measured."""
    spoilt = {edition.benchmarks[slug].category for slug in unmeasured}
    kept = {slug: value for slug, value in scores.categories.items() if slug not in spoilt}
    return msgspec.structs.replace(scores, index=None, raw_index=None, categories=kept)


def entry_score(
    edition: Edition,
    entry: Entry,
    scores: Scores,
    *,
    complete: bool,
    engine: Mapping[str, str],
    not_publishable_because: Sequence[str] = (),
) -> EntryScore:
    """What `score.json` holds (docs/architecture.md). Publishable exactly when nothing speaks against it.

    `engine` is `{name, version}` of what generated the outputs; `complete` means that every item of every
    benchmark has all its samples.
    """
    because = tuple(dict.fromkeys(not_publishable_because))
    return EntryScore(
        edition=edition.name,
        edition_digest=edition.digest,
        entry=entry.name,
        mode=entry.mode,
        complete=complete,
        publishable=complete and not because,
        not_publishable_because=because,
        index=scores.index,
        raw_index=scores.raw_index,
        categories=scores.categories,
        benchmarks=scores.benchmarks,
        decoding={
            "values": msgspec.to_builtins(entry.decoding.values),
            "source": entry.decoding.source,
            "quote": entry.decoding.quote,
            "link": entry.decoding.link,
        },
        model={
            "repo": entry.repo,
            "revision": entry.revision,
            "parameters": entry.parameters,
            "context": entry.context,
            "licence": entry.licence,
        },
        engine=dict(engine),
        samples=entry.samples,
    )
