"""`exclusions.toml`: which rows are left out by which rule, and which options keep their place (§3).

The rules that a benchmark's own rows decide are applied where its items are made; their ids are listed here
too, and both must agree. Rules that need something else (an evaluator, tokenizers) are applied from here.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.errors import EditionError, unknown
from nanolm.sources import tables

FILE = "exclusions.toml"


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[rule.<slug>]` table: one line of the protocol's table of exclusions."""

    says: str
    """The rule in the protocol's words."""
    items: int
    """How many items the protocol says."""
    verified: bool = True
    """False: the ids could not be found here yet (ruling 77); the edition can't be published."""
    excluded: Mapping[str, tuple[str, ...]] = {}
    """Item ids by benchmark."""


class OptionOrders(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An `[option-order.<slug>]` table (ruling 72)."""

    pinned: tuple[str, ...] = ()
    """Ids of items with an option that keeps its slot."""
    frozen: tuple[str, ...] = ()
    """Ids of items that are not shuffled."""


class Exclusions(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file; nothing at all for an edition without one."""

    path: Path
    rules: Mapping[str, Rule] = {}
    orders: Mapping[str, OptionOrders] = {}

    def of(self, benchmark: str) -> dict[str, str]:
        """The rule that leaves out each listed id of a benchmark."""
        return {item: slug for slug, rule in self.rules.items() for item in rule.excluded.get(benchmark, ())}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"option_order": "option-order"}):
    rule: dict[str, Rule] = {}
    option_order: dict[str, OptionOrders] = {}


def read(folder: Path) -> Exclusions:
    """An edition's exclusions; `EditionError` for a file that can't be read or lists an id twice."""
    path = folder / FILE
    return of_table(tables.read(path), path) if path.exists() else Exclusions(path=path)


def of_table(table: dict[str, Any], path: Path, benchmarks: Collection[str] | None = None) -> Exclusions:
    """The exclusions in a file's tables; `EditionError` naming file, table and key for what can't be.

    With `benchmarks` also for a benchmark that is none of these.
    """
    found = tables.convert(table, _File, path)
    read = Exclusions(path=path, rules=found.rule, orders=found.option_order)
    listed: dict[str, Counter[str]] = {}
    for rule in read.rules.values():
        for slug, ids in rule.excluded.items():
            listed.setdefault(slug, Counter()).update(ids)
    for slug, counts in listed.items():
        twice = sorted(item for item, count in counts.items() if count > 1)
        if twice:
            raise EditionError(f"{path}: found {twice[0]!r} of {slug} twice, expected one rule an item")
    for slug in (*listed, *read.orders):
        if benchmarks is not None and slug not in benchmarks:
            raise EditionError(f"{path}: {unknown('benchmark', slug, benchmarks)}")
    return read


def apply(exclusions: Exclusions, benchmark: str, made: BenchmarkItems) -> BenchmarkItems:
    """The items without the listed ones.

    `EditionError` when the list and the rules that the rows decide do not agree, when a listed id is not
    among the rows, or when the options that keep their place are not the listed ones.
    """
    listed = exclusions.of(benchmark)
    decided = {one.id: one.rule for one in made.excluded}
    if exclusions.rules:
        for item, rule in decided.items():
            if listed.get(item) != rule:
                raise _drift(exclusions, benchmark, f"{item} left out as {rule!r}", repr(listed.get(item)))
    ids = {item.id for item in made.items}
    for item, rule in listed.items():
        if item not in ids and item not in decided:
            raise _drift(exclusions, benchmark, f"no row {item}", f"it, to leave it out as {rule!r}")
    orders = exclusions.orders.get(benchmark)
    if orders is not None:
        _compare(exclusions, benchmark, "pinned", made.pinned, orders.pinned)
        _compare(exclusions, benchmark, "frozen", made.frozen, orders.frozen)
    taken = [Exclusion(item, rule) for item, rule in listed.items() if item not in decided]
    gone = {one.id for one in taken}
    return BenchmarkItems(
        items=tuple(item for item in made.items if item.id not in gone),
        excluded=(*made.excluded, *taken),
        pinned=tuple(item for item in made.pinned if item not in gone),
        frozen=tuple(item for item in made.frozen if item not in gone),
    )


def write(exclusions: Exclusions) -> None:
    """Write the file in a fixed form: rules as they stand, ids in the given order, at most 108 columns."""
    lines = [
        "# Excluded items by id with their rule, and items with options that keep their place (section 3).",
        "# `pinned` items have an option that keeps its slot, `frozen` items are not shuffled (ruling 72).",
    ]
    for slug, rule in exclusions.rules.items():
        lines += ["", f"[rule.{slug}]", f"says = {_text(rule.says)}", f"items = {rule.items}"]
        if not rule.verified:
            lines.append("verified = false")
        if rule.excluded:
            lines += ["", f"[rule.{slug}.excluded]"]
        for benchmark, ids in rule.excluded.items():
            lines += _list(benchmark, ids)
    for benchmark, orders in exclusions.orders.items():
        lines += ["", f"[option-order.{benchmark}]"]
        lines += [*_list("pinned", orders.pinned), *_list("frozen", orders.frozen)]
    exclusions.path.write_text("\n".join(lines) + "\n", "utf-8")


def _list(key: str, ids: Iterable[str]) -> list[str]:
    lines, line = [f"{key} = ["], ""
    for item in ids:
        part = f"{_text(item)}, "
        if len(line) + len(part) > 104:
            lines.append(f"    {line.rstrip()}")
            line = ""
        line += part
    return [*lines, *([f"    {line.rstrip()}"] if line else []), "]"]


def _text(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _compare(
    exclusions: Exclusions, benchmark: str, kind: str, found: tuple[str, ...], listed: tuple[str, ...]
) -> None:
    odd = sorted(set(found) ^ set(listed))
    if odd:
        which = "one of them unlisted" if odd[0] in found else "one listed missing"
        raise _drift(
            exclusions,
            benchmark,
            f"{len(found)} {kind} items, {which}: {odd[0]}",
            f"the {len(listed)} listed",
        )


def _drift(exclusions: Exclusions, benchmark: str, found: str, expected: str) -> EditionError:
    return EditionError(
        f"{exclusions.path}: {benchmark}: found {found}, expected {expected}; the rows or the rules are not "
        "those of this edition, and a change in them makes a new edition (protocol section 10)"
    )
