"""The file of a perplexity's windows: conditions in the first line, then each window's sum, nats.

It is what a measurement that was cut short goes on from. Until a first window of its own is known, a
measurement only reads it: a command that can't run leaves every file as it was.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from nanolm.errors import RecordError
from nanolm.records.record import stamped


class WindowLog:
    """`sums`: the windows that are there already, measured under the same conditions, `most` at most.

    Raises `RecordError` for a line that is no number.
    """

    def __init__(self, path: Path, conditions: msgspec.Struct, most: int) -> None:
        self.path = path
        self._head = msgspec.json.encode(conditions)
        self._file: BinaryIO | None = None
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        whole = lines[1:-1]  # the last line may be torn
        self._others = lines[0] != self._head and bool(whole)
        self._kept = [] if lines[0] != self._head else whole[:most]
        try:
            self.sums = [msgspec.json.decode(line, type=float) for line in self._kept]
        except msgspec.DecodeError as error:
            raise RecordError(f"{path} can't be read: {error}; move it away to begin anew") from error

    def __enter__(self) -> "WindowLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, values: Sequence[float]) -> None:
        """Written at once. The first time, windows of other conditions are put aside under a dated name."""
        if self._file is None:
            self._file = self._begun()
        self._file.write(b"".join(msgspec.json.encode(value) + b"\n" for value in values))
        self._file.flush()

    def _begun(self) -> BinaryIO:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._others:
            self.path.rename(dated(self.path))
        whole = b"".join(line + b"\n" for line in (self._head, *self._kept))
        if self._others or not self._kept:
            self.path.write_bytes(whole)
        else:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))  # a torn line
        return self.path.open("ab")


def dated(path: Path) -> Path:
    """A name that is free, with the time when the file was last written, UTC."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(path.stat().st_mtime))
    return stamped(path, stamp, path.suffix)
