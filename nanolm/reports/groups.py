"""How an entry does by group: the sets of BLiMP, the subjects of MMLU-CF, the variants of HellaSwag-Pro."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.editions.items import load_items
from nanolm.errors import RecordError, UsageError, unknown
from nanolm.verdicts import file as verdicts


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark's replies to the items of one group."""

    benchmark: str
    group: str
    replies: int
    correct: int

    @property
    def accuracy(self) -> float:
        """From 0 to 1; an item's samples count alike."""
        return self.correct / self.replies


def by_group(edition: Edition, folder: Path, benchmarks: Iterable[str] = ()) -> list[Group]:
    """An entry's groups in the edition's order, from the verdicts in its run folder.

    `benchmarks`: only these. Raises `UsageError` for an unknown benchmark or when no item has a group, and
    `RecordError` when there are no verdicts.
    """
    path = folder / verdicts.FILE
    if not path.is_file():
        raise RecordError(f"{path} does not exist; `nanolm rescore` writes it")
    wanted = list(benchmarks) or list(edition.benchmarks)
    for slug in wanted:
        if slug not in edition.benchmarks:
            raise unknown(f"benchmark of {edition.name}", slug, edition.benchmarks)
    counted: dict[str, Counter[tuple[str, bool]]] = {slug: Counter() for slug in wanted}
    for line in verdicts.read(path):
        if line.benchmark in counted:
            counted[line.benchmark][line.item, line.correct] += 1
    found = [group for slug in wanted for group in _of(edition, slug, counted[slug])]
    if not found:
        raise UsageError(f"no item with a group was run: neither of {', '.join(wanted)}")
    return found


def _of(edition: Edition, slug: str, counted: Counter[tuple[str, bool]]) -> list[Group]:
    if not counted:
        return []
    right: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for item in load_items(edition, slug).items:
        correct = counted[item.id, True]
        if item.group and correct + counted[item.id, False]:
            right[item.group] += correct
            all_[item.group] += correct + counted[item.id, False]
    return [
        Group(benchmark=slug, group=group, replies=count, correct=right[group])
        for group, count in all_.items()
    ]
