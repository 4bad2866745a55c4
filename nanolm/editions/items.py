"""An edition's items with their prompts: from the cache, or built from the sources."""

import functools
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import nanolm
from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.chance import chance
from nanolm.editions import exclusions, item_cache, known, prompt
from nanolm.editions.edition import BenchmarkSpec, Edition
from nanolm.editions.frozen import check_frozen, read_frozen
from nanolm.editions.read import called, sources_of, suite_folder
from nanolm.errors import EditionError, ItemError, SourceError, UsageError, counted, unknown
from nanolm.schema import Item, Prompt
from nanolm.sources import cache
from nanolm.sources.files import FileState, held_files, source_file

_ID = re.compile(r"[A-Za-z0-9._-]+")


class ItemSet(msgspec.Struct, frozen=True):
    """A benchmark's items in source order; the three tuples have the same length."""

    ids: tuple[str, ...]
    items: tuple[Item, ...]
    prompts: tuple[Prompt, ...]


def load_items(edition: Edition, slug: str, limit: int | None = None) -> ItemSet:
    """The items of a benchmark with their rendered prompts; with `limit`, the first so many.

    Read from the item cache, which is built from the sources on first use. Raises `UsageError` for an
    unknown benchmark, `SourceError` for data that is missing or has wrong bytes (naming the command
    that gets it), `ItemError` for rows that can't become items or are not as many as the edition says,
    and `EditionError` for items that are not the ones that were frozen (naming the first that differs).
    """
    path, files = _cache_path(edition, slug)
    read = item_cache.read_items(path)
    if read is None:
        _build_into_cache(edition, slug, path, files)
        read = item_cache.read_items(path)
        if read is None:
            raise SourceError(f"{path} was written but can't be read back; remove it and try again")
    items, prompts = read[0][:limit], read[1][:limit]
    return ItemSet(tuple(item.id for item in items), items, prompts)


def load_ids(edition: Edition, slug: str, limit: int | None = None) -> tuple[str, ...]:
    """The ids of a benchmark's items alone, for collecting tests. Errors as in `load_items`."""
    path, files = _cache_path(edition, slug)
    ids = item_cache.read_ids(path.with_suffix(".ids"))
    if ids is None:
        _build_into_cache(edition, slug, path, files)
        ids = tuple(load_items(edition, slug).ids)
    return ids[:limit]


def build_items(edition: Edition, slug: str) -> tuple[BenchmarkItems, tuple[Prompt, ...]]:
    """The benchmark's items from its sources, past the cache, with what was left out and why."""
    spec = _spec(edition, slug)
    return _build(edition, spec, _held(edition, spec))


def build_all(edition: Edition, slug: str) -> tuple[BenchmarkItems, tuple[Prompt, ...]]:
    """The same, whatever their number: before the over-long ones are known (ruling 77)."""
    spec = _spec(edition, slug)
    return _build(edition, spec, _held(edition, spec), whole=False)


def fetch_command(edition: Edition) -> str:
    """The command that gets the edition's sources."""
    return f"nanolm fetch --edition {called(edition)}"


def _spec(edition: Edition, slug: str) -> BenchmarkSpec:
    try:
        return edition.benchmarks[slug]
    except KeyError:
        raise unknown(f"benchmark of {edition.name}", slug, edition.benchmarks) from None


def _held(edition: Edition, spec: BenchmarkSpec) -> tuple[FileState, ...]:
    return held_files(sources_of(edition), spec.sources, fetch_command(edition))


def _cache_path(edition: Edition, slug: str) -> tuple[Path, tuple[FileState, ...]]:
    """Where the items lie for exactly this specification, these bytes and this code."""
    spec = _spec(edition, slug)
    files = _held(edition, spec)
    folder = suite_folder(edition)
    excluded = folder / exclusions.FILE
    frozen = read_frozen(folder)
    decides = {
        "spec": spec,
        "instruction": edition.instructions.get(spec.answer_type, ""),
        "exclusions": excluded.read_text("utf-8") if excluded.exists() else "",
        "files": [(file.source, file.path, file.form, file.sha256) for file in files],
        "frozen": frozen.benchmarks.get(slug) if frozen else None,
        "code": _code_digest(),
    }
    key = hashlib.sha256(msgspec.json.encode(decides, order="deterministic")).hexdigest()[:16]
    return cache.cache_folder() / "items" / folder.name / f"{slug}-{key}.items", files


@functools.cache
def _code_digest() -> str:
    """Of the code that decides items and prompts: a change in it makes the cache stale."""
    package = Path(nanolm.__file__).parent
    code = sorted(
        [
            *package.glob("benchmarks/*.py"),
            *package.glob("benchmarks/*.toml"),
            package / "answers" / "credentials.py",
            package / "editions" / "exclusions.py",
            package / "editions" / "prompt.py",
            *package.glob("editions/item*.py"),
            package / "sources" / "rows.py",
            package / "schema.py",
        ]
    )
    digest = hashlib.sha256()
    for path in code:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _build_into_cache(edition: Edition, slug: str, path: Path, files: Sequence[FileState]) -> None:
    """Build once: a second process that wants the same items waits for the first."""
    with cache.locked(path.with_name(f".{slug}.lock")):
        if item_cache.read_items(path) is None:
            built, prompts = _build(edition, _spec(edition, slug), files)
            check_frozen(suite_folder(edition), slug, built.items, prompts)
            item_cache.write_items(path, built.items, prompts)
            item_cache.write_ids(path.with_suffix(".ids"), [item.id for item in built.items])
            item_cache.forget_old(path.parent, slug)
        elif item_cache.read_ids(path.with_suffix(".ids")) is None:
            read = item_cache.read_items(path)
            item_cache.write_ids(path.with_suffix(".ids"), [item.id for item in read[0]] if read else [])


def _build(
    edition: Edition, spec: BenchmarkSpec, files: Sequence[FileState], whole: bool = True
) -> tuple[BenchmarkItems, tuple[Prompt, ...]]:
    for file in files:
        if file.state != "ours" and file.local is not None:
            cache.verify(file.local, file.sha256)
    module = module_of(edition, spec)
    built = module.items(spec.slug, [source_file(file) for file in files])
    assert isinstance(built, BenchmarkItems)
    if spec.normalisation != "none":
        normalised = (msgspec.structs.replace(one, normalisation=spec.normalisation) for one in built.items)
        built = msgspec.structs.replace(built, items=tuple(normalised))
    built = exclusions.apply(exclusions.read(suite_folder(edition)), spec.slug, built)
    _check(edition, spec, built, whole)
    return built, tuple(prompt.make(edition, item) for item in built.items)


def module_of(edition: Edition, spec: BenchmarkSpec) -> Any:
    """The benchmark's module of `nanolm.benchmarks`; `EditionError` when there is none of that name."""
    try:
        return known.module(spec.module)
    except UsageError as error:
        raise EditionError(f"{_place(edition, spec)} {error}") from None


def _place(edition: Edition, spec: BenchmarkSpec) -> str:
    """The table of a benchmark, as errors name it."""
    return f"{suite_folder(edition) / 'edition.toml'}: [benchmark.{spec.slug}]"


def _check(edition: Edition, spec: BenchmarkSpec, built: BenchmarkItems, whole: bool) -> None:
    """As many items as the edition says, each of this benchmark and with an id of its own; and answers that
    can't all be guessed."""
    check_ids(spec, built, _place(edition, spec))
    if whole and len(built.items) != spec.items:
        raise ItemError(
            f"{_place(edition, spec)} items = {spec.items:,}, but {spec.slug} has "
            f"{counted(len(built.items), 'item')} and {counted(len(built.excluded), 'excluded row')}; "
            "are the source files whole?"
        )
    if whole:
        check_chance(built, _place(edition, spec))


def check_chance(built: BenchmarkItems, where: str) -> None:
    """Raise `ItemError`, beginning with `where`, when answers without any skill are all right: at a chance
    level of 1 no skill is defined (§8)."""
    level = chance(built.items)
    if level.value < 1:
        return
    why = f"every answer is {level.answer!r}" if level.constant == 1 else "every item has one option alone"
    raise ItemError(
        f"{where} has a chance level of 1, since {why} (items: {len(built.items):,}); expected "
        "items that can be answered wrong, else no skill can be measured (protocol section 8). Mend the data "
        "or take more of it"
    )


def check_ids(spec: BenchmarkSpec, built: BenchmarkItems, where: str) -> None:
    """Raise `ItemError`, beginning with `where`, for an item of another benchmark or type, or with an id that
    is not its own."""
    seen: set[str] = set()
    for item in built.items:
        if not _ID.fullmatch(item.id) or item.id in seen:
            why = "stands twice" if item.id in seen else "has other signs than letters, digits, . _ -"
            raise ItemError(f"{where}: the id {item.id!r} {why} (from {item.source})")
        seen.add(item.id)
        if item.benchmark != spec.slug or item.answer_type != spec.answer_type:
            raise ItemError(
                f"{where}: item {item.id} is {item.answer_type} of {item.benchmark}, expected "
                f"{spec.answer_type} of {spec.slug}; is answer_type what its module makes?"
            )
