"""llama.cpp for GGUF files on a processor, in a process of its own (`llamacpp_worker`).

The worker's log goes to a file, a broken model file can't take the run down with it, and the worker
ends when this process does. One that dies is started again and asked for what was left. All requests are
handed over at once; llama.cpp batches its slots.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from nanolm.engines.engine import Generation
from nanolm.errors import EngineError
from nanolm.schema import Request

SLOTS = 16
"""Requests that are batched; 16 gave the most tokens/s on two cores."""
DRAFTS_FROM = 1024
"""The budget from which replies that repeat themselves are worth drafts; at 256 tokens they cost time."""
ATTEMPTS = 3
"""How often the worker may end without an output in between."""
_TOKENIZE_CONTEXT = 512
_MAGIC = b"GGUF"


def installed_version() -> str:
    """The version of xllamacpp; `EngineError` when it is not installed."""
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        raise EngineError(
            "llama.cpp is not installed; install it with `pip install 'nanolm[cpu]'`, or choose another"
            " engine with --engine"
        ) from None


class LlamaCppEngine:
    """The `Engine` for GGUF files; stops at the file's own end-of-generation tokens."""

    name = "llamacpp"
    worker = "nanolm.engines.llamacpp_worker"

    def __init__(self, model: Path, *, log: Path, slots: int = SLOTS, threads: int | None = None) -> None:
        """`log` takes all that llama.cpp prints. `EngineError` for a file that is no GGUF file."""
        self.version = installed_version()
        self.model, self.log = model, log
        self.slots, self.threads = slots, threads or len(os.sched_getaffinity(0))
        self.restarts: list[str] = []
        """Why each restart was needed; for run.json."""
        self.settings: dict[str, Any] = {"slots": slots, "threads": self.threads}
        self._worker: subprocess.Popen[str] | None = None
        self._started: tuple[int, int, bool] | None = None
        self._loaded = False
        self._closed = False
        try:
            with model.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise EngineError(f"the model file {model} can't be read: {error.strerror}") from None
        if magic != _MAGIC:
            raise EngineError(f"{model} is no GGUF file: it starts with {magic!r}, expected {_MAGIC!r}")

    @property
    def at_once(self) -> int:
        """How many requests are worked on together."""
        return self.slots

    def tokenize(self, text: str) -> list[int]:
        """Token ids by llama.cpp's own tokenizer: special tokens read as such, none added (§5)."""
        worker = self._worker or self._start(_TOKENIZE_CONTEXT, slots=1, drafts=False)
        self._send(worker, {"tokenize": text})
        return list(self._receive(worker)["tokens"])

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """As in `nanolm.engines.engine.Engine`; `EngineError` when llama.cpp can't start or dies."""
        if any(one.alternatives for one in requests):
            raise EngineError("llama.cpp gives no log-likelihoods of a prompt here; choose another --engine")
        if not requests:
            return
        slots = min(self.slots, len(requests))
        longest = max(len(request.prompt_ids) + request.max_tokens for request in requests)
        greedy = all(request.decoding.temperature == 0 for request in requests)
        drafts = greedy and max(request.max_tokens for request in requests) >= DRAFTS_FROM
        as_asked = (longest + 8) * slots, slots, drafts
        if self._started != as_asked:
            self._end()
            self._start(*as_asked)
        waiting = dict(enumerate(requests))
        ends = 0  # since the last output
        while waiting:
            try:
                for generation in self._ask(waiting):
                    ends = 0
                    yield generation
            except EngineError as error:
                ends += 1
                if ends >= ATTEMPTS or self._closed:
                    raise
                self.restarts.append(str(error))
                self._start(*as_asked)

    def _ask(self, waiting: dict[int, Request]) -> Iterator[Generation]:
        """Hand over what waits; what is answered waits no more."""
        worker = self._worker
        assert worker is not None
        started = time.time()
        with contextlib.suppress(OSError):  # it died: what it answered before is read first
            for number, request in waiting.items():
                self._send(worker, {"number": number, "parameters": parameters(request)})
        while waiting:
            answer = self._receive(worker)
            error = answer.get("error")
            yield Generation(
                request=waiting.pop(answer["number"]),
                text=answer.get("text", ""),
                finish_reason="error" if error else answer["finish_reason"],
                output_tokens=answer.get("output_tokens", 0),
                error=error,
                started=started,
                seconds=answer["seconds"],
            )

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """llama.cpp's server gives no log-likelihoods of a prompt."""
        raise EngineError("llama.cpp gives no log-likelihoods of a prompt here; choose --engine=vllm")

    def close(self) -> None:
        """Ends the worker; may be called twice."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        worker, self._worker, self._started = self._worker, None, None
        if worker is None:
            return
        worker.kill()
        worker.wait(timeout=30)
        for stream in (worker.stdin, worker.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def _start(self, context: int, slots: int, drafts: bool) -> "subprocess.Popen[str]":
        """`drafts`: tokens are proposed from what the reply repeats, and kept where the model agrees.

        Only for greedy decoding, where the model's own choice is the test of a proposal. A small model that
        writes the same lines again and again to its budget then takes about half the time.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        settings = {
            "model": str(self.model),
            "context": context,
            "slots": slots,
            "threads": self.threads,
            "drafts": drafts,
        }
        with self.log.open("ab") as log:
            self._worker = subprocess.Popen(
                [sys.executable, "-m", self.worker, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for the run, which then closes the engine itself
            )
        self._started = context, slots, drafts
        self.settings |= {"context_per_slot": context // slots, "batched": slots, "drafts": drafts}
        self._receive(self._worker)  # "ready"
        self._loaded = True
        return self._worker

    def _send(self, worker: "subprocess.Popen[str]", message: Mapping[str, Any]) -> None:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(message) + "\n")
        worker.stdin.flush()

    def _receive(self, worker: "subprocess.Popen[str]") -> dict[str, Any]:
        assert worker.stdout is not None
        line = worker.stdout.readline()
        if not line:
            raise self._died(worker)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self, worker: "subprocess.Popen[str]") -> EngineError:
        self._end()
        words = self.log.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        ended = f"llama.cpp ended with status {worker.returncode}: {words[0][:300]} (all of it in {self.log})"
        return EngineError(ended if self._loaded else f"{ended}. Is {self.model} whole?")


def parameters(request: Request) -> dict[str, Any]:
    """What llama.cpp is asked; every sampling value is sent, its own defaults never apply (§5)."""
    decoding = request.decoding
    return {
        "prompt": list(request.prompt_ids),
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "top_k": decoding.top_k,
        "min_p": decoding.min_p,
        "repeat_penalty": decoding.repetition_penalty,
        "repeat_last_n": len(request.prompt_ids) + request.max_tokens,  # over all, as vLLM does
        "typical_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "dry_multiplier": 0.0,
        "xtc_probability": 0.0,
        "mirostat": 0,
        "cache_prompt": False,
    }
