"""Strict reading of an edition's folder."""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import BenchmarkSpec, Category, Corpus, Edition
from nanolm.editions.edition_file import (
    DEFAULTS,
    FOR_READERS,
    PATCH_KEYS,
    CustomFile,
    DecodingTable,
    EditionFile,
    PatchFile,
)
from nanolm.editions.frozen import read_frozen
from nanolm.errors import EditionError, UsageError, unknown
from nanolm.schema import Decoding
from nanolm.sources import tables
from nanolm.sources.lock import SourcesLock, read_lock

EDITIONS = Path(__file__).parent
"""Where the package's own editions lie: a folder each, underscores for hyphens."""

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")
"""An edition's: a folder of reports, too."""


def names() -> tuple[str, ...]:
    """The names of the package's editions."""
    found = (path.parent.name.replace("_", "-") for path in EDITIONS.glob("*/edition.toml"))
    return tuple(sorted(found))


def load(name_or_folder: str | Path) -> Edition:
    """The edition of this name, or the one in this folder.

    Raises `UsageError` for a name that does not exist (close matches named) and `EditionError`,
    naming file, table and key, for a folder that can't be read or contradicts itself.
    """
    return _load(name_or_folder, ())


def _load(name_or_folder: str | Path, heirs: tuple[Path, ...]) -> Edition:
    folder = _folder(name_or_folder, heirs[-1] if heirs else None)
    if folder in heirs:
        raise EditionError(f"{folder / 'edition.toml'}: inherits from itself, through {heirs[-1]}")
    path = folder / "edition.toml"
    table = tables.read(path)
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
    if (folder / "edition.toml").is_file():
        return folder.resolve()
    if folder.is_dir() or isinstance(name_or_folder, Path) or "/" in text:
        raise EditionError(f"{folder} holds no edition.toml; an edition is a folder with that file")
    raise unknown("edition", text, names())


def _whole(table: dict[str, Any], path: Path) -> Edition:
    read = tables.convert(table, EditionFile, path)
    _require(
        bool(_NAME.fullmatch(read.name)),
        path,
        f"name = {read.name!r}; expected lower-case words with hyphens or dots, as in nano-lm-v1.0.1",
    )
    for key, value in (
        ("budget", read.budget),
        ("prompt_limit", read.prompt_limit),
        ("parameter_limit", read.parameter_limit),
        ("samples.sampled", read.samples.sampled),
        ("samples.greedy", read.samples.greedy),
    ):
        _require(value > 0, path, f"{key} = {value}; expected at least 1")
    _require(bool(read.categories), path, "[categories] is empty")
    _require(bool(read.benchmark), path, "there is no [benchmark.<slug>] table")
    for slug in (*read.categories, *read.benchmark):
        _require(bool(_SLUG.fullmatch(slug)), path, f"slug {slug!r}; expected lower-case words-with-hyphens")
    lock = read_lock(path.parent / "sources.lock.toml")
    specs = {slug: _spec(slug, row, read, lock, path) for slug, row in read.benchmark.items()}
    frozen = _frozen_parts(table, path.parent, lock)
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
        decoding=_decoding(read.decoding, path),
        base_models=read.base_models,
        prompting=read.prompting,
        corpora={slug: _corpus(slug, row, lock, path) for slug, row in read.corpus.items()},
        index_title=read.index_title,
        headline=read.headline,
        details=read.details,
        principles=read.principles,
    )


def _spec(slug: str, row: dict[str, Any], read: EditionFile, lock: SourcesLock, path: Path) -> BenchmarkSpec:
    where = f"benchmark.{slug}"
    _require("slug" not in row, path, f"[{where}] unknown key 'slug'; the slug is the table's name")
    spec = tables.convert({"slug": slug, **row}, BenchmarkSpec, path, where)
    if spec.category not in read.categories:
        raise EditionError(f"{path}: [{where}] {unknown('category', spec.category, read.categories)}")
    _require(spec.items > 0, path, f"[{where}] items = {spec.items}; expected at least 1")
    _require(
        spec.module.isidentifier(), path, f"[{where}] module = {spec.module!r}; expected a module's name"
    )
    _require(bool(spec.sources), path, f"[{where}] sources is empty; expected names of {lock.path.name}")
    for name in spec.sources:
        if name not in lock.sources:
            raise EditionError(
                f"{path}: [{where}] {unknown(f'source of {lock.path.name}', name, lock.sources)}"
            )
    if spec.answer_type == "likeliest":
        _require(bool(spec.continuation), path, f"[{where}] continuation is empty; expected what is scored")
    elif spec.answer_type not in read.instructions:
        raise EditionError(
            f"{path}: [{where}] answer_type = {spec.answer_type!r} has no text in [instructions]"
        )
    clip = spec.clip
    _require(clip is None or clip > 0, path, f"[{where}] clip = {clip}; expected at least 1 token")
    chance = spec.published_chance
    _require(
        chance is None or 0 <= chance < 1, path, f"[{where}] published_chance = {chance}; expected 0 to 1"
    )
    return spec


def _corpus(slug: str, row: dict[str, Any], lock: SourcesLock, path: Path) -> Corpus:
    where = f"corpus.{slug}"
    _require("slug" not in row, path, f"[{where}] unknown key 'slug'; the slug is the table's name")
    found = tables.convert({"slug": slug, **row}, Corpus, path, where)
    if found.source not in lock.sources:
        raise EditionError(
            f"{path}: [{where}] {unknown(f'source of {lock.path.name}', found.source, lock.sources)}"
        )
    return found


def _decoding(read: DecodingTable | None, path: Path) -> Decoding | None:
    """The decoding that the edition prescribes, with values that mean something."""
    if read is None:
        return None
    for key, holds, expected in (
        ("temperature", read.temperature >= 0, "at least 0, which is greedy"),
        ("top_p", 0 < read.top_p <= 1, "above 0 and at most 1"),
        ("top_k", read.top_k >= 0, "at least 0, which is off"),
        ("min_p", 0 <= read.min_p <= 1, "from 0 to 1"),
        ("repetition_penalty", read.repetition_penalty > 0, "above 0; 1 is off"),
    ):
        _require(holds, path, f"[decoding] {key} = {getattr(read, key)}; expected {expected}")
    return Decoding(**msgspec.structs.asdict(read))


def _require(holds: bool, path: Path, text: str) -> None:
    if not holds:
        raise EditionError(f"{path}: {text}")


def _patch(table: dict[str, Any], path: Path, heirs: tuple[Path, ...]) -> Edition:
    for key in table:
        if key not in PATCH_KEYS:
            raise EditionError(
                f"{path}: {key!r} can't stand in an edition that inherits: items, prompts and budget are "
                f"its parent's (protocol section 10); allowed: {', '.join(sorted(PATCH_KEYS))}"
            )
    read = tables.convert(table, PatchFile, path)
    _require(
        bool(_NAME.fullmatch(read.name)),
        path,
        f"name = {read.name!r}; expected lower-case words with hyphens or dots, as in nano-lm-v1.0.1",
    )
    parent = _load(read.inherits, heirs)
    taken = (parent.name, *parent.ancestors)
    _require(read.name not in taken, path, f"name = {read.name!r} is its parent's; expected a new one")
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


def _custom(table: dict[str, Any], path: Path, heirs: tuple[Path, ...]) -> Edition:
    """The edition whose items come from a file in this folder: its own lock, no exclusions, not frozen."""
    read = tables.convert(table, CustomFile, path)
    parent = _load(read.custom_of, heirs)
    if set(read.items) != set(parent.benchmarks) or min(read.items.values()) < 1:
        raise EditionError(
            f"{path}: [items] = {read.items}; expected a number for each benchmark of {parent.name}: "
            f"{', '.join(parent.benchmarks)}"
        )
    lock = read_lock(path.parent / "sources.lock.toml")
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


def _frozen_parts(table: dict[str, Any], folder: Path, lock: SourcesLock) -> dict[str, Any]:
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
    exclusions = folder / "exclusions.toml"
    frozen = read_frozen(folder)
    return {
        "suite": suite,
        "pins": pins,
        "exclusions": tables.read(exclusions) if exclusions.exists() else {},
        "frozen": {slug: each.digest for slug, each in frozen.benchmarks.items()} if frozen else {},
    }


def _digest(parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]
