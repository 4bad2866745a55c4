"""Verdicts of a run as they are decided: each process appends to a file of its own; at the end they are
gathered into `verdicts.jsonl`, the same bytes as a rescore of the record writes."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec

from nanolm.verdicts import file
from nanolm.verdicts.file import VerdictLine

_PATTERN = ".verdicts-*.part"


class _Place(msgspec.Struct, frozen=True):
    """What orders a line; the rest of it is not looked at."""

    benchmark: str
    item: str
    sample: int


_place = msgspec.json.Decoder(_Place)


class Part:
    """One process's verdicts in `folder`. `name` tells the processes of a run apart.

    A disk that is full must not end a run: `error` then says so, and nothing more is written.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.error = ""
        self._file: BinaryIO | None = None
        try:
            self._file = (folder / _PATTERN.replace("*", name)).open("wb")
        except OSError as error:
            self.error = str(error)

    def add(self, line: VerdictLine) -> None:
        """Append one verdict."""
        if self._file is not None and not self.error:
            try:
                self._file.write(file.encode(line) + b"\n")
            except OSError as error:
                self.error = str(error)

    def close(self) -> None:
        """Everything added is in the file, or `error` says why not; may be called twice."""
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self.error = self.error or str(error)


def remove(folder: Path) -> None:
    """Remove what a run left: nothing is lost, verdicts are made again from the record."""
    for path in folder.glob(_PATTERN):
        path.unlink(missing_ok=True)


def gather(
    folder: Path,
    order: Iterable[tuple[str, Sequence[str]]],
    recorded: Callable[[file.Key], bool],
    *,
    keep: bool = True,
) -> Path:
    """Write `folder/verdicts.jsonl` from the parts and remove them; gives its path.

    `order`: each benchmark's slug and its item ids, as the edition has them. With `keep`, verdicts of an
    earlier run stay where this one judged nothing and the output is still `recorded`. Parts must be
    closed. Raises `OSError`; the parts then stay.
    """
    target = folder / file.FILE
    sources = [target] if keep and target.exists() else []
    sources += sorted(folder.glob(_PATTERN))
    file.write_encoded(target, _sorted(sources, order, recorded))
    remove(folder)
    return target


def _sorted(
    sources: Sequence[Path],
    order: Iterable[tuple[str, Sequence[str]]],
    recorded: Callable[[file.Key], bool],
) -> Iterator[bytes]:
    """Lines in the edition's order; of two on one output the later source's.

    Holds where a line lies, not the line: tens of thousands of replies' answers would weigh megabytes.
    """
    places: dict[str, dict[str, int]] = {}
    count = 0
    for slug, items in order:
        places[slug] = {item: count + number for number, item in enumerate(items)}
        count += len(items)
    numbers, where = array("q"), array("q")
    opened = [path.open("rb") for path in sources]
    try:
        for source, lines in enumerate(opened):
            start = 0
            for line in lines:
                number = _number(line, places, recorded)
                if number is not None:
                    numbers.append(number)
                    where.append(start * len(opened) + source)
                start += len(line)
        by_place = sorted(range(len(numbers)), key=numbers.__getitem__)
        for here, after in pairwise([*by_place, None]):
            if here is None or (after is not None and numbers[here] == numbers[after]):
                continue
            start, source = divmod(where[here], len(opened))
            opened[source].seek(start)
            yield opened[source].readline().rstrip(b"\n")
    finally:
        for lines in opened:
            lines.close()


def _number(
    line: bytes, places: dict[str, dict[str, int]], recorded: Callable[[file.Key], bool]
) -> int | None:
    """The place of the line's output among all; None for a torn line, or a verdict on nothing recorded."""
    try:
        found = _place.decode(line)
    except msgspec.DecodeError:
        return None
    place = places.get(found.benchmark, {}).get(found.item)
    if place is None or not recorded((found.benchmark, found.item, found.sample)):
        return None
    return place * 256 + found.sample
