"""An edition's items as a run needs them: ids at once, texts when they are asked for."""

import threading
from collections.abc import Iterable

from nanolm.benchmarks.chance import chance
from nanolm.editions import BenchmarkSpec, Edition, ItemSet, load_ids, load_items
from nanolm.editions.frozen import read_frozen
from nanolm.editions.read import suite_folder
from nanolm.schema import Item, Prompt

Selection = dict[str, tuple[str, ...]]
"""Benchmark slug to the ids of the items asked for, both in the edition's order."""

_KEPT = 3
"""Benchmarks whose texts stay in memory: tests and requests come benchmark by benchmark."""
_LATE_VERDICTS = {"code": 0, "math_expression": 1}


class Suite:
    """One edition's benchmarks. `limit`: only the first so many items of each (never of the constant)."""

    def __init__(self, edition: Edition, limit: int | None = None) -> None:
        self.edition = edition
        self.limit = limit
        self._ids: dict[str, tuple[str, ...]] = {}
        self._sets: dict[str, tuple[ItemSet, dict[str, int]]] = {}
        self._mutex = threading.Lock()

    def of_module(self, module: str) -> list[BenchmarkSpec]:
        """The edition's benchmarks that a benchmark module makes."""
        return [spec for spec in self.edition.benchmarks.values() if spec.module == module]

    def ids(self, slug: str) -> tuple[str, ...]:
        """Item ids in the edition's order. Errors as in `editions.load_items`."""
        if slug not in self._ids:
            self._ids[slug] = load_ids(self.edition, slug, self.limit)
        return self._ids[slug]

    def whole(self, slug: str) -> ItemSet:
        """All items, whatever the limit."""
        return self._loaded(slug)[0]

    def _loaded(self, slug: str) -> tuple[ItemSet, dict[str, int]]:
        """From memory, where the last few benchmarks stay; reading one again takes under 0.1 s."""
        with self._mutex:
            known = self._sets.pop(slug, None)
            if known is None:
                found = load_items(self.edition, slug)
                known = found, {name: place for place, name in enumerate(found.ids)}
                while len(self._sets) >= _KEPT:
                    del self._sets[next(iter(self._sets))]
            self._sets[slug] = known
            return known

    def items(self, slug: str) -> tuple[Item, ...]:
        """All items, whatever the limit: the best constant answer is one over all of them."""
        return self.whole(slug).items

    def item(self, slug: str, item: str) -> Item:
        """One item. KeyError when the benchmark has none of this id."""
        found, places = self._loaded(slug)
        return found.items[places[item]]

    def prompt(self, slug: str, item: str) -> Prompt:
        """One item's user message."""
        found, places = self._loaded(slug)
        return found.prompts[places[item]]

    def in_order(self, wanted: Iterable[tuple[str, str]]) -> Selection:
        """Pairs of benchmark and item, in the edition's order."""
        asked: dict[str, set[str]] = {}
        for slug, item in wanted:
            asked.setdefault(slug, set()).add(item)
        return {
            slug: tuple(item for item in self.ids(slug) if item in asked[slug])
            for slug in self.edition.benchmarks
            if slug in asked
        }

    def generation_order(self, selection: Selection) -> list[str]:
        """Benchmarks whose verdicts take long go first, so that judging overlaps generation."""

        def rank(slug: str) -> int:
            return _LATE_VERDICTS.get(self.edition.benchmarks[slug].answer_type, 2)

        return sorted(selection, key=rank)

    def is_whole(self, selection: Selection) -> bool:
        """Whether every item of every benchmark is asked for."""
        return all(
            len(selection.get(slug, ())) == spec.items for slug, spec in self.edition.benchmarks.items()
        )

    def chance(self, slug: str) -> tuple[float, str]:
        """Chance level and its rule (§8): the frozen one, else computed from the gold."""
        frozen = read_frozen(suite_folder(self.edition))
        if frozen and slug in frozen.benchmarks:
            return frozen.benchmarks[slug].chance, frozen.benchmarks[slug].chance_rule
        level = chance(self.items(slug))
        return level.value, level.rule
