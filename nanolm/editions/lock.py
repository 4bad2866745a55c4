"""`nanolm edition lock`: fill in sums of first downloads, and freeze items, prompts and chance levels."""

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from nanolm.benchmarks.chance import chance
from nanolm.editions import exclusions as exclusions_file
from nanolm.editions import frozen as frozen_file
from nanolm.editions.edition import Edition
from nanolm.editions.exclusions import Exclusions, OptionOrders
from nanolm.editions.frozen import Frozen, FrozenBenchmark
from nanolm.editions.items import build_items
from nanolm.editions.read import sources_of
from nanolm.errors import EditionError, SourceError
from nanolm.sources import cache
from nanolm.sources.cache import Sum
from nanolm.sources.lock import SourcesLock


class LockReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `lock` did."""

    filled: tuple[str, ...]
    """Files whose sum was filled in."""
    frozen: tuple[str, ...]
    """Benchmarks that were built and frozen now."""
    kept: tuple[str, ...]
    """Benchmarks frozen before, whose data is not here now."""
    missing: dict[str, str]
    """Benchmarks that could not be frozen, and why."""


class Drift(msgspec.Struct, frozen=True):
    """A benchmark that is not what was frozen."""

    benchmark: str
    what: str


def lock(edition: Edition, replace: bool = False) -> LockReport:
    """Write `sources.lock.toml` (sums only), `frozen.json`, `frozen.digests.txt`, and in
    `exclusions.toml` the kept option orders of benchmarks that had none listed.

    What is frozen stays: a benchmark that would change is an `EditionError` naming the first item that
    differs, unless `replace`. Benchmarks whose data is not here are left as they are.
    """
    if edition.inherits:
        raise EditionError(f"{edition.name} inherits its items from {edition.inherits}; lock that edition")
    if edition.custom_of:
        raise EditionError(f"{edition.name} asks a custom file's items; only an edition's own are locked")
    folder = edition.folder
    before = frozen_file.read_frozen(folder)
    benchmarks: dict[str, FrozenBenchmark] = {}
    digests: dict[str, list[str]] = {}
    orders: dict[str, OptionOrders] = {}
    now, kept, missing = [], [], {}
    old_digests = frozen_file.read_digests(folder)
    for slug, spec in edition.benchmarks.items():
        try:
            built, prompts = build_items(edition, slug)
        except SourceError as error:
            if before and slug in before.benchmarks:
                kept.append(slug)
                benchmarks[slug] = before.benchmarks[slug]
                digests[slug] = old_digests.get(slug, [])
            else:
                missing[slug] = str(error)
            continue
        if not replace:
            frozen_file.check_frozen(folder, slug, built.items, prompts)
        digests[slug] = frozen_file.item_digests(built.items, prompts)
        level = chance(built.items)
        published = spec.published_chance
        benchmarks[slug] = FrozenBenchmark(
            items=len(built.items),
            chance=level.value,
            chance_rule=level.rule,
            published_chance=published,
            difference=None if published is None else round(level.value - published, 6),
            digest=frozen_file.benchmark_digest(digests[slug]),
        )
        if built.pinned or built.frozen:
            orders[slug] = OptionOrders(pinned=built.pinned, frozen=built.frozen)
        now.append(slug)
    frozen = Frozen(
        edition=edition.name,
        digest=frozen_file.edition_digest(benchmarks),
        benchmarks=benchmarks,
        not_frozen=tuple(missing),
    )
    filled = fill_sums(sources_of(edition))
    written = msgspec.json.format(msgspec.json.encode(frozen), indent=2) + b"\n"
    _write(folder / frozen_file.NAME, written)
    _write(folder / frozen_file.DIGESTS, frozen_file.digests_text(digests).encode())
    _list_orders(exclusions_file.read(folder), orders)
    return LockReport(filled=filled, frozen=tuple(now), kept=tuple(kept), missing=missing)


def check(edition: Edition) -> tuple[tuple[str, ...], tuple[Drift, ...]]:
    """Rebuild what can be built here; the benchmarks that were checked, and those that drifted."""
    folder = edition.suite_folder or edition.folder
    frozen = frozen_file.read_frozen(folder)
    if frozen is None:
        raise EditionError(f"{folder / frozen_file.NAME} does not exist; write it with `nanolm edition lock`")
    checked, drifts = [], []
    for slug in frozen.benchmarks:
        if slug not in edition.benchmarks:
            drifts.append(Drift(slug, f"frozen in {folder / frozen_file.NAME}, but not in edition.toml"))
            continue
        try:
            built, prompts = build_items(edition, slug)
            checked.append(slug)
            frozen_file.check_frozen(folder, slug, built.items, prompts)
        except SourceError:
            continue
        except EditionError as error:
            drifts.append(Drift(slug, str(error)))
            continue
        level = chance(built.items)
        if (level.value, level.rule) != (frozen.benchmarks[slug].chance, frozen.benchmarks[slug].chance_rule):
            drifts.append(
                Drift(slug, f"chance {level.value} ({level.rule}), frozen {frozen.benchmarks[slug].chance}")
            )
    return tuple(checked), tuple(drifts)


def _list_orders(exclusions: Exclusions, orders: dict[str, OptionOrders]) -> None:
    """Benchmarks whose kept option orders are not listed yet are added; listed ones were checked."""
    new = {slug: each for slug, each in orders.items() if slug not in exclusions.orders}
    if new:
        exclusions_file.write(msgspec.structs.replace(exclusions, orders={**exclusions.orders, **new}))


def _write(path: Path, data: bytes) -> None:
    try:
        cache.write_atomically(path, data)
    except OSError as error:
        raise EditionError(
            f"can't write {path}: {error.strerror}; locking needs an edition folder it may write"
        ) from None


def fill_sums(lock: SourcesLock) -> tuple[str, ...]:
    """Put the sums of official downloads where the lock says `unverified`; comments and order stay."""
    found: dict[tuple[str, str], Sum] = {}
    for source in lock.sources.values():
        for file in source.file:
            known = cache.found_sum(source, file) if source.remote and not file.verified else None
            local = cache.held(known.sha256, file.path, known.bytes) if known else None
            if known and local:
                cache.verify(local, known.sha256)
                found[source.name, file.path] = known
    if found:
        text = lock.path.read_text("utf-8")
        _write(lock.path, _filled(text, found, lock.path).encode())
    return tuple(f"{source}: {path}" for source, path in found)


_FILE = re.compile(r"\[\[\s*source\.(?:\"(?P<quoted>[^\"]+)\"|(?P<bare>[A-Za-z0-9_-]+))\.file\s*\]\]")


def _filled(text: str, found: dict[tuple[str, str], Sum], path: Path) -> str:
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")] + [len(lines)]
    for start, end in reversed(list(itertools.pairwise(starts))):
        header = _FILE.match(lines[start].strip())
        if header is None:
            continue
        table = tomllib.loads("\n".join(lines[start + 1 : end]))
        known = found.get((header["quoted"] or header["bare"], table["path"]))
        if known is None:
            continue
        body = lines[start + 1 : end]
        at = next((i for i, line in enumerate(body) if re.match(r"\s*sha256\s*=", line)), None)
        if at is None:
            at = 1 + next(i for i, line in enumerate(body) if re.match(r"\s*path\s*=", line))
            body.insert(at, "")
        comment = re.search(r"\s*#.*$", body[at])
        body[at] = f'sha256 = "{known.sha256}"{comment[0] if comment else ""}'
        if "bytes" not in table:
            body.insert(at + 1, f"bytes = {known.bytes}")
        lines[start + 1 : end] = body
    written = "\n".join(lines) + "\n"
    _require_only_sums_changed(text, written, found, path)
    return written


def _require_only_sums_changed(old: str, new: str, found: dict[tuple[str, str], Sum], path: Path) -> None:
    """The text was edited by hand-made rules: prove that it says what it must before it is written."""
    expected: dict[str, Any] = tomllib.loads(old)
    for (source, name), known in found.items():
        for table in expected["source"][source]["file"]:
            if table["path"] == name:
                table.update(sha256=known.sha256)
                table.setdefault("bytes", known.bytes)
    if tomllib.loads(new) != expected:
        raise EditionError(f"{path} could not be filled in; write the sums by hand: {found}")
