"""Getting sources: from a folder, or from the hub and GitHub."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanolm.errors import NanoLMError, SourceError
from nanolm.sources import cache, folder
from nanolm.sources.files import FileState, states
from nanolm.sources.lock import SourcesLock


class SourceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is had of one source after a fetch."""

    source: str
    files: tuple[FileState, ...]
    errors: tuple[str, ...] = ()
    """What went wrong while getting it; wrong bytes are always here."""

    @property
    def missing(self) -> tuple[FileState, ...]:
        """The files that nothing stands for."""
        return tuple(file for file in self.files if file.state == "missing")

    @property
    def complete(self) -> bool:
        """Whether its items can be built."""
        return not self.missing


class FetchReport(msgspec.Struct, frozen=True):
    """What is had of all sources after a fetch."""

    sources: tuple[SourceReport, ...]

    @property
    def errors(self) -> tuple[str, ...]:
        """All errors, in the order of the sources."""
        return tuple(error for source in self.sources for error in source.errors)

    @property
    def complete(self) -> bool:
        """Whether every source is had."""
        return all(source.complete for source in self.sources)


def fetch_from(lock: SourcesLock, place: Path, names: Sequence[str] | None = None) -> FetchReport:
    """Take what the folder `place` has of the sources `names` (default: all).

    Official files and mirror forms are copied into the cache, every sum checked. Wrong bytes are
    refused and reported; nothing else is an error: what the folder lacks is reported as missing.
    """
    if not place.is_dir():
        raise SourceError(f"{place} is not a folder; --from takes a folder of source files")
    reports = []
    for name in _chosen(lock, names):
        errors: tuple[str, ...] = ()
        if lock[name].remote:
            try:
                folder.take(lock[name], place)
            except SourceError as error:
                errors = (str(error),)
        reports.append(_report(lock, name, errors))
    return FetchReport(tuple(reports))


def _chosen(lock: SourcesLock, names: Sequence[str] | None) -> Sequence[str]:
    return list(lock.sources) if names is None else names


def _report(lock: SourcesLock, name: str, errors: tuple[str, ...] = ()) -> SourceReport:
    """The state after getting it, the held bytes checked once more."""
    try:
        found = states(lock, name)
        for state in found:
            if lock[name].remote and state.local is not None:
                cache.verify(state.local, state.sha256)
    except NanoLMError as error:
        errors = (*errors, str(error))
        found = tuple(FileState(source=name, path=file.path, state="missing") for file in lock[name].file)
    return SourceReport(source=name, files=found, errors=errors)
