"""`exclusions.toml`: rows left out, and option orders kept, by item id (§3, rulings 72, 76, 77).

    [toolalpaca]
    pinned = ["…"]              # ids of items with an option that keeps its slot
    frozen = ["…"]              # ids of items that are not shuffled

    [toolalpaca.excluded]       # id = rule
    real-03-07 = "depends-on-earlier-result"

`nanolm edition lock` writes what the benchmarks' rules find. An id that is listed here is left out
even if no rule of the code finds it: some need a tokenizer or an evaluator to be found.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.sources import tables

NAME = "exclusions.toml"


class Exclusions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark's table."""

    excluded: dict[str, str] = {}
    pinned: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()


def read_exclusions(folder: Path) -> dict[str, Exclusions]:
    """The tables by benchmark; none when the edition has no such file."""
    path = folder / NAME
    if not path.exists():
        return {}
    return {slug: tables.convert(row, Exclusions, path, slug) for slug, row in tables.read(path).items()}


def apply(built: BenchmarkItems, listed: Exclusions) -> BenchmarkItems:
    """Leave out the listed items."""
    gone = [item.id for item in built.items if item.id in listed.excluded]
    if not gone:
        return built
    return BenchmarkItems(
        items=tuple(item for item in built.items if item.id not in listed.excluded),
        excluded=(*built.excluded, *(Exclusion(item, listed.excluded[item]) for item in gone)),
        pinned=tuple(item for item in built.pinned if item not in listed.excluded),
        frozen=tuple(item for item in built.frozen if item not in listed.excluded),
    )


def of(built: BenchmarkItems) -> Exclusions:
    """What the rules found, as a table."""
    return Exclusions(
        excluded={each.id: each.rule for each in built.excluded}, pinned=built.pinned, frozen=built.frozen
    )


def text(exclusions: Mapping[str, Exclusions]) -> str:
    """The file's text."""
    lines = [
        "# Rows left out and option orders kept, by the benchmarks' rules; written by `nanolm edition lock`."
    ]
    for slug, table in exclusions.items():
        if table == Exclusions():
            continue
        lines += ["", f"[{slug}]"]
        for key, ids in (("pinned", table.pinned), ("frozen", table.frozen)):
            if ids:
                lines += [f"{key} = [ # {len(ids):,} items", *_wrapped(ids), "]"]
        if table.excluded:
            lines += ["", f"[{slug}.excluded] # {len(table.excluded)} rows"]
            lines += [f"{json.dumps(item)} = {json.dumps(rule)}" for item, rule in table.excluded.items()]
    return "\n".join(lines) + "\n"


def _wrapped(ids: Sequence[str]) -> Iterable[str]:
    line = "   "
    for item in ids:
        piece = f" {json.dumps(item)},"
        if len(line) + len(piece) > 110:
            yield line
            line = "   "
        line += piece
    yield line
