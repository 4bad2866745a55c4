"""Fetching an edition's sources and building its items, and the report of it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.editions.items import fetch_command, load_ids
from nanolm.editions.read import sources_of
from nanolm.errors import NanoLMError, unknown
from nanolm.sources.fetch import FetchReport, SourceReport, fetch_from


class BenchmarkReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a benchmark's items could be built."""

    benchmark: str
    items: int | None
    """None: not built."""
    expected: int
    error: str = ""


class EditionReport(msgspec.Struct, frozen=True):
    """What is had of an edition after a fetch."""

    edition: str
    sources: tuple[SourceReport, ...]
    benchmarks: tuple[BenchmarkReport, ...]

    @property
    def errors(self) -> tuple[str, ...]:
        """Wrong bytes, failed downloads, rows that are no items; missing data is not among them."""
        return (
            *(error for source in self.sources for error in source.errors),
            *(each.error for each in self.benchmarks if each.error),
        )


def fetch_edition(
    edition: Edition,
    benchmarks: Sequence[str] = (),
    from_folder: Path | None = None,
    quiet: bool = False,
) -> EditionReport:
    """Get the sources of these benchmarks (default: all) and build their items into the cache."""
    for slug in benchmarks:
        if slug not in edition.benchmarks:
            raise unknown(f"benchmark of {edition.name}", slug, edition.benchmarks)
    chosen = list(benchmarks) or list(edition.benchmarks)
    lock = sources_of(edition)
    sources = list(dict.fromkeys(name for slug in chosen for name in edition.benchmarks[slug].sources))
    assert from_folder is not None
    report: FetchReport = fetch_from(lock, from_folder, sources)
    complete = {source.source for source in report.sources if source.complete}
    built = tuple(
        _built(edition, slug, complete.issuperset(edition.benchmarks[slug].sources)) for slug in chosen
    )
    return EditionReport(edition.name, report.sources, built)


def _built(edition: Edition, slug: str, complete: bool) -> BenchmarkReport:
    expected = edition.benchmarks[slug].items
    if not complete:
        return BenchmarkReport(benchmark=slug, items=None, expected=expected)
    try:
        return BenchmarkReport(benchmark=slug, items=len(load_ids(edition, slug)), expected=expected)
    except NanoLMError as error:
        return BenchmarkReport(benchmark=slug, items=None, expected=expected, error=str(error))


def report_json(report: EditionReport) -> str:
    """The report as JSON text."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def print_report(edition: Edition, report: EditionReport) -> None:
    """A table of sources, a table of benchmarks, the errors, and what to do about missing data."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title=f"Sources of {edition.title}", title_justify="left")
    for column in ("source", "files", "state"):
        table.add_column(column, justify="right" if column == "files" else "left")
    for source in report.sources:
        count: dict[str, int] = {}
        for file in source.files:
            count[file.state] = count.get(file.state, 0) + 1
        state = ", ".join(f"{number} {name}" for name, number in count.items())
        table.add_row(source.source, str(len(source.files)), state)
    console.print(table)
    items = Table(title="Items", title_justify="left")
    for column in ("benchmark", "items", "expected"):
        items.add_column(column, justify="left" if column == "benchmark" else "right")
    for each in report.benchmarks:
        had = "-" if each.items is None else f"{each.items:,}"
        items.add_row(each.benchmark, had, f"{each.expected:,}")
    console.print(items)
    for error in report.errors:
        console.print(f"[bold red]error[/]: {error}", soft_wrap=True)
    missing = [source.source for source in report.sources if not source.complete]
    if missing:
        console.print(
            f"Missing: {', '.join(missing)}. Get them with: {fetch_command(edition)}", soft_wrap=True
        )
