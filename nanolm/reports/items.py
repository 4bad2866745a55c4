"""Items for the viewer, review and export, from an edition's item cache."""

import functools

from nanolm.editions.edition import Edition
from nanolm.editions.items import load_items
from nanolm.errors import NanoLMError
from nanolm.reports.viewer import BenchmarkItems, ItemsOf, ShownItem


def items_of(edition: Edition) -> ItemsOf:
    """A benchmark's items, or None when they are not at hand: outputs can be shown without their prompts."""

    @functools.lru_cache(maxsize=2)  # callers go through benchmarks one after the other
    def read(slug: str) -> BenchmarkItems | None:
        try:
            found = load_items(edition, slug)
        except NanoLMError:
            return None
        return BenchmarkItems(
            ids=found.ids,
            shown={
                item.id: ShownItem(prompt.text, item.question, item.gold, item.group)
                for item, prompt in zip(found.items, found.prompts, strict=True)
            },
            items=found.items,
        )

    return read
