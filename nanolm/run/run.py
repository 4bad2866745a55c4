"""What the record lacks: requests to the engine, outputs into the record as each finishes."""

import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

from nanolm.engines import Engine, Generation
from nanolm.entries import Entry, Renderer, budget, renderer, seed
from nanolm.entries.pairs import pair_encoder
from nanolm.errors import NanoLMError, RecordError
from nanolm.records import Key, Record
from nanolm.run import likelihood, state
from nanolm.run.suite import Selection, Suite
from nanolm.schema import Output, Request

RecordMode = Literal["missing", "none", "all"]
RECORD_MODES: tuple[RecordMode, ...] = ("missing", "none", "all")
_WARM_UP = 2
"""Outputs of each benchmark that are asked for first, so that there is soon an estimate."""


_LAST_BATCH = 5.0
"""Seconds that a stopped run waits for what its engine has in hand."""


class Run:
    """One entry on a selection of one edition's items, in the process that holds the record.

    `prepare` looks at the record, `start` generates in the background, `get` waits for one output,
    `stop` ends early and keeps what is recorded.
    """

    def __init__(
        self,
        suite: Suite,
        entry: Entry,
        record: Record,
        open_engine: Callable[[], Engine],
        *,
        mode: RecordMode = "missing",
        name: str = "",
    ) -> None:
        self.suite, self.entry, self.record, self.mode, self.name = suite, entry, record, mode, name
        self._open_engine = open_engine
        self.engine: Engine | None = None
        self.missing: list[Key] = []
        self.keys: list[Key] = []
        """Outputs asked for, recorded ones included."""
        self.warm_up: tuple[Key, ...] = ()
        """The outputs that are asked for first, spread over the benchmarks; none when some are recorded."""
        self.error = ""
        """Why generation ended early; empty when it did not."""
        self.never_began = False
        """The engine failed before its first output: it could not start, and would not on another try."""
        self.engine_errors = 0
        self._generated = 0
        self.listeners: list[Callable[[Output], None]] = []
        self._news = threading.Condition()
        self._ended = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._patience = 0.0

    @property
    def total(self) -> int:
        """How many outputs are asked for, recorded ones included."""
        return len(self.keys)

    @property
    def busy(self) -> bool:
        """The engine's thread is at work; after `stop`, in what can't be cut short."""
        return self._thread is not None and self._thread.is_alive()

    def prepare(self, selection: Selection) -> None:
        """Find out what is missing. `RecordError` when the record was made under other conditions."""
        missing = []
        for slug in self.suite.generation_order(selection):
            for item in selection[slug]:
                for sample in range(self.entry.samples):
                    key = (slug, item, sample)
                    self.keys.append(key)
                    if not self.record.has(key):
                        missing.append(key)
                    elif differs := self._differences(key):
                        raise RecordError(
                            f"{self.record.folder} was recorded under other conditions: {slug} {item} sample"
                            f" {sample}: {'; '.join(differs)}. Outputs are never mixed: run with"
                            " --record-mode=all to keep that record under a dated name and generate anew, or"
                            " choose another folder with --reports-dir"
                        )
        if len(missing) == len(self.keys) and self.entry.artefact != "synthetic":
            self.warm_up = self._spread(selection)
            first = set(self.warm_up)
            missing = [*self.warm_up, *(key for key in missing if key not in first)]
        self.missing = missing

    def _spread(self, selection: Selection) -> tuple[Key, ...]:
        """A few items of each benchmark, from its whole length, in the order of generation."""
        return tuple(
            (slug, items[(2 * place + 1) * len(items) // (2 * _WARM_UP)], 0)
            for slug in self.suite.generation_order(selection)
            if len(items := selection[slug]) > _WARM_UP
            for place in range(_WARM_UP)
        )

    def _differences(self, key: Key) -> list[str]:
        slug, item, sample = key
        differs = self.record.differences(
            key,
            entry=self.entry.digest,
            seed=seed(slug, item, sample),
            prompt_digest=self.suite.prompt(slug, item).digest,
            decoding=self.entry.decoding.values,
        )
        _, recorded, prompt_tokens = self.record.index.made_under(key)
        now = self._budget(slug, prompt_tokens)
        if recorded != now:
            differs.append(f"max_tokens {recorded} in the record, {now} now")
        return differs

    def _budget(self, slug: str, prompt_tokens: int) -> int:
        """New tokens at most (§5); none where options are scored."""
        if likelihood.asks_likelihoods(self.suite, slug):
            return 0
        return budget(self.entry, self.suite.edition.budget, prompt_tokens)

    def start(self) -> None:
        """Generate what is missing, in a thread of its own; at once for an engine that takes no time."""
        state.write(self.record.folder, state.State(run=self.name, stage="generating"))
        if not self.missing or self.mode == "none":
            self._end()
            return
        instant = self.entry.artefact == "synthetic"
        self._thread = threading.Thread(target=self._generate, name="nanolm-engine", daemon=True)
        if instant:
            self._generate()
        else:
            self._thread.start()

    def get(self, benchmark: str, item: str, sample: int) -> Output | str:
        """As in `Outputs.get`."""
        key = (benchmark, item, sample)
        if not self.record.has(key) and not self._ended.is_set():
            with self._news:
                while not self.record.has(key) and not self._ended.is_set():
                    self._news.wait(timeout=0.5)
        output = self.record.get(*key)
        if output is not None:
            return output
        if self.mode == "none":
            return "the record lacks this output, and --record-mode=none generates nothing"
        return self.error or "the record lacks this output"

    def wait(self, timeout: float | None = None) -> bool:
        """Until generation has ended; False when it has not yet."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """End generation now; what is recorded stays. May be called twice."""
        self._stopping = True
        if not self._ended.is_set():
            self.error = self.error or "the run was stopped before this output was generated"
        if self.engine is not None:
            self.engine.close()
        self._patience = self._patience or time.monotonic() + _LAST_BATCH  # once, however often it is called
        if self._thread is not None and self.busy:
            self._thread.join(timeout=max(0.0, self._patience - time.monotonic()))
        self._end()

    def close(self) -> None:
        """As `stop`, and lets the engine and record go. May be called twice."""
        self.stop()
        self.record.close()

    # in the engine's thread

    def _is_stopping(self) -> bool:
        return self._stopping

    def _generate(self) -> None:
        try:
            engine = self.engine = self._open_engine()
            if self._stopping:  # while it was opened: nobody has closed it
                engine.close()
                return
            requests = list(self._requests(engine))
            for generation in likelihood.once(engine, requests):
                if self._is_stopping():
                    break
                self._keep(engine, generation)
        except NanoLMError as error:
            if not self._stopping:
                self._failed(str(error))
        except Exception as error:
            if not self._stopping:
                self._failed(f"the engine failed: {type(error).__name__}: {error}")
        finally:
            if self.entry.artefact == "synthetic" and self.engine is not None:
                self.engine.close()
            self._end()

    def _failed(self, error: str) -> None:
        self.error = error
        self.never_began = not self._generated

    def _requests(self, engine: Engine) -> Iterator[Request]:
        """Requests for what is missing; a prompt that does not fit is recorded as such at once (§5)."""
        for slug, keys in itertools.groupby(self.missing, key=lambda key: key[0]):
            if self.entry.artefact == "synthetic" or not likelihood.asks_likelihoods(self.suite, slug):
                yield from self._texts(engine, list(keys))
            else:
                yield from self._alternatives(engine, slug, list(keys))

    def _alternatives(self, engine: Engine, slug: str, keys: list[Key]) -> Iterator[Request]:
        encoder = pair_encoder(self.entry)
        for request, problem in likelihood.requests(self.suite, self.entry, encoder, slug, keys):
            if self._stopping:
                return
            if not problem:
                yield request
                continue
            self._keep(
                engine, Generation(request=request, text="", finish_reason="unsupported", error=problem)
            )

    def _texts(self, engine: Engine, keys: list[Key]) -> Iterator[Request]:
        render = renderer(self.entry, getattr(engine, "tokenize", None))
        rendered: tuple[str, str, tuple[int, ...]] = ("", "", ())
        known: dict[int, int] = {}  # one object per token id: a list of prompts takes an eighth
        for slug, item, sample in keys:
            if self._stopping:
                return
            prompt = self.suite.prompt(slug, item)
            if rendered[:2] != (slug, item):
                ids = tuple(known.setdefault(one, one) for one in self._encode(render, prompt.text))
                rendered = (slug, item, ids)
            request = Request(
                benchmark=slug,
                item=item,
                sample=sample,
                seed=seed(slug, item, sample),
                prompt_ids=rendered[2],
                prompt_digest=prompt.digest,
                max_tokens=self._budget(slug, len(rendered[2])),
                decoding=self.entry.decoding.values,
                stop_ids=self.entry.stop_ids,
            )
            if request.max_tokens > 0 or likelihood.asks_likelihoods(self.suite, slug):  # then synthetic
                yield request
                continue
            over = f"the prompt has {len(rendered[2]):,} tokens, the context {self.entry.context:,}"
            self._keep(engine, Generation(request=request, text="", finish_reason="unsupported", error=over))

    def _encode(self, render: Renderer, text: str) -> tuple[int, ...]:
        return render.encode(text).ids if self.entry.artefact != "synthetic" else ()

    def _keep(self, engine: Engine, generation: Generation) -> None:
        request = generation.request
        rendered = _rendered(request)
        output = Output(
            benchmark=request.benchmark,
            item=request.item,
            sample=request.sample,
            seed=request.seed,
            entry=self.entry.digest,
            prompt_digest=request.prompt_digest,
            rendered_digest=hashlib.sha256(rendered.encode()).hexdigest()[:16] if rendered else "",
            decoding=request.decoding,
            max_tokens=request.max_tokens,
            text=generation.text,
            finish_reason=generation.finish_reason,
            prompt_tokens=len(request.prompt_ids) or sum(len(one.ids) for one in request.alternatives),
            output_tokens=generation.output_tokens,
            error=generation.error,
            started=generation.started or time.time(),
            seconds=generation.seconds,
            engine=engine.name,
            engine_version=engine.version,
        )
        if output.finish_reason == "error":
            self.engine_errors += 1
        elif output.finish_reason != "unsupported":
            self._generated += 1
        self.record.append(output)
        for listener in self.listeners:
            listener(output)
        with self._news:
            self._news.notify_all()

    def _end(self) -> None:
        if self._ended.is_set():
            return
        stage: state.Stage = "failed" if self.error else "done"
        error = self.error
        if not error and self.mode == "none":
            error = "the record lacks this output, and --record-mode=none generates nothing"
        state.write(self.record.folder, state.State(run=self.name, stage=stage, error=error))
        self._ended.set()
        with self._news:
            self._news.notify_all()


def _rendered(request: Request) -> str:
    """The ids that the engine got, as text (`Output.rendered_digest`)."""
    if not request.alternatives:
        return " ".join(map(str, request.prompt_ids))
    parts = ((one.ids[: one.start], one.ids[one.start :]) for one in request.alternatives)
    return "\n".join(f"{' '.join(map(str, context))} | {' '.join(map(str, rest))}" for context, rest in parts)
