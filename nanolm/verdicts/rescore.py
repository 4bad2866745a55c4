"""Judging a whole record again, without a model; and what changed (§10: a scoring fix is a rescore)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from nanolm.errors import RecordError
from nanolm.schema import Item, Output
from nanolm.verdicts import file
from nanolm.verdicts.file import Key, VerdictLine
from nanolm.verdicts.judge import Judge

Items = Mapping[str, Sequence[Item]]
"""The edition's items by benchmark, both in the edition's order."""


def rescore(
    items: Items,
    outputs: Iterable[Output],
    judge: Judge,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[VerdictLine]:
    """Verdicts on all outputs, in the edition's order whatever the record's: a line for each output.

    `progress` is told how many are done. Raises `RecordError` for an output of an item that is not there.
    """
    known = {(benchmark, item.id): item for benchmark, of in items.items() for item in of}
    lines: list[VerdictLine] = []
    for output, verdict in judge.verdicts(_pairs(known, outputs), in_order=False):
        lines.append(file.line(output, verdict))
        if progress is not None:
            progress(len(lines))
    return file.in_order(lines, [(benchmark, [item.id for item in of]) for benchmark, of in items.items()])


def _pairs(known: Mapping[tuple[str, str], Item], outputs: Iterable[Output]) -> Iterator[tuple[Item, Output]]:
    for output in outputs:
        item = known.get((output.benchmark, output.item))
        if item is None:
            raise RecordError(
                f"found an output on item {output.item!r} of benchmark {output.benchmark!r}, which the "
                "edition does not have; expected the edition the record was made for"
            )
        yield item, output


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that is not what it was. `before` or `after` is None where an output had or has none."""

    benchmark: str
    item: str
    sample: int
    before: VerdictLine | None
    after: VerdictLine | None

    def __str__(self) -> str:
        name = f"{self.benchmark}/{self.item}/{self.sample}"
        return f"{name}: {_words(self.before)} -> {_words(self.after)}"


def diff(old: Iterable[VerdictLine], new: Iterable[VerdictLine]) -> list[Change]:
    """Every verdict that changed, with the rule that decided before and after; in the order of `new`,
    then what only `old` has. Equal but for `detail` (wall times) is no change."""
    before = {one.key: one for one in old}
    changes = [_change(one.key, before.pop(one.key, None), one) for one in new]
    changes += [_change(key, one, None) for key, one in before.items()]
    return [change for change in changes if change is not None]


def _change(key: Key, before: VerdictLine | None, after: VerdictLine | None) -> Change | None:
    if before is not None and after is not None and _decided(before) == _decided(after):
        return None
    return Change(benchmark=key[0], item=key[1], sample=key[2], before=before, after=after)


def _decided(one: VerdictLine) -> VerdictLine:
    return msgspec.structs.replace(one, detail="")


def _words(one: VerdictLine | None) -> str:
    if one is None:
        return "no verdict"
    answer = "" if one.answer is None else f" {_short(one.answer)}"
    return f"{one.reason or 'correct'} by {one.rule or 'no rule'}{answer}"


def _short(answer: object) -> str:
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer, order=None).decode()
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
