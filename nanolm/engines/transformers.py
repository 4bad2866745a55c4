"""transformers on a processor, in the edition's precision: log-likelihoods, and greedy text.

Any causal model that transformers loads without code of its own, base or chat. It runs in this process and
yields results batch by batch, longest requests first.
"""

import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

from nanolm.engines import trees
from nanolm.engines.causal import Reader, totals
from nanolm.engines.engine import Generation
from nanolm.engines.gather import Gathered
from nanolm.engines.trees import Tree
from nanolm.errors import EngineError
from nanolm.schema import Alternative, Request

BATCH_TOKENS = 512
"""Tokens that are read at once, padding included; more gave no more tokens/s."""
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
            if self._reader.left_out:
                self.settings["tensors_left_out"] = self._reader.left_out
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
        """`score` of many pairs, in their order."""
        if any(not prompt or not continuation for prompt, continuation in pairs):
            raise EngineError("a log-likelihood needs at least one token to condition on, and one to score")
        every = [Alternative((*prompt, *continuation), len(prompt)) for prompt, continuation in pairs]
        rows = trees.forest(every, shared=False)
        found: list[tuple[Tree, Sequence[tuple[float, bool]]]] = []
        for batch in self._batches(rows):
            chosen = [rows[place] for place in batch]
            read, problem = _read(self.reader, chosen)
            if read is None:
                raise EngineError(f"{self.model} can't read this text: {problem}")
            found += zip(chosen, read, strict=True)
        return totals(found, len(every)).loglikelihoods

    def close(self) -> None:
        """Ends what is under way after its batch, and lets the model go; may be called twice."""
        self._closed = True
        self._reader = None

    # log-likelihoods

    def _is_closed(self) -> bool:
        """Another thread may have closed it between two batches."""
        return self._closed

    def _score(self, requests: Sequence[Request]) -> Iterator[Generation]:
        if not requests or self._closed:
            return
        reader = self.reader
        owners = [
            (number, place) for number, one in enumerate(requests) for place, _ in enumerate(one.alternatives)
        ]
        every = [one for request in requests for one in request.alternatives]
        rows = trees.forest(every, reader.shared, reader.window)
        started, beginning = time.time(), time.monotonic()
        gathered = [Gathered(request, started) for request in requests]
        for batch in self._batches(rows):
            if self._is_closed():
                return
            predicted, problem = _read(reader, [rows[place] for place in batch])
            seconds = time.monotonic() - beginning
            for line, place in enumerate(batch):
                for owner, value, likeliest in _sums(rows[place], predicted[line] if predicted else None):
                    number, option = owners[owner]
                    done = gathered[number].add(option, value, problem or None, seconds, likeliest)
                    if done is not None:
                        yield done

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


def _read(reader: Reader, rows: Sequence[Tree]) -> tuple[Sequence[Sequence[tuple[float, bool]]] | None, str]:
    """What was predicted, or why nothing was."""
    try:
        return reader.read(rows), ""
    except IndexError as error:
        return None, f"a token id outside the model's vocabulary: {error}"
    except RuntimeError as error:  # torch: out of memory, most often
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _sums(
    row: Tree, predicted: Sequence[tuple[float, bool]] | None
) -> Iterator[tuple[int, float | None, bool]]:
    """Each alternative of a row: its sum, None of what failed, and whether every token was the likeliest."""
    if predicted is None:
        yield from ((owner, None, False) for owner in dict.fromkeys(row.owners))
        return
    found: dict[int, tuple[float, bool]] = {}
    for owner, (value, likeliest) in zip(row.owners, predicted, strict=True):
        before, all_before = found.get(owner, (0.0, True))
        found[owner] = before + value, all_before and likeliest
    for owner, (value, likeliest) in found.items():
        yield owner, value, likeliest
