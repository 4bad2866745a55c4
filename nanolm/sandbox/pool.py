"""`Evaluators`: programs in, official verdicts out, as many sandboxes as there are cores.

Every worker is a thread with one sandbox, which holds one data set's zygote. A program that did not
pass and took a second or more is run once more with nothing else running in the pool, because only
then could a neighbour have cost it its time limit (an input's limit is at least one second). So is one
that ended without the evaluator's verdict: it may not have been the program that brought the sandbox down.
"""

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from nanolm.errors import SandboxError, unknown
from nanolm.sandbox import stream, truth
from nanolm.sandbox.datasets import Dataset
from nanolm.sandbox.probe import probe
from nanolm.sandbox.program import SLOW_SECONDS, Program, ProgramResult, Run, result
from nanolm.sandbox.truth import Prepared, Progress, require_task
from nanolm.sandbox.worker import Worker

PATIENCE_SECONDS = 20.0
"""How long programs of a data set wait while all workers are busy with others."""

FAILURES = 3
"""Sandboxes in a row that can't be started; then no other is tried, which may take minutes each."""


class _Job(msgspec.Struct, eq=False):
    dataset: str
    task: str
    program: str
    future: "Future[ProgramResult]"
    since: float
    first: Run | None = None


class Evaluators:
    """The official evaluators on this machine; a context manager. Safe to use from several threads.

    Parameters: `datasets` by name; `cache`, where `nanolm evaluators install` put the environments
    (`nanolm.sources.cache_folder()`); `workers`, sandboxes at most, by default the cores. Opening
    shows that the sandbox holds and that the evaluators are installed, or raises `SandboxError`.
    Sandboxes start with the first program. A data set's ground truth, when it is missing, is computed
    when its first program comes; `report` is then told how far it is.
    """

    def __init__(
        self,
        datasets: Mapping[str, Dataset],
        cache: Path,
        *,
        workers: int | None = None,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        probe()
        self._prepared = {name: truth.locate(data, cache) for name, data in datasets.items()}
        self._report = report
        self._known: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, deque[_Job]] = {name: deque() for name in datasets}
        self._alone: deque[_Job] = deque()
        self._pending: dict[tuple[str, str, bytes], Future[ProgramResult]] = {}
        self._change = threading.Condition()
        self._running = 0
        self._preparing = 0
        self._exclusive = False
        self._closed = False
        self._failures = 0
        self._failure = ""
        self.starved = 0
        """Programs that did not pass while the machine was too busy to say that they would not have."""
        self.workers = [Worker(n) for n in range(workers or len(os.sched_getaffinity(0)))]
        self._serving: dict[int, str] = {}
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all sandboxes at once; programs without a verdict get a `SandboxError`. May be called twice."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for worker in self.workers:
            worker.kill()
        for thread in self._threads:
            thread.join(timeout=30)
        with self._change:
            left = list(self._pending.values())
            self._pending.clear()
        for future in left:
            if not future.done():
                future.set_exception(SandboxError("the evaluators were closed before this verdict"))

    def cache_key(self, dataset: str) -> str:
        """What a stored verdict depends on beside program and task: evaluators, data, Python, sandbox."""
        return self._find(dataset).key()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets it was opened with."""
        return tuple(self._prepared)

    def locate(self, dataset: str) -> Prepared:
        """Where the data set's evaluator, file and ground truth are."""
        return self._find(dataset)

    def prepare(self, dataset: str) -> Prepared:
        """Have the data set's ground truth computed now, if it is missing; waits for it."""
        truth.prepare(self._find(dataset), self._report)
        return self._find(dataset)

    def check(self, dataset: str, task: str, program: str) -> ProgramResult:
        """The verdict on one program; waits for it."""
        return self.submit(dataset, task, program).result()

    def check_all(self, programs: Iterable[Program]) -> Iterator[tuple[Hashable, ProgramResult]]:
        """Verdicts as they finish, in whatever order (`stream.verdicts`)."""
        return stream.verdicts(self.submit, programs)

    def submit(self, dataset: str, task: str, program: str) -> "Future[ProgramResult]":
        """Hand a program over. Equal programs for one task that wait or run share one run.

        Raises `UsageError` for an unknown data set; for an unknown or excluded task the future does.
        """
        self._find(dataset)
        key = (dataset, task, hashlib.sha256(program.encode("utf-8", "surrogatepass")).digest())
        with self._change:
            if self._closed:
                raise SandboxError("the evaluators are closed")
            found = self._pending.get(key)
            if found is not None:
                return found
            future: Future[ProgramResult] = Future()
            self._pending[key] = future
            future.add_done_callback(lambda _: self._pending.pop(key, None))
            self._waiting[dataset].append(_Job(dataset, task, program, future, time.monotonic()))
            self._start_thread()
            self._change.notify()
        return future

    def _find(self, dataset: str) -> Prepared:
        if dataset not in self._prepared:
            raise unknown("data set of a code evaluator", dataset, self._prepared)
        return self._prepared[dataset]

    def _start_thread(self) -> None:
        number = len(self._threads)
        busy = self._running + sum(map(len, self._waiting.values())) + len(self._alone)
        if number < len(self.workers) and busy > number:
            worker = self.workers[number]
            thread = threading.Thread(
                target=self._work, args=(worker,), name=f"nanolm-worker-{number}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _work(self, worker: Worker) -> None:
        try:
            while (job := self._take(worker)) is not None:
                alone = job.first is not None
                try:
                    outcome = self._run(worker, job)
                except BaseException as error:
                    self._failed(error)
                    self._release(alone)
                    job.future.set_exception(error)
                    continue
                self._failures = 0
                doubtful = outcome.seconds >= SLOW_SECONDS or outcome.status == "error"
                again = job.first is None and not outcome.passed and doubtful
                self._release(alone)
                if again and not self._closed:
                    job.first = outcome
                    with self._change:
                        self._alone.append(job)
                        self._change.notify_all()
                elif not self._closed:
                    with self._change:
                        self.starved += outcome.starved
                    job.future.set_result(result(outcome, job.first))
        finally:
            worker.stop()

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, SandboxError):
            self._failures += 1
            self._failure = str(error)

    def _run(self, worker: Worker, job: _Job) -> Run:
        if self._failures >= FAILURES:
            raise SandboxError(self._failure)
        prepared = self._prepared[job.dataset]
        if not prepared.ready():
            self._prepare(prepared)
        known = self._known.get(job.dataset)
        if known is None:
            known = self._known[job.dataset] = prepared.entries()
        require_task(prepared, job.task, known)
        return worker.run(prepared, job.task, job.program)

    def _prepare(self, prepared: Prepared) -> None:
        """Compute ground truth with no sample of this pool running: its times become the limits.

        Several workers may come here at once. Each stops counting as running before it waits, or two would
        wait for each other for ever; while one waits, no worker takes a new program.
        """
        with self._change:
            self._preparing += 1
            self._running -= 1
            self._change.notify_all()
            self._change.wait_for(lambda: self._closed or (self._running == 0 and not self._exclusive))
            self._exclusive = True
        try:
            if not self._closed:
                truth.prepare(prepared, self._report)
        finally:
            with self._change:
                self._preparing -= 1
                self._running += 1
                self._exclusive = False
                self._change.notify_all()

    def _take(self, worker: Worker) -> _Job | None:
        """The next program for a worker, of its own data set if it can be; None when all is over."""
        with self._change:
            while not self._closed:
                if not self._exclusive and not self._preparing:
                    name = self._choose(worker)
                    if name is not None:
                        self._serving[worker.number] = name
                        self._running += 1
                        return self._waiting[name].popleft()
                    if self._alone and self._running == 0:
                        self._exclusive = True
                        self._running += 1
                        return self._next_alone(worker)
                self._change.wait()
            return None

    def _next_alone(self, worker: Worker) -> _Job:
        own = self._serving.get(worker.number)
        job = next((job for job in self._alone if job.dataset == own), self._alone[0])
        self._alone.remove(job)
        self._serving[worker.number] = job.dataset
        return job

    def _choose(self, worker: Worker) -> str | None:
        """A worker stays with its data set, because another means a new sandbox, unless others starve."""
        own = self._serving.get(worker.number)
        served = {name for number, name in self._serving.items() if number != worker.number}
        oldest = [(jobs[0].since, name) for name, jobs in self._waiting.items() if jobs]
        late = time.monotonic() - PATIENCE_SECONDS
        unserved = [pair for pair in oldest if pair[1] not in served and pair[1] != own]
        starving = [pair for pair in unserved if pair[0] < late]
        if own is not None and self._waiting[own] and not starving:
            return own
        return min(starving or unserved or oldest, default=(0.0, None))[1]

    def _release(self, alone: bool) -> None:
        with self._change:
            self._running -= 1
            if alone:
                self._exclusive = False
            self._change.notify_all()
