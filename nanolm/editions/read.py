"""Strict reading of an edition's folder."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions import check, exclusions
from nanolm.editions.edition import Category, Edition
from nanolm.editions.edition_file import (
    DEFAULTS,
    FOR_READERS,
    PATCH_KEYS,
    CustomFile,
    EditionFile,
    PatchFile,
)
from nanolm.editions.frozen import NAME, read_frozen
from nanolm.errors import EditionError, UsageError, unknown
from nanolm.sources import tables
from nanolm.sources.lock import SourcesLock, read_lock

EDITIONS = Path(__file__).parent
"""Where the package's own editions lie: a folder each, underscores for hyphens."""


def names() -> tuple[str, ...]:
    """The names of the package's editions."""
    found = (path.parent.name.replace("_", "-") for path in EDITIONS.glob("*/edition.toml"))
    return tuple(sorted(found))


def load(name_or_folder: str | Path, any_name: bool = False) -> Edition:
    """The edition of this name, or the one in this folder.

    A folder elsewhere can't have the name of one of the package's editions, unless `any_name`, for
    comparing the two.

    Raises `UsageError` for a name that does not exist (close matches named) and `EditionError`,
    naming file, table and key, for a folder that can't be read or contradicts itself.
    """
    return _load(name_or_folder, (), any_name)


def _load(name_or_folder: str | Path, heirs: tuple[Path, ...], any_name: bool = False) -> Edition:
    folder = _folder(name_or_folder, heirs[-1] if heirs else None)
    if folder in heirs:
        raise EditionError(f"{folder / 'edition.toml'}: inherits from itself, through {heirs[-1]}")
    path = folder / "edition.toml"
    table = tables.read(path)
    if isinstance(table.get("name"), str):
        taken = () if any_name or packaged(folder) else names()
        longest = check.LONGEST_OF_FILE if "custom_of" in table else check.LONGEST_NAME
        check.name(table["name"], path, taken, longest)
    if "inherits" in table:
        return _patch(table, path, (*heirs, folder))
    if "custom_of" in table:
        return _custom(table, path, (*heirs, folder))
    return _whole(table, path)


def _folder(name_or_folder: str | Path, heir: Path | None) -> Path:
    """Absolute, without symbolic links, so that every process agrees on it."""
    text = str(name_or_folder)
    if not text.strip():
        raise UsageError(f"the edition's name is empty; expected one of {', '.join(names())}, or a folder")
    if isinstance(name_or_folder, str) and text in names():
        return (EDITIONS / text.replace("-", "_")).resolve()
    folder = Path(text).expanduser()
    if heir is not None and not folder.is_absolute():
        folder = heir / folder
    file = folder / "edition.toml"
    if file.is_file():
        return folder.resolve()
    if folder.is_dir() or folder.is_file() or isinstance(name_or_folder, Path) or "/" in text:
        raise EditionError(_no_folder(folder, file))
    raise unknown("edition", text, names())


def _no_folder(folder: Path, file: Path) -> str:
    if folder.is_file():
        return f"{folder} is a file; an edition is the folder that holds its edition.toml"
    if file.is_symlink():
        return f"{file} is a symbolic link that leads to no file"
    if file.is_dir():
        return f"{file} is a folder; expected a TOML file"
    if folder.is_dir():
        return f"{folder} holds no edition.toml; an edition is a folder with that file"
    return (
        f"{folder} is not there; an edition is a folder with an edition.toml, or one of {', '.join(names())}"
    )


def called(edition: Edition) -> str:
    """What a command calls the edition: its name, or its folder when it is none of the package's."""
    return edition.name if packaged(edition.folder) else str(edition.folder)


def packaged(folder: Path) -> bool:
    """Whether an edition's folder is one of the package's own."""
    return folder.parent == EDITIONS.resolve()


def _whole(table: dict[str, Any], path: Path) -> Edition:
    read = tables.convert(table, EditionFile, path)
    check.whole(read, path)
    lock = read_lock(path.parent / "sources.lock.toml")
    specs = {slug: check.benchmark(slug, row, read, lock, path) for slug, row in read.benchmark.items()}
    frozen = _frozen_parts(table, path.parent, lock, specs)
    return Edition(
        name=read.name,
        title=read.title,
        version=read.version,
        summary=read.summary,
        categories=tuple(Category(slug=slug, title=title) for slug, title in read.categories.items()),
        benchmarks=specs,
        instructions={str(kind): text for kind, text in read.instructions.items()},
        budget=read.budget,
        prompt_limit=read.prompt_limit,
        parameter_limit=read.parameter_limit,
        samples_sampled=read.samples.sampled,
        samples_greedy=read.samples.greedy,
        engine=read.engine.name,
        engine_version=read.engine.version,
        dtype=read.engine.dtype,
        extractors=read.extractors,
        folder=path.parent,
        digest=_digest(frozen),
        decoding=check.decoding(read.decoding, path),
        base_models=read.base_models,
        prompting=read.prompting,
        corpora={slug: check.corpus(slug, row, lock, path) for slug, row in read.corpus.items()},
        index_title=read.index_title,
        headline=read.headline,
        details=read.details,
        principles=read.principles,
    )


def _patch(table: dict[str, Any], path: Path, heirs: tuple[Path, ...]) -> Edition:
    for key in table:
        if key not in PATCH_KEYS:
            raise EditionError(
                f"{path}: {key!r} can't stand in an edition that inherits: items, prompts and budget are "
                f"its parent's (protocol section 10); allowed: {', '.join(sorted(PATCH_KEYS))}"
            )
    read = tables.convert(table, PatchFile, path)
    check.texts({"title": read.title, "summary": read.summary}, path)
    check.version(read.version, path, "version")
    check.extractors(read.extractors, path)
    parent = _parent("inherits", read.inherits, path, heirs)
    taken = (parent.name, *parent.ancestors)
    check.require(read.name not in taken, path, f"name = {read.name!r} is its parent's; expected a new one")
    return msgspec.structs.replace(
        parent,
        name=read.name,
        title=read.title,
        version=read.version,
        summary=read.summary,
        inherits=parent.name,
        ancestors=(parent.name, *parent.ancestors),
        extractors={**parent.extractors, **read.extractors},
        folder=path.parent,
        suite_folder=suite_folder(parent),
        digest=_digest({"parent": parent.digest, "patch": {**table, "title": "", "summary": ""}}),
    )


def _parent(key: str, name: str, path: Path, heirs: tuple[Path, ...]) -> Edition:
    """The edition that `key` names; what is wrong with the name is said with the file that has it."""
    try:
        return _load(name, heirs)
    except UsageError as error:
        raise EditionError(f"{path}: {key}: {error}") from None


def _custom(table: dict[str, Any], path: Path, heirs: tuple[Path, ...]) -> Edition:
    """The edition whose items come from a file in this folder: its own lock, no exclusions, not frozen."""
    read = tables.convert(table, CustomFile, path)
    parent = _parent("custom_of", read.custom_of, path, heirs)
    check.require(
        set(read.items) == set(parent.benchmarks) and min(read.items.values()) >= 1,
        path,
        f"[items] = {read.items}; expected a number for each benchmark of {parent.name}: "
        f"{', '.join(parent.benchmarks)}",
    )
    lock = read_lock(path.parent / "sources.lock.toml")
    for name in {name for spec in parent.benchmarks.values() for name in spec.sources}:
        check.named("source", name, lock.sources, lock.path)
    specs = {
        slug: msgspec.structs.replace(spec, items=read.items[slug], published_chance=None)
        for slug, spec in parent.benchmarks.items()
    }
    files = {
        name: [(file.path, file.sha256) for file in source.file] for name, source in lock.sources.items()
    }
    return msgspec.structs.replace(
        parent,
        name=read.name,
        title=read.title,
        version=read.version,
        summary=read.summary,
        benchmarks=specs,
        folder=path.parent,
        inherits=None,
        suite_folder=None,
        custom_of=parent.name,
        digest=_digest({"parent": parent.digest, "files": files}),
    )


def suite_folder(edition: Edition) -> Path:
    """The folder whose suite, sources and frozen items hold: a patch edition's are its ancestor's."""
    return edition.suite_folder or edition.folder


def sources_of(edition: Edition) -> SourcesLock:
    """The edition's `sources.lock.toml`."""
    return read_lock(suite_folder(edition) / "sources.lock.toml")


def _frozen_parts(
    table: dict[str, Any], folder: Path, lock: SourcesLock, benchmarks: Collection[str]
) -> dict[str, Any]:
    """All that decides a number: the suite and its texts, exclusions, pins and the frozen items.

    Sums and mirror forms are not part of it: they say how to get the same rows.
    """
    suite = {
        key: value for key, value in table.items() if key not in FOR_READERS and DEFAULTS.get(key) != value
    }
    pins = {
        name: [source.kind, source.repository, source.revision, [file.path for file in source.file]]
        for name, source in lock.sources.items()
    }
    excluded = folder / exclusions.FILE
    listed = tables.read(excluded) if excluded.exists() else {}
    exclusions.of_table(listed, excluded, benchmarks)
    frozen = read_frozen(folder)
    for slug in frozen.benchmarks if frozen else ():
        check.named("benchmark", slug, benchmarks, folder / NAME)
    return {
        "suite": suite,
        "pins": pins,
        "exclusions": listed,
        "frozen": {slug: each.digest for slug, each in frozen.benchmarks.items()} if frozen else {},
    }


def _digest(parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]
