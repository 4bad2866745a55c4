"""What differs between two editions, and which kind of edition §10 asks for."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nanolm.editions import exclusions
from nanolm.editions.edition import Edition
from nanolm.editions.frozen import FrozenBenchmark, edition_digest, read_digests, read_frozen
from nanolm.editions.read import sources_of, suite_folder

_SUITE = (
    *("budget", "prompt_limit", "parameter_limit", "samples_sampled", "samples_greedy"),
    *("decoding", "base_models", "prompting"),
)
_ENGINE = ("engine", "engine_version", "dtype")


class Difference(msgspec.Struct, frozen=True):
    """One thing that differs."""

    what: str
    """`budget`, `benchmark.arc-easy.items`, `frozen.arc-easy`, …"""
    before: Any
    after: Any


class EditionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """All that differs, and what follows from it."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    untouched: dict[str, str]
    """What is the same in both, shown by digest or value: `items and prompts`, `chance levels`,
    `instructions`, `budget`."""
    not_shown: tuple[str, ...]
    """Benchmarks that are not frozen in both: of their items and prompts nothing can be shown."""
    needs: str
    """`nothing`, `patch` (rescore) or `version` (every entry runs again), by §10."""


def diff(before: Edition, after: Edition) -> EditionDiff:
    """Everything that can change a number or a source, in words that name the place."""
    found: list[Difference] = []
    for field in (*_SUITE, *_ENGINE):
        found += _pair(field, getattr(before, field), getattr(after, field))
    found += _tables("instructions", before.instructions, after.instructions)
    categories = [{each.slug: each.title for each in edition.categories} for edition in (before, after)]
    found += _tables("categories", categories[0], categories[1])
    specs = [
        {slug: msgspec.to_builtins(spec) for slug, spec in edition.benchmarks.items()}
        for edition in (before, after)
    ]
    found += _tables("benchmark", specs[0], specs[1])
    found += _exclusions(before, after)
    found += _frozen(before, after)
    rerun = bool(found)
    found += _tables("extractors", before.extractors, after.extractors)
    rescore = len(found) > 0
    found += _tables("source", _pins(before), _pins(after))
    needs = "version" if rerun else "patch" if rescore else "nothing"
    untouched, not_shown = _untouched(before, after, found)
    return EditionDiff(
        before=before.name,
        after=after.name,
        differences=tuple(found),
        untouched=untouched,
        not_shown=not_shown,
        needs=needs,
    )


def _untouched(
    before: Edition, after: Edition, differences: Sequence[Difference]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """What a patch edition must leave alone (§10), by the digests that were frozen of it."""
    old, new = (
        frozen.benchmarks if frozen else {}
        for frozen in (read_frozen(suite_folder(edition)) for edition in (before, after))
    )
    both = {slug: new[slug] for slug in old if slug in new}
    slugs = dict.fromkeys((*before.benchmarks, *after.benchmarks))
    changed = {each.what for each in differences}
    found: dict[str, str] = {}
    if both and all(each.digest == old[slug].digest for slug, each in both.items()):
        items = sum(each.items for each in both.values())
        found["items and prompts"] = (
            f"{items:,} in {len(both)} of {len(slugs)} benchmarks, digest {edition_digest(both)}"
        )
    if both and all((each.chance, each.chance_rule) == _level(old[slug]) for slug, each in both.items()):
        found["chance levels"] = f"of {len(both)} of {len(slugs)} benchmarks"
    if before.instructions == after.instructions:
        found["instructions"] = f"of {len(after.instructions)} answer types"
    found |= {field: f"{getattr(after, field):,}" for field in ("budget",) if field not in changed}
    return found, tuple(slug for slug in slugs if slug not in both)


def _level(of: FrozenBenchmark) -> tuple[float, str]:
    return of.chance, of.chance_rule


def _pins(edition: Edition) -> dict[str, Any]:
    """The sources as nested tables, files by path and mirrors by form."""
    pins: dict[str, Any] = msgspec.to_builtins(dict(sources_of(edition).sources))
    for source in pins.values():
        for each in (source, *source["file"]):
            each["mirror"] = {mirror["form"]: mirror for mirror in each["mirror"]}
        source["file"] = {file["path"]: file for file in source["file"]}
    return pins


def _pair(what: str, before: Any, after: Any) -> list[Difference]:
    return [] if before == after else [Difference(what, before, after)]


def _tables(what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Key by key, into nested tables; a table that is new or gone is one difference."""
    found: list[Difference] = []
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += _tables(f"{what}.{key}", one, other)
        elif isinstance(one, Mapping) or isinstance(other, Mapping):
            found.append(Difference(f"{what}.{key}", _there(one), _there(other)))
        else:
            found += _pair(f"{what}.{key}", one, other)
    return found


def _there(table: Any) -> str:
    return "none" if table is None else "present"


def _exclusions(before: Edition, after: Edition) -> list[Difference]:
    one, other = (exclusions.read(suite_folder(edition)) for edition in (before, after))
    found: list[Difference] = []
    for slug in dict.fromkeys((*before.benchmarks, *after.benchmarks)):
        found += _tables(f"exclusions.{slug}.excluded", one.of(slug), other.of(slug))
        old, new = (each.orders.get(slug, exclusions.OptionOrders()) for each in (one, other))
        for key in ("pinned", "frozen"):
            gone = sorted(set(getattr(old, key)) - set(getattr(new, key)))
            come = sorted(set(getattr(new, key)) - set(getattr(old, key)))
            if gone or come:
                found.append(Difference(f"exclusions.{slug}.{key}", gone, come))
    return found


def _frozen(before: Edition, after: Edition) -> list[Difference]:
    """Items, prompts and chance levels, as frozen."""
    folders = [suite_folder(edition) for edition in (before, after)]
    old, new = (frozen.benchmarks if frozen else {} for frozen in map(read_frozen, folders))
    digests = [read_digests(folder) for folder in folders]
    found: list[Difference] = []
    for slug in dict.fromkeys((*old, *new)):
        if slug not in old or slug not in new:
            found.append(Difference(f"frozen.{slug}", _there(old.get(slug)), _there(new.get(slug))))
            continue
        for field in ("items", "chance", "chance_rule"):
            found += _pair(f"frozen.{slug}.{field}", getattr(old[slug], field), getattr(new[slug], field))
        if old[slug].digest != new[slug].digest:
            one, other = digests[0].get(slug, []), digests[1].get(slug, [])
            changed = [at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]]
            text = f"{len(changed):,} of {len(other):,} items or prompts differ" + (
                f", the first is number {changed[0] + 1}" if changed else ""
            )
            found.append(
                Difference(f"frozen.{slug}.digest", old[slug].digest, f"{new[slug].digest} ({text})")
            )
    return found
