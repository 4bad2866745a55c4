"""How the process ends while a thread is still inside an engine's library.

A run that is interrupted closes its engine, which stops after the batch in hand; `Run.stop` waits for it a
few seconds. Importing torch, loading a model and a long batch take longer and can't be cut short. When the
interpreter is torn down under such a thread, the thread is unwound through torch's C++ frames, and the
process aborts after the reports are written. It is ended without that teardown instead.
"""

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Callable


class Leaving:
    """At the end of the process: if `busy` still, ends it at once with `status()`, output flushed.

    Made as early as can be: what is registered later for the end of the process is done before.
    """

    def __init__(self, busy: Callable[[], bool]) -> None:
        self._busy = busy
        self.status: Callable[[], int] = lambda: 2
        atexit.register(self._leave)

    def forget(self) -> None:
        """Nothing is left to wait for; may be called twice."""
        atexit.unregister(self._leave)

    def _leave(self) -> None:
        if not self._busy():
            return
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, gone or none at all
                stream.flush()
        os._exit(self.status())
