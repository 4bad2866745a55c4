"""Which files of a source are on this machine, in which form, and in which state."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

import nanolm
from nanolm.errors import SourceError
from nanolm.sources import cache
from nanolm.sources.lock import LockedFile, MirrorForm, Source, SourcesLock
from nanolm.sources.source import SourceFile

State = Literal["verified", "mirror", "unverified", "missing", "ours"]
"""verified: the official bytes; mirror: an accepted form of the same rows; unverified: official, but
its sum is not in the lock yet; ours: written by this project or by the edition's author."""


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """A source's file, and what of it is on this machine."""

    source: str
    path: str
    state: State
    local: Path | None = None
    form: str = ""
    sha256: str = ""
    """Of the bytes that are used; empty while missing."""


def fixtures_folder() -> Path:
    """The fixtures: in an installed package `nanolm/_fixtures`, else `fixtures/` beside the package."""
    package = Path(nanolm.__file__).resolve().parent
    packed = package / "_fixtures"
    return packed if packed.is_dir() else package.parent / "fixtures"


def states(lock: SourcesLock, name: str) -> tuple[FileState, ...]:
    """The state of each file of a source, in the lock's order. Looks at names and sizes, not at bytes.

    Where the official file isn't held, the first held mirror form stands for it.
    """
    source = lock[name]
    if not source.remote:
        return tuple(_ours(lock, source, file) for file in source.file)
    found = [_state(source, file) for file in source.file]
    if any(each.state == "missing" for each in found):
        whole = next(iter(_held_mirrors(source.mirror)), None)
        if whole is not None:
            mirror, local = whole
            return tuple(_as_mirror(source, file, mirror, local) for file in source.file)
    return tuple(found)


def _own_place(lock: SourcesLock, source: Source, file: LockedFile) -> Path:
    """Where a file that is not fetched has to lie."""
    return (fixtures_folder() if source.kind == "fixtures" else lock.path.parent) / file.path


def _ours(lock: SourcesLock, source: Source, file: LockedFile) -> FileState:
    local = _own_place(lock, source, file)
    if not local.is_file():
        return FileState(source=source.name, path=file.path, state="missing")
    found = cache.sum_of(local)
    advice = f"put back the file that was pinned, or pin this one in {lock.path}"
    if file.verified and found.sha256 != file.sha256:
        raise cache.wrong_bytes(f"{source.name}: {local}", found, file.sha256, advice)
    if file.bytes not in (None, found.bytes):
        raise SourceError(
            f"{source.name}: {local} has {found.bytes:,} bytes, expected {file.bytes:,}; {advice}"
        )
    return FileState(
        source=source.name,
        path=file.path,
        state="ours",
        local=local,
        form="custom" if source.kind == "custom" else "official",
        sha256=found.sha256,
    )


def _state(source: Source, file: LockedFile) -> FileState:
    known = cache.found_sum(source, file)
    local = cache.held(known.sha256, file.path, file.bytes) if known else None
    if known and local:
        return FileState(
            source=source.name,
            path=file.path,
            state="verified" if file.verified else "unverified",
            local=local,
            form="official",
            sha256=known.sha256,
        )
    for mirror, place in _held_mirrors(file.mirror):
        return _as_mirror(source, file, mirror, place)
    return FileState(source=source.name, path=file.path, state="missing")


def _held_mirrors(mirrors: Iterable[MirrorForm]) -> Iterator[tuple[MirrorForm, Path]]:
    for mirror in mirrors:
        place = cache.held(mirror.sha256, mirror.path, mirror.bytes)
        if place is not None:
            yield mirror, place


def _as_mirror(source: Source, file: LockedFile, mirror: MirrorForm, place: Path) -> FileState:
    return FileState(
        source=source.name,
        path=file.path,
        state="mirror",
        local=place,
        form=mirror.form,
        sha256=mirror.sha256,
    )


def own_missing(lock: SourcesLock, name: str) -> str:
    """What is to be said of the first file that is not there and that nothing fetches; else empty."""
    source = lock[name]
    for file in () if source.remote else source.file:
        place = _own_place(lock, source, file)
        if not place.is_file():
            why = "is a link that leads to no file" if place.is_symlink() else "is not there"
            return (
                f"{name}: {place} {'is no file' if place.exists() else why}; it is the edition's own and "
                f"can't be fetched. Put it there, or mend {lock.path}"
            )
    return ""


def held_files(lock: SourcesLock, names: Sequence[str], command: str) -> tuple[FileState, ...]:
    """All files of these sources, or a `SourceError` that names what is missing and `command`, which gets
    it; a file of the edition's own is nowhere to be got, and its place is named.

    A mirror form that stands for several files is given once.
    """
    found: list[FileState] = []
    missing: list[str] = []
    for name in names:
        own = own_missing(lock, name)
        if own:
            raise SourceError(f"missing data: {own}")
        for state in states(lock, name):
            if state.state == "missing":
                missing.append(f"{name}: {state.path}")
            elif not any(state.local == each.local for each in found):
                found.append(state)
    if missing:
        shown = "; ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise SourceError(f"missing data: {shown}. Get it with `{command}`")
    return tuple(found)


def source_file(state: FileState) -> SourceFile:
    """The file as a benchmark's module takes it."""
    assert state.local is not None
    return SourceFile(source=state.source, name=state.path, local=state.local, form=state.form)
