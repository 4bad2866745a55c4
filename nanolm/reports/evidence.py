"""Whether a score can be checked by what lies beside it: only then it is ranked."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from nanolm.editions.edition import Edition
from nanolm.editions.frozen import read_frozen
from nanolm.editions.read import suite_folder
from nanolm.errors import ScoreError
from nanolm.records import is_recorded
from nanolm.reports.run_folder import RunFolder
from nanolm.schema import Interval
from nanolm.scoring import BenchmarkResult, score_entries
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
    found = Counter(benchmark for benchmark, _, _ in {line.key for line in run.verdicts()})
    if not run.score.complete:
        return "" if found else _lacking(f"{file.FILE} holds no verdict")
    short = [
        f"{slug} {found[slug]:,} of {spec.items * run.score.samples:,}"
        for slug, spec in edition.benchmarks.items()
        if found[slug] < spec.items * run.score.samples
    ]
    return _lacking(f"{file.FILE} lacks verdicts: {', '.join(short)}") if short else ""


def _lacking(what: str) -> str:
    return f"Nothing to check its score by: {what} (`nanolm rescore` writes them anew)."


def judged(found: Sequence[RunFolder], edition: Edition) -> Results:
    """What the verdicts of these complete runs come to, by name, once their scores are found to say the same.

    Raises `ScoreError` for a score that is not what §8 makes of the verdicts beside it and the edition's
    frozen chance levels.
    """
    for run in found:
        _check_chance(run, edition)
    results = {run.name: run.results(edition) for run in found}
    scores = score_entries(edition, results, intervals=False)
    for run in found:
        told, by_verdicts = run.score, scores[run.name]
        _same(run, "index", _value(told.index), _value(by_verdicts.index))
        _same(run, "raw index", told.raw_index, by_verdicts.raw_index)
        for slug, category in by_verdicts.categories.items():
            _same(run, f"category {slug}", _value(told.categories.get(slug)), category.value)
        for slug, line in by_verdicts.benchmarks.items():
            _same(run, f"skill on {slug}", told.benchmarks[slug].skill, line.skill)
    return results


def _check_chance(run: RunFolder, edition: Edition) -> None:
    frozen = read_frozen(suite_folder(edition))
    for slug, line in frozen.benchmarks.items() if frozen else ():
        told = run.score.benchmarks.get(slug)
        if slug in edition.benchmarks and told and not math.isclose(told.chance, line.chance, abs_tol=1e-9):
            raise ScoreError(
                f"{run.path / 'score.json'} has chance level {told.chance:.6f} on {slug}, edition "
                f"{edition.name} froze {line.chance:.6f}. Run `nanolm rescore` on this entry"
            )


def _value(interval: Interval | None) -> float | None:
    return interval.value if interval else None


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
