"""What a benchmark module gives: items, and the rows it left out by a written rule (§3)."""

import msgspec

from nanolm.schema import Item


class Exclusion(msgspec.Struct, frozen=True):
    """A row that is not an item, under an objective rule, the same for every entry."""

    id: str
    rule: str
    """The rule's slug, e.g. `depends-on-earlier-result`."""


class BenchmarkItems(msgspec.Struct, frozen=True, kw_only=True):
    """All items of a benchmark in source order, options already shuffled (ruling 71)."""

    items: tuple[Item, ...]
    excluded: tuple[Exclusion, ...] = ()
    pinned: tuple[str, ...] = ()
    """Ids of items with an option that keeps its slot (ruling 72)."""
    frozen: tuple[str, ...] = ()
    """Ids of items that are not shuffled at all (ruling 72)."""
