"""Fetching an edition's sources and building its items, and the report of it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.editions.items import load_ids
from nanolm.editions.over_long import still_open
from nanolm.editions.read import called, sources_of
from nanolm.errors import NanoLMError, unknown
from nanolm.sources import cache
from nanolm.sources.fetch import FetchReport, SourceReport, fetch, fetch_from, wanting
from nanolm.sources.lock import SourcesLock


class BenchmarkReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a benchmark's items could be built."""

    benchmark: str
    items: int | None
    """None: not built."""
    expected: int
    error: str = ""
    note: str = ""
    """Why it is not built although nothing is wrong."""


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
    progress: bool = False,
    again: bool = False,
) -> EditionReport:
    """Get the sources of these benchmarks (default: all) and build their items into the cache.

    With `from_folder` from there, else from the hub and GitHub, with a progress line if `progress`; with
    `again` also what is held of files whose sum is not pinned yet. Raises `SourceError` where the cache
    folder can't be made or written.
    """
    for slug in benchmarks:
        if slug not in edition.benchmarks:
            raise unknown(f"benchmark of {edition.name}", slug, edition.benchmarks)
    chosen = list(benchmarks) or list(edition.benchmarks)
    lock = sources_of(edition)
    names = [name for slug in chosen for name in edition.benchmarks[slug].sources]
    if not benchmarks:
        names += [corpus.source for corpus in edition.corpora.values()]
    sources = list(dict.fromkeys(names))
    cache.require_folder(to_write=any(wanting(lock, name, again) for name in sources))
    if from_folder is not None:
        report = fetch_from(lock, from_folder, sources)
    elif progress:
        report = _with_progress(lock, sources, again)
    else:
        report = fetch(lock, sources, again=again)
    complete = {source.source for source in report.sources if source.complete}
    unpinned = {
        source.source for source in report.sources if any(file.state == "unverified" for file in source.files)
    }
    built = tuple(
        _built(
            edition,
            slug,
            complete=complete.issuperset(edition.benchmarks[slug].sources),
            unpinned=bool(unpinned.intersection(edition.benchmarks[slug].sources)),
        )
        for slug in chosen
    )
    return EditionReport(edition.name, report.sources, built)


def _with_progress(lock: SourcesLock, sources: Sequence[str], again: bool) -> FetchReport:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    count = sum(len(wanting(lock, name, again)) for name in sources)
    if not count:
        return fetch(lock, sources)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[size]}"),
    )
    came = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fetching files", total=count, size="")

        def advance(size: int) -> None:
            nonlocal came
            came += size
            bar.update(task, size=f"{came / 1e6:,.1f} MB")

        return fetch(lock, sources, advance, lambda what: bar.advance(task), again)


def _built(edition: Edition, slug: str, complete: bool, unpinned: bool) -> BenchmarkReport:
    expected = edition.benchmarks[slug].items
    if not complete:
        return BenchmarkReport(benchmark=slug, items=None, expected=expected)
    try:
        return BenchmarkReport(benchmark=slug, items=len(load_ids(edition, slug)), expected=expected)
    except NanoLMError as error:
        note = _open(edition, slug)
        if note:
            return BenchmarkReport(benchmark=slug, items=None, expected=expected, note=note)
        hint = ". Its sum is not pinned yet: `nanolm fetch --again` downloads it anew" if unpinned else ""
        return BenchmarkReport(benchmark=slug, items=None, expected=expected, error=f"{error}{hint}")


def _open(edition: Edition, slug: str) -> str:
    """What is to be said of a benchmark whose over-long items are not known yet (ruling 77)."""
    try:
        more = still_open(edition, slug)
    except NanoLMError:
        return ""
    if not more:
        return ""
    command = f"nanolm edition lock {called(edition)}"
    return f"{more} more than the edition says: over-long items are found by `{command}`"
