"""`nanolm edition lock`: fill in sums of first downloads, and freeze items, prompts and chance levels."""

from collections.abc import Callable, Mapping

import msgspec

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.chance import chance
from nanolm.editions import exclusions as exclusions_file
from nanolm.editions import fill_in, over_long
from nanolm.editions import frozen as frozen_file
from nanolm.editions.edition import BenchmarkSpec, Edition
from nanolm.editions.exclusions import Exclusions, OptionOrders
from nanolm.editions.frozen import Frozen, FrozenBenchmark
from nanolm.editions.items import build_items
from nanolm.editions.over_long import Counters
from nanolm.editions.read import called, sources_of
from nanolm.errors import EditionError, ItemError, SourceError
from nanolm.sources.files import states


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
    too_long: dict[str, dict[str, str]] = {}
    """Over-long items that were found now, by benchmark, each with the first tokenizer that says so."""
    verified: tuple[str, ...] = ()
    """Benchmarks whose data counts as verified from now on."""
    doubtful: dict[str, str] = {}
    """Benchmarks whose data was built but can't count as verified, and why."""


class Drift(msgspec.Struct, frozen=True):
    """A benchmark that is not what was frozen."""

    benchmark: str
    what: str


NEAR = 0.01
"""How far a chance level after our shuffle may be from the published one (ruling 71)."""


def lock(
    edition: Edition, replace: bool = False, counters: Callable[[], Counters] | None = None
) -> LockReport:
    """Write `sources.lock.toml` (sums only), `frozen.json`, `frozen.digests.txt`; in `exclusions.toml` the
    over-long items (ruling 77) and the kept option orders of benchmarks that had none listed; and in
    `edition.toml` take away `data_verified = false` where the official data gave what the protocol says.

    What is frozen stays: a benchmark that would change is an `EditionError` naming the first item that
    differs, unless `replace`. Benchmarks whose data is not here, or that are not what the edition says and
    were never frozen, are left as they are and reported. `counters` counts prompts with the eligible
    tokenizers; it is called only when over-long items have to be found.
    """
    if edition.inherits:
        raise EditionError(f"{edition.name} inherits its items from {edition.inherits}; lock that edition")
    if edition.custom_of:
        raise EditionError(f"{edition.name} asks a custom file's items; only an edition's own are locked")
    folder = edition.folder
    before = frozen_file.read_frozen(folder)
    held = before.benchmarks if before else {}
    too_long = over_long.fill(edition, [slug for slug in edition.benchmarks if slug not in held], counters)
    old_digests = frozen_file.read_digests(folder)
    benchmarks: dict[str, FrozenBenchmark] = {}
    digests: dict[str, list[str]] = {}
    orders: dict[str, OptionOrders] = {}
    missing = dict(too_long.missing)
    now, kept = [], []
    for slug, spec in edition.benchmarks.items():
        try:
            built, prompts = build_items(edition, slug)
        except (SourceError, ItemError) as error:
            if slug not in held:
                missing.setdefault(slug, str(error))
                continue
            if isinstance(error, ItemError):
                raise
            kept.append(slug)
            benchmarks[slug], digests[slug] = held[slug], old_digests.get(slug, [])
            continue
        if not replace:
            frozen_file.check_frozen(folder, slug, built.items, prompts)
        digests[slug] = frozen_file.item_digests(built.items, prompts)
        benchmarks[slug] = _freeze(spec, built, digests[slug])
        if built.pinned or built.frozen:
            orders[slug] = OptionOrders(pinned=built.pinned, frozen=built.frozen)
        now.append(slug)
    frozen = Frozen(
        edition=edition.name,
        digest=frozen_file.edition_digest(benchmarks),
        benchmarks=benchmarks,
        not_frozen=tuple(missing),
    )
    sources = {name for slug in now for name in edition.benchmarks[slug].sources}
    filled = fill_in.fill_sums(sources_of(edition), sources)
    written = msgspec.json.format(msgspec.json.encode(frozen), indent=2) + b"\n"
    fill_in.write(folder / frozen_file.NAME, written)
    fill_in.write(folder / frozen_file.DIGESTS, frozen_file.digests_text(digests).encode())
    _list_orders(exclusions_file.read(folder), orders)
    verified, doubtful = _verified(edition, {slug: benchmarks[slug] for slug in now})
    fill_in.mark_verified(folder / "edition.toml", verified)
    return LockReport(
        filled=filled,
        frozen=tuple(now),
        kept=tuple(kept),
        missing=missing,
        too_long=too_long.found,
        verified=verified,
        doubtful=doubtful,
    )


def _freeze(spec: BenchmarkSpec, built: BenchmarkItems, digests: list[str]) -> FrozenBenchmark:
    level = chance(built.items)
    published = spec.published_chance
    return FrozenBenchmark(
        items=len(built.items),
        chance=level.value,
        chance_rule=level.rule,
        published_chance=published,
        difference=None if published is None else round(level.value - published, 6),
        digest=frozen_file.benchmark_digest(digests),
    )


def _verified(
    edition: Edition, frozen: Mapping[str, FrozenBenchmark]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Benchmarks whose data can now count as verified, and those that can't, with the reason.

    Built from official files alone, with the edition's count (that is checked when they are built), and with
    a chance level near the published one.
    """
    verified, doubtful = [], {}
    sources = sources_of(edition)
    for slug, now in frozen.items():
        spec = edition.benchmarks[slug]
        if spec.data_verified:
            continue
        found = {state.state for name in spec.sources for state in states(sources, name)}
        if not found <= {"verified", "unverified"}:
            doubtful[slug] = f"its files are {', '.join(sorted(found))}, not the official ones"
        elif now.difference is not None and abs(now.difference) > NEAR:
            doubtful[slug] = (
                f"its chance level {now.chance:.4f} is {now.difference:+.4f} from the published one"
            )
        else:
            verified.append(slug)
    return tuple(verified), doubtful


def check(
    edition: Edition, absent: dict[str, str] | None = None
) -> tuple[tuple[str, ...], tuple[Drift, ...]]:
    """Rebuild what can be built here; the benchmarks that were checked, and those that drifted.

    `absent` is filled with those that could not be checked, and why.
    """
    absent = {} if absent is None else absent
    folder = edition.suite_folder or edition.folder
    frozen = frozen_file.read_frozen(folder)
    if frozen is None:
        raise EditionError(f"{folder / frozen_file.NAME} does not exist; write it with `nanolm edition lock`")
    checked, drifts = [], []
    for slug in edition.benchmarks:
        if slug not in frozen.benchmarks:
            absent[slug] = f"not frozen; `nanolm edition lock {called(edition)}` freezes it, or says why not"
    for slug in frozen.benchmarks:
        if slug not in edition.benchmarks:
            drifts.append(Drift(slug, f"frozen in {folder / frozen_file.NAME}, but not in edition.toml"))
            continue
        try:
            built, prompts = build_items(edition, slug)
            checked.append(slug)
            frozen_file.check_frozen(folder, slug, built.items, prompts)
        except SourceError as error:
            absent[slug] = str(error)
            continue
        except (EditionError, ItemError) as error:
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
