"""Ctrl-C and SIGTERM end a run in good order: what is recorded stays, the engine goes, the reports say so."""

import signal
import threading
from types import FrameType
from typing import Any

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal ended the run. pytest ends as for Ctrl-C; where in the code it came is of no use to a reader,
    and pytest prints that place for what is called `KeyboardInterrupt` only."""


Interrupted.__module__ = "nanolm"  # pytest's line says `nanolm.Interrupted`


class Signals:
    """The first signal ends the run as Ctrl-C does, the second is let pass, the third ends it at once.

    A job that is cancelled or preempted gets SIGTERM, often several, and has a while to tidy up.
    `trace`: pytest's `--full-trace` is to show where the signal came.
    """

    def __init__(self, *, trace: bool = False) -> None:
        self._error = KeyboardInterrupt if trace else Interrupted
        self._before: dict[int, Any] = {}
        self._count = 0
        self._ending = False
        if threading.current_thread() is threading.main_thread():
            for number in _NUMBERS:
                self._before[number] = signal.signal(number, self._received)

    def _received(self, number: int, _: FrameType | None) -> None:
        self._count += 1
        if self._count == 1 and self._ending:
            return
        if self._count == 1:
            raise self._error(signal.Signals(number).name)
        for one in _NUMBERS:
            signal.signal(one, signal.SIG_DFL)

    def ending(self) -> None:
        """From now on a first signal is let pass, too: the tests are done. What is left is to let workers go
        and to write reports, other plugins' too; a third signal still ends it at once."""
        self._ending = True

    def restore(self) -> None:
        """As before; may be called twice. Not in a run that a signal ended: it is on its way out, and a late
        second signal would take its exit status away."""
        while self._before and not self._count:
            number, handler = self._before.popitem()
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, handler)
