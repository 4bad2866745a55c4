"""The interface of an engine: requests in, generations out as they finish."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from nanolm.schema import FinishReason, Request


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine says of one request. `nanolm.run` makes the record's `Output` from it."""

    request: Request
    text: str
    """Special tokens kept."""
    finish_reason: FinishReason
    output_tokens: int = 0
    error: str | None = None
    started: float = 0.0
    """Seconds since the epoch when it was handed over."""
    seconds: float = 0.0


class Engine(Protocol):
    """Writes outputs. Knows nothing of items, prompts' wording or scores."""

    name: str
    version: str

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """Yield one `Generation` per request, in the order in which they finish.

        All requests are handed over as early as the engine can use them, so that it batches.
        A single request's failure is a `Generation` with `finish_reason="error"`; `EngineError` is
        raised only when the engine is gone for good. Of a request with alternatives the text is the JSON
        of a `schema.Scored`; an engine that gives no log-likelihoods answers with an error.
        """
        ...

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """Sum of the continuation's log-likelihood given the prompt, in nats.

        Raises `EngineError` where the engine can't.
        """
        ...

    def close(self) -> None:
        """Free everything the engine holds; may be called twice."""
        ...
