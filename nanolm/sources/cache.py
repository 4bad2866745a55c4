"""The cache of source files: content-addressed, written atomically, safe for several processes.

<cache>/sources/<sha256>/<file name>          bytes that had this sum when they were put there
<cache>/sources/found/<key>.json              the sum of an official file whose sum was not known
"""

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
from filelock import FileLock

from nanolm.errors import SourceError
from nanolm.sources.lock import LockedFile, Source

_BLOCK = 1 << 20

FULL = (errno.ENOSPC, errno.EDQUOT)
CHECK_ORIGIN = "check where it came from, or get the official file with `nanolm fetch`"


class WrongBytes(SourceError):
    """A file whose bytes are not the pinned ones."""


class Unreachable(SourceError):
    """A host that no connection can be made to."""


class Sum(msgspec.Struct, frozen=True):
    """What identifies bytes."""

    sha256: str
    bytes: int


def cache_folder() -> Path:
    """`NANOLM_CACHE`, or the platform's cache folder for nanolm. Not created here."""
    named = os.environ.get("NANOLM_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("nanolm"))


def sum_of(path: Path) -> Sum:
    """SHA-256 and size of a file, read in blocks."""
    digest = hashlib.sha256()
    size = 0
    for block in _blocks(path):
        digest.update(block)
        size += len(block)
    return Sum(digest.hexdigest(), size)


def place_of(sha256: str, path: str) -> Path:
    """Where the bytes with this sum lie (or would lie); the name is kept, it says the format."""
    return cache_folder() / "sources" / sha256 / PurePosixPath(path).name


def held(sha256: str, path: str, size: int | None = None) -> Path | None:
    """The cached file with this sum, or None. Looks at its size, not at its bytes (see `verify`)."""
    place = place_of(sha256, path)
    try:
        found = place.stat().st_size
    except OSError:
        return None
    return place if size is None or size == found else None


def verify(path: Path, sha256: str) -> None:
    """Raise `SourceError` when a cached file no longer has its sum; the file is removed, so that the
    next fetch gets it anew."""
    found = sum_of(path)
    if found.sha256 != sha256:
        path.unlink(missing_ok=True)
        raise SourceError(
            f"{path} was changed: sha256 {found.sha256}, expected {sha256}. It has been removed; "
            "get it again with `nanolm fetch`"
        )


def keep(
    source: Path, sha256: str | None, name: str, what: str, advice: str = CHECK_ORIGIN
) -> tuple[Path, Sum]:
    """Copy `source` into the cache, checking the copied bytes against `sha256` (None: not known).

    Wrong bytes never enter the cache: `WrongBytes` with both sums, `what` saying which file it is and
    `advice` what to do about it.
    """
    folder = cache_folder() / "sources"
    with full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".incoming-")
        try:
            digest, size = hashlib.sha256(), 0
            with os.fdopen(descriptor, "wb") as target:
                for block in _blocks(source):
                    digest.update(block)
                    size += len(block)
                    target.write(block)
                target.flush()
                os.fsync(target.fileno())
            found = Sum(digest.hexdigest(), size)
            if sha256 is not None and found.sha256 != sha256:
                raise wrong_bytes(what, found, sha256, advice)
            place = place_of(found.sha256, name)
            place.parent.mkdir(exist_ok=True)
            os.chmod(temporary, 0o644)
            os.replace(temporary, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    return place, found


def _blocks(source: Path) -> Iterator[bytes]:
    """A file in blocks; `SourceError` when it can't be read, which is no fault of the cache's disk."""
    try:
        with source.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise SourceError(f"{source} can't be read: {error.strerror or error}") from error


def wrong_bytes(what: str, found: Sum, expected: str, advice: str = CHECK_ORIGIN) -> WrongBytes:
    """The error for bytes that are not the pinned ones."""
    return WrongBytes(
        f"wrong bytes: {what} has sha256 {found.sha256} ({found.bytes:,} bytes), expected {expected}. "
        f"It was refused; {advice}"
    )


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn a file system's refusal into a `SourceError` that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in FULL
        raise SourceError(
            f"can't write below {folder}: {error.strerror or error}. "
            f"{'Make room, or name' if full else 'Name'} another folder with NANOLM_CACHE"
        ) from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`, its folder made; `SourceError` where none can be made."""
    lock = FileLock(path)
    with full_disk(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _found_file(source: Source, file: LockedFile) -> Path:
    key = f"{source.kind}:{source.repository}@{source.revision}:{file.path}"
    return cache_folder() / "sources" / "found" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def note_found(source: Source, file: LockedFile, found: Sum) -> None:
    """Remember the sum that an official file of unknown sum had when it was downloaded."""
    place = _found_file(source, file)
    with full_disk(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, msgspec.json.encode(found))


def found_sum(source: Source, file: LockedFile) -> Sum | None:
    """The sum of an official file, from the lock or from its first official download."""
    if file.verified:
        return Sum(file.sha256, file.bytes or 0)
    try:
        return msgspec.json.decode(_found_file(source, file).read_bytes(), type=Sum)
    except (OSError, msgspec.DecodeError):
        return None


def forget_found(source: Source, file: LockedFile) -> None:
    """Forget an official file of unknown sum, so that it is downloaded anew."""
    _found_file(source, file).unlink(missing_ok=True)


def part_of(place: str) -> Path:
    """Where an unfinished download from this place lies."""
    return cache_folder() / "sources" / "parts" / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.part"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or nothing; readers and other writers never see half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def require_folder(to_write: bool) -> None:
    """Make the cache folder; with `to_write` also try to write there.

    Raises `SourceError`: said once, before every file would fail for the same reason.
    """
    place = cache_folder()
    with full_disk(place):
        place.mkdir(parents=True, exist_ok=True)
        if to_write:
            with tempfile.TemporaryFile(dir=place):
                pass
