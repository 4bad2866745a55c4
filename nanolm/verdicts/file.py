"""`verdicts.jsonl`: one line an output, in the edition's own order, the same bytes for the same verdicts."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from nanolm.errors import RecordError
from nanolm.schema import Output, Reason, Verdict

FILE = "verdicts.jsonl"
PARTIAL = "verdicts.partial.jsonl"
"""Beside `score.partial.json`: verdicts on a part never replace those on the whole."""
Key = tuple[str, str, int]
"""(benchmark, item, sample)."""


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `verdicts.jsonl`: a verdict and which output it is on."""

    benchmark: str
    item: str
    sample: int
    correct: bool
    reason: Reason | None = None
    rule: str = ""
    answer: Any = None
    span: tuple[int, int] | None = None
    """In `Output.text`, reasoning included."""
    detail: str = ""

    @property
    def key(self) -> Key:
        """Which output it is on."""
        return self.benchmark, self.item, self.sample

    @property
    def verdict(self) -> Verdict:
        """The verdict without the output it is on."""
        return Verdict(
            correct=self.correct,
            reason=self.reason,
            answer=self.answer,
            rule=self.rule,
            span=self.span,
            detail=self.detail,
        )


def line(output: Output, verdict: Verdict) -> VerdictLine:
    """The line for a verdict on an output."""
    return VerdictLine(
        benchmark=output.benchmark,
        item=output.item,
        sample=output.sample,
        correct=verdict.correct,
        reason=verdict.reason,
        rule=verdict.rule,
        answer=verdict.answer,
        span=verdict.span,
        detail=verdict.detail,
    )


# Numbers no float can hold stay numbers, digit for digit.
_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(VerdictLine, float_hook=lambda text: _number(text))


def _number(text: str) -> float | Decimal:
    short = float(text)
    exact = Decimal(text)
    return short if Decimal(repr(short)) == exact else exact


def encode(verdict_line: VerdictLine) -> bytes:
    """One line, without its line end. Lone surrogates, which UTF-8 has no bytes for, become U+FFFD."""
    try:
        return _encoder.encode(verdict_line)
    except UnicodeEncodeError:
        return _encoder.encode(VerdictLine(**_mended(msgspec.structs.asdict(verdict_line))))


def as_written(verdict_line: VerdictLine) -> VerdictLine:
    """As it is read back once it is written: with lists for tuples, and U+FFFD for lone surrogates."""
    return _decoder.decode(encode(verdict_line))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(inner) for inner in value]
    return value


def in_order(lines: Iterable[VerdictLine], order: Sequence[tuple[str, Sequence[str]]]) -> list[VerdictLine]:
    """Lines in the edition's order: `order` gives each benchmark's slug and its item ids; then by sample.

    Raises `RecordError` for a line of an item that is not in the edition, and for two of one output.
    """
    place = {
        (benchmark, item): number
        for number, (benchmark, item) in enumerate(
            (benchmark, item) for benchmark, items in order for item in items
        )
    }
    found: dict[tuple[int, int], VerdictLine] = {}
    for one in lines:
        number = place.get((one.benchmark, one.item))
        if number is None:
            raise RecordError(
                f"found a verdict on item {one.item!r} of benchmark {one.benchmark!r}, which the edition "
                "does not have; expected its own items only: rescore with the record's edition"
            )
        if found.setdefault((number, one.sample), one) is not one:
            raise RecordError(f"found two verdicts on sample {one.sample} of {one.benchmark}/{one.item}")
    return [found[key] for key in sorted(found)]


def write(path: Path, lines: Iterable[VerdictLine]) -> int:
    """Write a whole file at once: the old one stays until the new one is there. Gives its line count."""
    return write_encoded(path, map(encode, lines))


def write_encoded(path: Path, lines: Iterable[bytes]) -> int:
    """As `write`, of lines that are encoded already. They may be read from the old file as they go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    name = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with name.open("xb") as file:
            for one in lines:
                file.write(one)
                file.write(b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    return count


def readable(path: Path) -> list[VerdictLine]:
    """The lines of a file that can be read; the others are left out. Empty when there is no file."""
    if not path.exists():
        return []
    found = []
    with path.open("rb") as file:
        for data in file:
            try:
                found.append(_decoder.decode(data))
            except (msgspec.DecodeError, ValueError):
                continue
    return found


def read(path: Path) -> Iterator[VerdictLine]:
    """The lines of a file. Raises `RecordError` naming the file and line when one can't be read."""
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            try:
                yield _decoder.decode(data)
            except (msgspec.DecodeError, ValueError) as error:
                raise RecordError(
                    f"{path}, line {number}: found no verdict ({error}); expected one JSON object a line: "
                    "run `nanolm rescore` to write the file anew"
                ) from None
