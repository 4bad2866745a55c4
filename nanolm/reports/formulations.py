"""`nanolm compare RUN#BENCHMARK RUN#BENCHMARK`: two formulations of the same questions."""

import glob
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nanolm.errors import ScoreError, UsageError, unknown
from nanolm.reports.folders import edition_of, find
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.unmeasured import unmeasured
from nanolm.schema import Interval
from nanolm.scoring.formulations import Formulations, compare_formulations
from nanolm.scoring.result import BenchmarkResult


def is_formulation(name: str) -> bool:
    """Whether a name says which benchmark of a run is meant."""
    return "#" in name and not (Path(name) / "score.json").exists()


def read(names: Sequence[str], reports: Path, edition: str | None) -> Formulations:
    """Find the two and compare them. Raises `UsageError`, or `ScoreError` when they share no item."""
    if len(names) != 2 or not all(map(is_formulation, names)):
        raise UsageError(
            f"found {' '.join(names)}; expected two of the form RUN#BENCHMARK, "
            "e.g. my-model#arc-easy my-model#arc-easy-letter"
        )
    first, second = (_result(name, reports, edition) for name in names)
    return compare_formulations(first, second)


def _result(name: str, reports: Path, edition: str | None) -> BenchmarkResult:
    run_name, _, slug = name.rpartition("#")
    run = RunFolder(_with_benchmark(run_name, slug, reports, edition))
    results = run.results(edition_of([run]))
    if slug not in results:
        raise UsageError(str(unknown(f"benchmark of the run {run.path}", slug, results)))
    for missing in unmeasured(name, {slug: results[slug]}):
        raise ScoreError(f"nothing to compare: {missing}")
    return results[slug]


def _with_benchmark(name: str, slug: str, reports: Path, edition: str | None) -> Path:
    """The run of this name; of several editions' the one that has the benchmark."""
    if edition is None and not (Path(name) / "score.json").exists():
        runs = [RunFolder(path.parent) for path in sorted(reports.glob(f"*/{glob.escape(name)}/score.json"))]
        having = [run.path for run in runs if slug in run.score.benchmarks]
        if len(having) == 1:
            return having[0]
        if runs and not having:
            known = [benchmark for run in runs for benchmark in run.score.benchmarks]
            raise UsageError(str(unknown(f"benchmark of the runs of {name}", slug, known)))
    return find(name, reports, edition)


def as_json(names: Sequence[str], found: Formulations) -> str:
    """All numbers, as JSON."""
    value = msgspec.to_builtins(found)
    value["names"] = list(names)
    value["difference"]["shown"] = found.difference.shown
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()


def show(names: Sequence[str], found: Formulations, list_items: bool) -> None:
    """Print both accuracies, their paired difference, and on how many items they part."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption_justify="left")
    for column in ("raw accuracy", "percent", "95% interval", "chance"):
        table.add_column(column, justify="left" if column == "raw accuracy" else "right", overflow="fold")
    rows = ((names[0], found.first, found.first_chance), (names[1], found.second, found.second_chance))
    for name, value, chance in rows:
        table.add_row(escape(name), f"{100 * value.value:.2f}", _interval(value), f"{100 * chance:.2f}")
    of = found.difference
    table.add_row(
        "first minus second",
        f"{100 * of.value:+.2f}",
        f"{100 * of.low:+.2f} to {100 * of.high:+.2f}",
        "" if of.shown else "~",
    )
    needed = "–" if found.items_needed is None else f"{found.items_needed:,}"
    table.caption = (
        f"{found.items:,} items that both have; {found.both:,} right in both, {len(found.only_first):,} better "
        f"by the first, {len(found.only_second):,} by the second. ~: not shown to differ (the paired interval "
        f"holds 0); {needed} items would show a difference of this size and spread."
    )
    console.print(table)
    if list_items:
        for title, items in (("first", found.only_first), ("second", found.only_second)):
            console.print(f"better by the {title}: {', '.join(items) or 'none'}", markup=False)


def _interval(value: Interval) -> str:
    return f"{100 * (value.low or 0):.2f} to {100 * (value.high or 0):.2f}"
