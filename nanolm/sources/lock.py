"""`sources.lock.toml`: where each source's files come from and which bytes they must have."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from nanolm.errors import EditionError
from nanolm.sources import tables

UNVERIFIED = "unverified"
"""Stands for a sum that is not known until the first official download (`nanolm edition lock`)."""

Kind = Literal["hub", "github", "fixtures", "folder", "custom"]
"""A hub repository, a GitHub repository at a commit, the package's `fixtures/`, the edition's folder; or a
file of somebody's own in that folder, in place of the edition's."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_FORM = re.compile(r"[a-z0-9][a-z0-9-]*")


class MirrorForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same rows in another layout, accepted from a folder only."""

    form: str
    """The name that the benchmark's module knows the layout by."""
    path: str
    """Below the folder given to `nanolm fetch --from`."""
    sha256: str
    bytes: int | None = None
    note: str = ""
    """Where the mirror comes from."""


class LockedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a source: where it stands and which bytes it must have."""

    path: str
    """In the source's repository at its revision."""
    sha256: str = UNVERIFIED
    """Of the official bytes; `unverified` until the first official download."""
    bytes: int | None = None
    local: str = ""
    """Where the official bytes lie below a folder given to `--from`, when not under `path`."""
    mirror: tuple[MirrorForm, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether the official sum is known."""
        return self.sha256 != UNVERIFIED


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[source.<name>]` table."""

    name: str
    kind: Kind
    file: tuple[LockedFile, ...]
    repository: str = ""
    """`owner/name`."""
    repo_type: Literal["dataset", "model"] = "dataset"
    """hub: what kind of repository it is."""
    revision: str = ""
    """The commit, 40 hex digits."""
    mirror: tuple[MirrorForm, ...] = ()
    """Forms that stand for all files of the source together."""
    licence_protocol: str = ""
    """As the protocol states it, and as the repository's own file does (ruling 80)."""
    licence_repository: str = ""
    note: str = ""

    @property
    def remote(self) -> bool:
        """Whether it has to be fetched at all."""
        return self.kind in ("hub", "github")


class SourcesLock(msgspec.Struct, frozen=True, kw_only=True):
    """All sources of an edition."""

    path: Path
    """The `sources.lock.toml` it was read from."""
    sources: Mapping[str, Source]

    def __getitem__(self, name: str) -> Source:
        return self.sources[name]


class _Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: dict[str, dict[str, object]] = {}


def read_lock(path: Path) -> SourcesLock:
    """Read and check a `sources.lock.toml`; `EditionError` names file, source and key."""
    lock = tables.convert(tables.read(path), _Lock, path)
    sources: dict[str, Source] = {}
    for name, table in lock.source.items():
        where = f"source.{name}"
        source = tables.convert(table, Source, path, where, name=name)
        _check(source, path, where)
        sources[name] = source
    return SourcesLock(path=path, sources=sources)


def _check(source: Source, path: Path, where: str) -> None:
    def refuse(text: str) -> None:
        raise EditionError(f"{path}: [{where}] {text}")

    if not source.file:
        refuse("has no [[file]] tables; a source needs at least one file")
    if source.remote and source.repository.count("/") != 1:
        refuse(f"repository = {source.repository!r}; expected owner/name")
    if source.remote and not _REVISION.fullmatch(source.revision):
        refuse(f"revision = {source.revision!r}; expected a commit of 40 hex digits (everything is pinned)")
    seen: set[str] = set()
    for file in source.file:
        if file.path in seen:
            refuse(f"file {file.path!r} stands twice")
        seen.add(file.path)
        for key, value in (("path", file.path), ("local", file.local)):
            if (value or key == "path") and not _inside(value):
                refuse(f"{key} = {value!r}; expected a relative path without '..'")
        if file.bytes is not None and file.bytes < 1:
            refuse(f"file {file.path!r}: bytes = {file.bytes}; expected at least 1")
        if file.verified and not _SHA256.fullmatch(file.sha256):
            refuse(f"file {file.path!r}: sha256 = {file.sha256!r}; expected 64 hex digits or {UNVERIFIED!r}")
    for mirror in (*source.mirror, *(mirror for file in source.file for mirror in file.mirror)):
        if mirror.form == "official" or not _FORM.fullmatch(mirror.form):
            refuse(f"mirror form {mirror.form!r}; expected lower-case words with hyphens, not 'official'")
        if not _inside(mirror.path):
            refuse(f"mirror path = {mirror.path!r}; expected a relative path without '..'")
        if mirror.bytes is not None and mirror.bytes < 1:
            refuse(f"mirror {mirror.path!r}: bytes = {mirror.bytes}; expected at least 1")
        if not _SHA256.fullmatch(mirror.sha256):
            refuse(f"mirror {mirror.path!r}: sha256 = {mirror.sha256!r}; expected 64 hex digits")


def _inside(path: str) -> bool:
    """A relative path that stays below its folder, on every platform."""
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and not path.startswith("/")
        and ".." not in parts
        and path.isprintable()
        and "\\" not in path
    )
