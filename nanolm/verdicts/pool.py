"""A few processes that ask math-verify, each of which can be killed (ruling 40).

A question has 10 s of its worker's processor time, so that a busy machine does not change a verdict;
60 s on the clock is the last resort. A question that runs out of time is "not equal". A worker that
dies takes no other question with it: its own is asked once more in a fresh worker.
"""

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from pathlib import Path

import msgspec

import nanolm
from nanolm.answers import math_expression
from nanolm.errors import NanoLMError
from nanolm.verdicts import versions
from nanolm.verdicts.worker import READY

SECONDS = 10.0
"""Processor time for one question."""
_WALL = 6.0  # times as long on the clock, at most
_START = 120.0  # seconds for a worker to load sympy on a very busy machine


class Equality(msgspec.Struct, frozen=True):
    """What the library said, or why it could not say it."""

    equal: bool
    note: str = ""
    """Empty when the library answered; else a time-out or how its process ended."""
    timed_out: bool = False


class _Died(Exception):
    """The worker ended without an answer."""


class _Worker:
    """One process. Used by one thread, which also starts it: Linux ends it with that thread."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def ask(self, gold: str, expression: str) -> Equality:
        """One question; starts the process when there is none. Raises `_Died`."""
        process = self._process or self._start()
        question = json.dumps([gold, expression]).encode() + b"\n"
        try:
            assert process.stdin is not None
            process.stdin.write(question)
            process.stdin.flush()
            line = self._line(process, self.seconds * _WALL)
        except (BrokenPipeError, EOFError):
            code = self._end()
            if code == -signal.SIGPROF:
                return self._late()
            raise _Died(f"signal {-code}" if code < 0 else f"exit status {code}") from None
        except TimeoutError:
            self._end()
            return self._late()
        return Equality(line == b"1\n")

    def _late(self) -> Equality:
        return Equality(False, f"math-verify: no answer in {self.seconds:g} s, not equal", timed_out=True)

    def _start(self) -> subprocess.Popen[bytes]:
        package = str(Path(nanolm.__file__).parents[1])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "nanolm.verdicts.worker", str(os.getpid()), str(self.seconds)]
        # A fixed hash seed: the order of sets must not reach a verdict.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._process, self._buffer = process, b""
        try:
            ready = self._line(process, _START)
        except (EOFError, TimeoutError):
            ready = b""
        if ready != READY:
            code = self._end()
            raise NanoLMError(
                f"the math judge did not start (`{sys.executable} -m nanolm.verdicts.worker` ended with "
                f"status {code}); check the installation: pip install 'nanolm[math]'"
            )
        return process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        file = process.stdout.fileno()
        poll = select.poll()
        poll.register(file, select.POLLIN | select.POLLHUP)
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            data = os.read(file, 4096)
            if not data:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"

    def _end(self) -> int:
        """Ends the process, whatever it is doing; gives its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            # It may be dying by itself; its own status says why.
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    close = _end

    def kill(self) -> None:
        """From another thread: the one that waits for an answer sees the end of the process."""
        process = self._process
        if process is not None:
            process.kill()


_Job = tuple[str, str, "Future[Equality]"]


class MathPool:
    """`submit(gold, expression)` from any thread; workers start when there is work for them."""

    def __init__(self, workers: int | None = None, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.workers = max(1, workers or _cores())
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._running: list[_Worker] = []
        self._idle = 0
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, gold: str, expression: str) -> "Future[Equality]":
        """The library's word on two expressions; the future fails only when no worker can start.

        Raises `NanoLMError` when the library is not installed.
        """
        versions.require(math_expression.PACKAGES)
        future: Future[Equality] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the math judge is closed")
            self._jobs.put((gold, expression, future))
            if self._jobs.qsize() > self._idle and len(self._threads) < self.workers:
                thread = threading.Thread(target=self._serve, name="nanolm-math", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _serve(self) -> None:
        worker = _Worker(self.seconds)
        self._running.append(worker)
        try:
            while True:
                with self._lock:
                    self._idle += 1
                job = self._jobs.get()
                with self._lock:
                    self._idle -= 1
                if job is None:
                    return
                gold, expression, future = job
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    future.set_result(self._asked(worker, gold, expression))
                except BaseException as error:
                    future.set_exception(error)
        finally:
            worker.close()

    def _asked(self, worker: _Worker, gold: str, expression: str) -> Equality:
        """The answer, asked once more in a fresh process when the first one died."""
        for last in (False, True):
            if self._closed:
                raise CancelledError
            try:
                return worker.ask(gold, expression)
            except _Died as died:
                if self._closed:
                    raise CancelledError from None
                if last:
                    return Equality(False, f"math-verify: its process died twice ({died}), not equal")
        raise AssertionError

    def close(self) -> None:
        """Ends all processes at once; questions without an answer are cancelled."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job[2].cancel()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            while thread.is_alive():  # one that was just starting its process needs a second stroke
                for worker in list(self._running):
                    worker.kill()
                thread.join(0.2)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
