"""The cache of source files: content-addressed, written atomically, safe for several processes.

<cache>/sources/<sha256>/<file name>          bytes that had this sum when they were put there
<cache>/sources/found/<key>.json              the sum of an official file whose sum was not known
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from nanolm.errors import SourceError
from nanolm.sources.lock import LockedFile, Source

_BLOCK = 1 << 20


class WrongBytes(SourceError):
    """A file whose bytes are not the pinned ones."""


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
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
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


def keep(source: Path, sha256: str | None, name: str, what: str) -> tuple[Path, Sum]:
    """Copy `source` into the cache, checking the copied bytes against `sha256` (None: not known).

    Wrong bytes never enter the cache: `SourceError` with both sums, `what` saying which file it is.
    """
    folder = cache_folder() / "sources"
    with full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".incoming-")
        try:
            digest, size = hashlib.sha256(), 0
            with os.fdopen(descriptor, "wb") as target, source.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                    target.write(block)
                target.flush()
                os.fsync(target.fileno())
            found = Sum(digest.hexdigest(), size)
            if sha256 is not None and found.sha256 != sha256:
                raise wrong_bytes(what, found, sha256)
            place = place_of(found.sha256, name)
            place.parent.mkdir(exist_ok=True)
            os.chmod(temporary, 0o644)
            os.replace(temporary, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    return place, found


def wrong_bytes(what: str, found: Sum, expected: str) -> WrongBytes:
    """The error for bytes that are not the pinned ones."""
    return WrongBytes(
        f"wrong bytes: {what} has sha256 {found.sha256} ({found.bytes:,} bytes), expected {expected}. "
        "It was refused; check where it came from, or get the official file with `nanolm fetch`"
    )


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Turn a file system's refusal into a `SourceError` that says what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError | InterruptedError) or error.errno is None:
            raise
        raise SourceError(
            f"can't write below {folder}: {error.strerror or error}. Make room, or name another folder "
            "with NANOLM_CACHE"
        ) from error


def _found_file(source: Source, file: LockedFile) -> Path:
    key = f"{source.kind}:{source.repository}@{source.revision}:{file.path}"
    return cache_folder() / "sources" / "found" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def note_found(source: Source, file: LockedFile, found: Sum) -> None:
    """Remember the sum that an official file of unknown sum had when it was downloaded."""
    place = _found_file(source, file)
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
