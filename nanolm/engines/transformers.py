"""transformers on a processor, in the edition's precision: log-likelihoods, and greedy text.

Any causal model that transformers loads without code of its own, base or chat. It runs in this process and
yields results batch by batch, longest requests first.
"""

import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import msgspec

from nanolm.engines import trees
from nanolm.engines.causal import Reader, totals
from nanolm.engines.engine import Generation
from nanolm.engines.trees import Tree
from nanolm.errors import EngineError
from nanolm.schema import Alternative, Request, Scored

BATCH_TOKENS = 1024
"""Tokens that are read at once, padding included; more gave no more tokens/s on two cores."""
BATCH_TEXTS = 16
"""Texts that are generated at once."""


def installed_version() -> str:
    """The version of transformers; `EngineError` when it is not installed."""
    try:
        return metadata.version("transformers")
    except metadata.PackageNotFoundError:
        raise EngineError(
            "transformers is not installed; install it with `pip install 'nanolm[transformers]'`, or choose "
            "another engine with --engine"
        ) from None


class TransformersEngine:
    """The `Engine` of log-likelihoods. `reader` stands in for a model, in tests."""

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        dtype: str = "float32",
        context: int,
        threads: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        reader: Any = None,
    ) -> None:
        self.version = installed_version() if reader is None else "0"
        self.model, self.revision, self.dtype, self.context = model, revision, dtype, context
        self.batch_tokens = batch_tokens
        self.settings: dict[str, Any] = {"dtype": dtype, "batch_tokens": batch_tokens}
        self._threads = threads
        self._reader = reader
        self._closed = False

    @property
    def reader(self) -> Reader:
        """The model, loaded when it is first needed."""
        if self._reader is None:
            self._reader = Reader(self.model, revision=self.revision, dtype=self.dtype, threads=self._threads)
            self.settings |= {
                "threads": self._reader.threads,
                "shares_prefixes": self._reader.shared,
                "head_on_scored_tokens_only": self._reader.direct,
            }
        found: Reader = self._reader
        return found

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """As in `nanolm.engines.engine.Engine`: first the alternatives to score, then the texts to write."""
        yield from self._score([one for one in requests if one.alternatives])
        yield from self._write([one for one in requests if not one.alternatives])

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """As in `nanolm.engines.engine.Engine`."""
        return self.scores([(prompt_ids, continuation_ids)])[0]

    def scores(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[float]:
        """`score` of many pairs in one batch, in their order."""
        if any(not prompt or not continuation for prompt, continuation in pairs):
            raise EngineError("a log-likelihood needs at least one token to condition on, and one to score")
        rows = [
            trees.grow([Alternative((*prompt, *continuation), len(prompt))])[0]
            for prompt, continuation in pairs
        ]
        read = self.reader.read(rows) if rows else []
        return [totals([(row, found)], 1).loglikelihoods[0] for row, found in zip(rows, read, strict=True)]

    def close(self) -> None:
        """Ends what is under way after its batch, and lets the model go; may be called twice."""
        self._closed = True
        self._reader = None

    # log-likelihoods

    def _score(self, requests: Sequence[Request]) -> Iterator[Generation]:
        if not requests:
            return
        reader = self.reader
        rows: list[tuple[int, Tree]] = []
        for number, request in enumerate(requests):
            rows += [(number, row) for row in self._rows(reader, request.alternatives)]
        waiting = [0] * len(requests)
        for number, _ in rows:
            waiting[number] += 1
        read: dict[int, list[tuple[Tree, Sequence[tuple[float, bool]]]]] = {}
        started = time.time()
        for batch in self._batches([row for _, row in rows]):
            if self._closed:
                return
            clock = time.monotonic()
            try:
                predicted = reader.read([rows[place][1] for place in batch])
            except RuntimeError as error:  # torch: out of memory, an id outside the vocabulary
                predicted = None
                problem = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            except IndexError as error:
                predicted = None
                problem = f"a token id outside the model's vocabulary: {error}"
            seconds = (time.monotonic() - clock) / len(batch)
            for line, place in enumerate(batch):
                number, row = rows[place]
                if number < 0 or waiting[number] < 0:
                    continue
                if predicted is None:
                    waiting[number] = -1
                    yield Generation(request=requests[number], text="", finish_reason="error", error=problem)
                    continue
                read.setdefault(number, []).append((row, predicted[line]))
                waiting[number] -= 1
                if not waiting[number]:
                    yield _generation(requests[number], read.pop(number), started, seconds)

    def _rows(self, reader: Reader, alternatives: Sequence[Alternative]) -> list[Tree]:
        found = trees.grow(alternatives, reader.shared)
        if reader.window is not None and not found[0].chain and found[0].depth > reader.window:
            return trees.grow(alternatives, shared=False)
        return found

    def _batches(self, rows: Sequence[Tree]) -> list[list[int]]:
        """Batches of rows that branch and of rows that don't, longest first."""
        found: list[tuple[int, list[int]]] = []
        for chain in (True, False):
            chosen = [place for place, row in enumerate(rows) if row.chain is chain]
            lengths = [len(rows[place].tokens) for place in chosen]
            grouped = trees.batches(lengths, self.batch_tokens)
            found += [(lengths[batch[0]], [chosen[place] for place in batch]) for batch in grouped]
        found.sort(key=lambda pair: -pair[0])
        return [batch for _, batch in found]

    # text

    def _write(self, requests: Sequence[Request]) -> Iterator[Generation]:
        from nanolm.engines import greedy

        order = sorted(requests, key=lambda one: -len(one.prompt_ids))
        for start in range(0, len(order), BATCH_TEXTS):
            if self._closed:
                return
            yield from greedy.write(
                self.reader, self.model, self.revision, order[start : start + BATCH_TEXTS], self.context
            )


def _generation(
    request: Request,
    rows: Sequence[tuple[Tree, Sequence[tuple[float, bool]]]],
    started: float,
    seconds: float,
) -> Generation:
    found = totals(rows, len(request.alternatives))
    counts = tuple(len(one.ids) - one.start for one in request.alternatives)
    return scored(request, found.loglikelihoods, found.greedy, counts, started, seconds)


def scored(
    request: Request,
    values: Sequence[float],
    greedy: Sequence[bool],
    counts: Sequence[int],
    started: float,
    seconds: float,
) -> Generation:
    """The answer to alternatives; an error when a value is no finite number."""
    answer = Scored(loglikelihoods=tuple(values), tokens=tuple(counts), greedy=tuple(greedy))
    if not all(-1e30 < value < 1e30 for value in values):  # False for NaN too
        problem = f"the model gave log-likelihoods that are no finite numbers: {list(values)}"
        return Generation(request=request, text="", finish_reason="error", error=problem)
    return Generation(
        request=request,
        text=msgspec.json.encode(answer).decode(),
        finish_reason="stop",
        output_tokens=sum(counts),
        started=started,
        seconds=seconds,
    )
