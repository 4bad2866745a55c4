"""Recorded outputs as tests ask for them: each waits for its own."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from nanolm.records import Record
from nanolm.run import state
from nanolm.schema import Output

_PAUSE = 0.05


class Outputs(Protocol):
    """Where a test gets its item's outputs from."""

    def get(self, benchmark: str, item: str, sample: int) -> Output | str:
        """The output; waits for it. A text says why there is none."""
        ...

    def close(self) -> None: ...


class Followed:
    """The outputs that another process records: a worker of pytest-xdist reads along."""

    def __init__(self, folder: Path, run: str, on_new: Callable[[], None] | None = None) -> None:
        self.folder, self.run = folder, run
        self._record = Record(folder)
        self._on_new = on_new
        self._ended: state.State | None = None

    @property
    def record(self) -> Record:
        """The record as far as it was read."""
        return self._record

    def get(self, benchmark: str, item: str, sample: int) -> Output | str:
        """As in `Outputs`."""
        key = (benchmark, item, sample)
        while not self._record.has(key) and self._ended is None:
            # the state first: what was recorded before the end is then surely seen
            now = state.read(self.folder, self.run)
            added = self._record.refresh()
            if now.stage in ("done", "failed"):
                self._ended = now
            elif not added:
                time.sleep(_PAUSE)
            elif self._on_new:
                self._on_new()
        output = self._record.get(*key)
        if output is not None:
            return output
        return (self._ended.error if self._ended else "") or "the record lacks this output"

    def close(self) -> None:
        """May be called twice."""
        self._record.close()
