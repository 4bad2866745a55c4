"""One sandbox with one data set's zygote in it, started when needed and again when it died."""

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from typing import IO, Any

import msgspec

from nanolm.errors import SandboxError
from nanolm.sandbox import bubblewrap
from nanolm.sandbox.bubblewrap import Mount
from nanolm.sandbox.environment import check_versions
from nanolm.sandbox.program import Run, Status
from nanolm.sandbox.truth import INSIDE, Prepared
from nanolm.sandbox.zygote import FIRST_CODE, SINGLE_CODE, STATUSES

START_SECONDS = 120.0
SAMPLE_SECONDS = 150.0
"""Two test sets of at most 62 s each by the evaluators' own limits, and what is around them."""


class Late(Exception):
    """No answer in time."""


class Gone(Exception):
    """The sandbox ended."""


class Worker:
    """Runs programs one after another. All calls must come from the thread that made the first one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.prepared: Prepared | None = None
        self.restarts = 0
        self.start_seconds = 0.0
        self._cpu = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._rest = b""

    def run(self, prepared: Prepared, task: str, program: str) -> Run:
        """One official check. Whatever the program does, this returns; the worst is an `error`."""
        self._ensure(prepared)
        start = time.monotonic()
        try:
            self._send({"task": task, "program": program})
            answer = self._receive(SAMPLE_SECONDS)
        except (Late, Gone) as ended:
            said = self.stop()
            self.restarts += 1
            why = "no verdict in time" if isinstance(ended, Late) else "the sandbox ended"
            return error(time.monotonic() - start, f"{why}{'; ' + said if said else ''}")
        cpu, self._cpu = answer["cpu"] - self._cpu, answer["cpu"]
        if answer["last"]:
            self.stop()
            self.restarts += 1
        return msgspec.structs.replace(read(answer), cpu=round(cpu, 4), preemptions=answer["preempted"])

    def stop(self) -> str:
        """End the sandbox and all in it; returns the end of what it wrote to standard error."""
        process, self._process = self._process, None
        if process is None:
            return ""
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return self._said()

    def kill(self) -> None:
        """End the sandbox from another thread: a `run` that waits for it gets an `error`."""
        process = self._process
        if process is not None:
            process.kill()
            if process.stdin:
                # Process 1 inside ends when its input does; as root, killing bubblewrap alone leaves it.
                with contextlib.suppress(OSError, ValueError):
                    process.stdin.close()

    def _ensure(self, prepared: Prepared) -> None:
        if self._process is not None and self.prepared == prepared and self._process.poll() is None:
            return
        self.stop()
        start = time.monotonic()
        truth, index = f"{INSIDE}/truth", f"{INSIDE}/index"
        mounts = [*prepared.mounts(), Mount(prepared.truth, truth), Mount(prepared.index, index)]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _said)
        self._process = bubblewrap.start(
            prepared.inside("serve", truth, index), mounts, user=self.number, errors=self._errors.fileno()
        )
        self.prepared, self._rest = prepared, b""
        try:
            ready = self._receive(START_SECONDS)
        except (Late, Gone):
            raise bubblewrap.explain(self.stop()) from None
        self._cpu = ready["cpu"]
        try:
            check_versions(prepared.environment, ready["versions"])
        except SandboxError:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - start

    def _send(self, message: Any) -> None:
        assert self._process
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Gone from None

    def _receive(self, seconds: float) -> dict[str, Any]:
        assert self._process
        assert self._process.stdout
        channel = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(channel, select.POLLIN)
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise Late
            block = os.read(channel, 1 << 16)
            if not block:
                raise Gone
            self._rest += block
        line, self._rest = self._rest.split(b"\n", 1)
        return dict(json.loads(line))

    def _said(self) -> str:
        errors, self._errors = self._errors, None
        if errors is None:
            return ""
        with errors:
            size = errors.seek(0, os.SEEK_END)
            errors.seek(max(0, size - 2000))
            return errors.read().decode(errors="replace").strip()


def read(answer: dict[str, Any]) -> Run:
    """The checker's exit code as the evaluator's words (ruling 49: only its own marks count)."""
    code, seconds = answer["code"], answer["seconds"]
    if FIRST_CODE <= code < SINGLE_CODE:
        base, plus = divmod(code - FIRST_CODE, 3)
        return Run(base=status(base), plus=status(plus), seconds=seconds)
    if SINGLE_CODE <= code < SINGLE_CODE + len(STATUSES):
        return Run(base=status(code - SINGLE_CODE), plus=None, seconds=seconds)
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    return error(seconds, f"the evaluator's checker was brought down: {how}")


def status(number: int) -> Status:
    words: tuple[Status, ...] = ("pass", "fail", "timeout")
    return words[number]


def error(seconds: float, note: str) -> Run:
    return Run(base="error", plus=None, seconds=round(seconds, 4), note=note)


def check_start(prepared: Prepared) -> tuple[float, float]:
    """Start a sandbox with the data set's zygote and end it; wall and CPU seconds until it was ready."""
    worker = Worker(63)
    try:
        worker._ensure(prepared)
        return worker.start_seconds, worker._cpu
    finally:
        worker.stop()
