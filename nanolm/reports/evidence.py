"""Whether a score can be checked by what lies beside it: only then it is ranked."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nanolm.editions.edition import Edition
from nanolm.editions.frozen import read_frozen
from nanolm.editions.read import suite_folder
from nanolm.errors import ScoreError
from nanolm.records import is_recorded
from nanolm.reports import extent
from nanolm.reports.run_folder import RunFolder
from nanolm.schema import BenchmarkScore, Interval
from nanolm.scoring import BenchmarkResult, Resampled, resampled_raws, score_entries
from nanolm.verdicts import file

Results = Mapping[str, Mapping[str, BenchmarkResult]]


def missing(run: RunFolder, edition: Edition) -> str:
    """What stands against checking this run's score, as a sentence; empty when nothing does.

    Raises `RecordError` for verdicts that can't be read.
    """
    lacks = []
    if not is_recorded(run.record):
        lacks.append("no outputs")
    if not run.has_verdicts():
        lacks.append(f"no {file.FILE}")
    if len(lacks) == 1 and not run.has_verdicts():
        return _lacking(f"its folder holds {lacks[0]}")
    if lacks:
        return f"Nothing to check its score by: its folder holds {' and '.join(lacks)}."
    found = extent.of_keys(run, edition, "verdict", (line.key for line in run.verdicts()))
    if not run.score.complete:
        return "" if found.found else _lacking(f"{file.FILE} holds no verdict (0 of {found.of:,})")
    return _lacking(f"{file.FILE} lacks verdicts: {found.lacking}") if found.partial else ""


def lacking(held: Mapping[str, str]) -> dict[str, str]:
    """The same sentence for runs whose record holds only some of the outputs that verdicts are on."""
    return {
        name: f"Nothing to check all of its score by: its record holds {how_many}."
        for name, how_many in held.items()
    }


def told(complete: int) -> str:
    """What `judged` has checked, of how many runs, for the page and who builds it."""
    if not complete:
        return "No run here is complete: no score was computed again."
    runs = f"The scores of {complete:,} complete runs" if complete > 1 else "The score of 1 complete run"
    were = "were" if complete > 1 else "was"
    return f"{runs}, intervals included, {were} computed again from the verdicts and found the same."


def _lacking(what: str) -> str:
    return f"Nothing to check its score by: {what} (`nanolm rescore` writes them anew)."


class Recomputed(NamedTuple):
    """What the verdicts of complete runs come to, by name."""

    results: Results
    resampled: Resampled
    """For the intervals; comparisons go on with the same."""


def judged(found: Sequence[RunFolder], edition: Edition) -> Recomputed:
    """What the verdicts of these complete runs come to, once their scores are found to say the same.

    Every number of the score is held against it that verdicts decide: the intervals too, from the same
    resamples as ever, the counts of items and reasons. Raises `ScoreError` for a score that is not what §8
    makes of the verdicts beside it and the edition's frozen chance levels.
    """
    for run in found:
        _check_chance(run, edition)
    results = {run.name: run.results(edition) for run in found}
    resampled = resampled_raws(results)
    scores = score_entries(edition, results, resampled=resampled)
    for run in found:
        told, by_verdicts = run.score, scores[run.name]
        _same_interval(run, "index", told.index, by_verdicts.index)
        _same(run, "raw index", told.raw_index, by_verdicts.raw_index)
        for slug, category in by_verdicts.categories.items():
            _same_interval(run, f"category {slug}", told.categories.get(slug), category)
        for slug, line in by_verdicts.benchmarks.items():
            _same_benchmark(run, slug, told.benchmarks[slug], line)
    return Recomputed(results, resampled)


def _same_benchmark(run: RunFolder, slug: str, told: BenchmarkScore, line: BenchmarkScore) -> None:
    _same(run, f"items of {slug}", told.items, line.items)
    _same(run, f"skill on {slug}", told.skill, line.skill)
    for end in ("low", "high"):
        _same(run, f"{end} end of the skill on {slug}", getattr(told, end), getattr(line, end))
        raw = f"raw_{end}"
        if getattr(told, raw) is not None:  # scores of before had none
            _same(run, f"{end} end of the raw accuracy on {slug}", getattr(told, raw), getattr(line, raw))
    _same(run, f"truncated share on {slug}", told.truncated_share, line.truncated_share)
    for reason in sorted(told.reasons.keys() | line.reasons.keys()):
        _same(run, f"{reason} on {slug}", told.reasons.get(reason, 0), line.reasons.get(reason, 0))


def _check_chance(run: RunFolder, edition: Edition) -> None:
    frozen = read_frozen(suite_folder(edition))
    for slug, line in frozen.benchmarks.items() if frozen else ():
        told = run.score.benchmarks.get(slug)
        if slug in edition.benchmarks and told and not math.isclose(told.chance, line.chance, abs_tol=1e-9):
            raise ScoreError(
                f"{run.path / 'score.json'} has chance level {told.chance:.6f} on {slug}, edition "
                f"{edition.name} froze {line.chance:.6f}. Run `nanolm rescore` on this entry"
            )


def _same_interval(run: RunFolder, what: str, told: Interval | None, by_verdicts: Interval | None) -> None:
    for end, of in (("value", what), ("low", f"low end of the {what}"), ("high", f"high end of the {what}")):
        _same(run, of, getattr(told, end, None), getattr(by_verdicts, end, None))


def _same(run: RunFolder, what: str, told: float | None, by_verdicts: float | None) -> None:
    if told is None or by_verdicts is None:
        same = told is by_verdicts
    else:
        same = math.isclose(told, by_verdicts, abs_tol=1e-9)
    if not same:
        shown = ["none" if value is None else f"{value:.6f}" for value in (by_verdicts, told)]
        raise ScoreError(
            f"{run.path / file.FILE} and score.json are not of one judging: {what} is {shown[0]} by the "
            f"verdicts, {shown[1]} by the score. Run `nanolm rescore` on this entry"
        )
