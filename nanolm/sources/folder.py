"""Taking source files from a folder: official paths or mirror forms, sums checked."""

import os
from pathlib import Path

from nanolm.errors import SourceError
from nanolm.sources import cache
from nanolm.sources.lock import LockedFile, Source


def take(source: Source, folder: Path) -> int:
    """Copy what `folder` has of a source into the cache; how many files were taken.

    An official file is looked for at its `local` path, at `<source>/<path>`, at
    `<repository>/<path>` and at `<path>`; a mirror form at its own path. A file that is there with
    other bytes is a `SourceError`; the plain `<path>` counts only with the right bytes, since names
    like `test.jsonl` are common.
    """
    mirrors = {
        mirror.path: mirror
        for mirror in (*source.mirror, *(mirror for file in source.file for mirror in file.mirror))
    }
    taken = sum(_take_official(source, file, folder, set(mirrors)) for file in source.file)
    for mirror in mirrors.values():
        place = folder / mirror.path
        if _is_there(place):
            what = f"{source.name}: {place} (form {mirror.form})"
            cache.keep(place, mirror.sha256, mirror.path, what)
            taken += 1
    return taken


def _take_official(source: Source, file: LockedFile, folder: Path, mirror_paths: set[str]) -> int:
    if not file.verified:
        # Nobody can say whether the folder's bytes are the official ones; only a download can.
        return 0
    named = {file.local, f"{source.name}/{file.path}", f"{source.repository}/{file.path}"} - {
        "",
        *mirror_paths,
    }
    for path in sorted(named):
        place = folder / path
        if _is_there(place):
            cache.keep(place, file.sha256, file.path, f"{source.name}: {place}")
            return 1
    plain = folder / file.path
    if plain.is_file() and cache.sum_of(plain).sha256 == file.sha256:
        cache.keep(plain, file.sha256, file.path, f"{source.name}: {plain}")
        return 1
    return 0


def _is_there(place: Path) -> bool:
    """Whether a file lies at its own place; `SourceError` for what is there and is no file."""
    if place.is_file():
        return True
    if os.path.lexists(place):
        what = "a folder" if place.is_dir() else "a broken link" if place.is_symlink() else "no plain file"
        raise SourceError(f"{place} is {what}; expected the file itself there, or nothing")
    return False
