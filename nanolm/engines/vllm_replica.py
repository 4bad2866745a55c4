"""One vLLM worker process, as its supervisor sees it.

A worker dies with the main process, by kill -9 too: a watcher process waits for the end of a pipe that
only the main process holds, and then kills the worker's group.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from nanolm.engines import frames
from nanolm.engines.gather import Gathered
from nanolm.schema import Request

STALL_SECONDS = 600.0
"""A worker that makes no step for so long, with work at hand, is hung."""
START_SECONDS = 1800.0
"""Loading and compiling may take this long."""

_WATCHER = "import os, sys; sys.stdin.read(); os.killpg(int(sys.argv[1]), 9)"


class Replica:
    """One worker process and the requests it has in hand."""

    def __init__(
        self,
        settings: frames.Settings,
        device: str | None,
        log: Path,
        inbox: "queue.Queue[Any]",
        worker: str,
        version: str,
    ):
        self.settings = settings
        self.log = log
        self.in_flight: dict[int, tuple[Request, float, float]] = {}
        self.parts: dict[int, tuple[Gathered, int]] = {}
        """Of those in flight that are an alternative of a request: which, and what is gathered of it."""
        self.heard = time.monotonic()
        self.ready: frames.Ready | None = None
        self.fatal = ""
        self.unfinished_tokens = 0
        self._work_at_hand: list[frames.Ask | frames.Score] = []
        self._log_start = log.stat().st_size if log.exists() else 0
        environment = dict(os.environ, VLLM_NO_USAGE_STATS="1", DO_NOT_TRACK="1")
        if version.endswith("+cpu"):
            # One process, so that the same requests give the same batches (docs/vllm.md).
            environment.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
        if device is not None:
            environment["CUDA_VISIBLE_DEVICES"] = device
        work_read, work_write = os.pipe()
        done_read, done_write = os.pipe()
        command = [sys.executable, "-m", worker, str(work_read), str(done_write)]
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                command,
                pass_fds=(work_read, done_write),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=environment,
                start_new_session=True,
            )
        os.close(work_read)
        os.close(done_write)
        self.watcher = subprocess.Popen(
            [sys.executable, "-S", "-c", _WATCHER, str(self.process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._pipe = os.fdopen(work_write, "wb")
        self._done = os.fdopen(done_read, "rb")
        self.send(settings)
        self._listener = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
        self._listener.start()

    def _listen(self, inbox: "queue.Queue[Any]") -> None:
        message: frames.FromWorker | None
        with self._done:
            while (message := frames.read_from_worker(self._done)) is not None:
                inbox.put((self, message))
        inbox.put((self, None))

    def send(self, message: frames.ToWorker) -> None:
        """Hand a message over; a worker that is gone is noticed by the listener."""
        try:
            frames.write(self._pipe, message)
        except OSError:
            return

    def put(self, message: frames.Ask | frames.Score) -> None:
        """Lay a request ready for `hand_over`."""
        self._work_at_hand.append(message)

    def hand_over(self) -> None:
        """Send what was put, as one message: requests that trickle in make the first batches small."""
        if self._work_at_hand:
            self.send(frames.Work(tuple(self._work_at_hand)))
            self._work_at_hand.clear()

    @property
    def limit(self) -> float:
        """Seconds of silence after which the worker is taken for hung."""
        return STALL_SECONDS if self.ready else START_SECONDS

    def words(self) -> str:
        """Why it ended, as far as it said."""
        if self.fatal:
            return self.fatal
        with self.log.open("rb") as stream:
            stream.seek(self._log_start)
            lines = stream.read()[-4000:].decode(errors="replace").strip().splitlines()
        return f"exit status {self.process.poll()}; last line: {lines[-1] if lines else 'none'}"

    def kill(self) -> None:
        """End the worker, its own children and its watcher; may be called twice."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.watcher.kill()
        self.watcher.wait()
        self._listener.join(timeout=10)
        if self.watcher.stdin:
            self.watcher.stdin.close()
        with contextlib.suppress(OSError):
            self._pipe.close()
