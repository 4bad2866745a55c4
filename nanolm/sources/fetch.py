"""Getting sources: from a folder, or from the hub and GitHub."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from nanolm.errors import NanoLMError, SourceError, counted
from nanolm.sources import cache, folder, github, hub
from nanolm.sources.files import FileState, states
from nanolm.sources.lock import LockedFile, Source, SourcesLock

PARALLEL = 8
"""Downloads at a time."""

_CHANGED = "a proxy or a mirror may have changed it: try again, or take it from a folder with --from"


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


def fetch(
    lock: SourcesLock,
    names: Sequence[str] | None = None,
    advance: Callable[[int], None] = lambda count: None,
    finished: Callable[[str], None] = lambda what: None,
    again: bool = False,
) -> FetchReport:
    """Download what is not held of the sources `names` (default: all), several files at a time.

    With `again` also what is held of files whose sum is not pinned yet.

    `advance` is called with bytes as they come and `finished` with each file's name, from threads.
    What can't be had is reported per source, and doesn't keep the others from coming; only a host that
    can't be reached is not tried for every file. An interrupt ends the running downloads too.
    """
    if again:
        for name in _chosen(lock, names):
            _forget_unverified(lock[name])
    wanted = [(lock[name], file) for name in _chosen(lock, names) for file in wanting(lock, name)]
    errors: dict[str, list[str]] = {}
    given_up = threading.Event()

    def go_on(count: int) -> None:
        if given_up.is_set():
            raise _GivenUp
        advance(count)

    if any(source.kind == "hub" for source, _ in wanted):
        hub.quiet()
    unreachable: set[str] = set()
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="nanolm-fetch") as pool:
        try:  # around the start too: Ctrl-C may come while threads are already downloading
            started = [
                (source, pool.submit(_download, source, file, go_on, unreachable)) for source, file in wanted
            ]
            for (source, future), (_, file) in zip(started, wanted, strict=True):
                try:
                    future.result()
                except SourceError as error:
                    errors.setdefault(source.name, []).append(str(error))
                finished(f"{source.name}/{file.path}")
        except BaseException:
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return FetchReport(
        tuple(_report(lock, name, _summed(errors.get(name, []))) for name in _chosen(lock, names))
    )


def wanting(lock: SourcesLock, name: str, again: bool = False) -> tuple[LockedFile, ...]:
    """The files of a source whose official bytes are not held; with `again` also the unpinned ones."""
    source = lock[name]
    if not source.remote:
        return ()
    return tuple(file for file in source.file if not _held(source, file) or (again and not file.verified))


def _held(source: Source, file: LockedFile) -> bool:
    known = cache.found_sum(source, file)
    return known is not None and cache.held(known.sha256, file.path, file.bytes) is not None


class _GivenUp(BaseException):
    """Ends a download from within when the fetch was interrupted; no library takes it for a failure."""


def _forget_unverified(source: Source) -> None:
    for file in source.file:
        if source.remote and not file.verified:
            cache.forget_found(source, file)
            if source.kind == "hub":
                hub.forget_held(source, file)


def _download(
    source: Source, file: LockedFile, advance: Callable[[int], None], unreachable: set[str]
) -> None:
    """One official file into the cache; a second process that wants it waits, and finds it there.

    `unreachable` holds the kinds of source whose host could not be reached, for all downloads of a fetch.
    """
    if source.kind in unreachable:
        where = "the hub" if source.kind == "hub" else github.endpoint()
        raise SourceError(f"{source.name}: {file.path} was not tried, since {where} can't be reached")
    try:
        _download_locked(source, file, advance)
    except cache.Unreachable:
        unreachable.add(source.kind)
        raise


def _download_locked(source: Source, file: LockedFile, advance: Callable[[int], None]) -> None:
    place = f"{source.kind}:{source.repository}@{source.revision}:{file.path}"
    part = cache.part_of(place)
    with cache.locked(part.with_suffix(".lock")):
        if _held(source, file):
            return
        if source.kind == "hub":
            path = hub.download(source, file, advance)
        else:
            path = github.download(source, file, part, advance)
        try:
            what = f"{source.name}: {file.path} of {source.repository}"
            known = file.sha256 if file.verified else None
            _, found = cache.keep(path, known, file.path, what, _CHANGED)
        except cache.WrongBytes:
            # Never use them again: the next try starts from nothing.
            hub.forget(path)
            raise
        if not file.verified:
            cache.note_found(source, file, found)
        if source.kind == "github":
            path.unlink(missing_ok=True)


def _summed(errors: Sequence[str]) -> tuple[str, ...]:
    """The first error of a source, and how many more files failed."""
    if len(errors) < 2:
        return tuple(errors)
    return (f"{errors[0]} (and {counted(len(errors) - 1, 'more file')} of this source failed)",)


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
