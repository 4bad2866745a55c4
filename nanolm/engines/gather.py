"""Log-likelihoods of a request's alternatives as they come, and the answer once all are known."""

from collections.abc import Sequence

import msgspec

from nanolm.engines.engine import Generation
from nanolm.schema import Alternative, Request, Scored


class Gathered:
    """What is known of one request. It is told once: when all is known, or with the first failure."""

    def __init__(self, request: Request, started: float) -> None:
        self.request, self.started = request, started
        self._found: dict[int, tuple[float, bool | None]] = {}
        self._told = False

    def add(
        self,
        place: int,
        value: float | None,
        error: str | None,
        seconds: float,
        greedy: bool | None = None,
    ) -> Generation | None:
        """One alternative's log-likelihood, or None with the error; `seconds` is what the request took."""
        if self._told:
            return None
        if value is None or not -1e30 < value < 1e30:  # False for NaN too
            self._told = True
            problem = error or f"the model gave {value}, which is no log-likelihood, for alternative {place}"
            return Generation(
                request=self.request, text="", finish_reason="error", error=problem, started=self.started
            )
        self._found[place] = value, greedy
        alternatives = self.request.alternatives
        if len(self._found) < len(alternatives):
            return None
        self._told = True
        values, likeliest = zip(*(self._found[place] for place in range(len(alternatives))), strict=True)
        counts = tuple(len(one.ids) - one.start for one in alternatives)
        answer = Scored(loglikelihoods=values, tokens=counts, greedy=() if None in likeliest else likeliest)
        return Generation(
            request=self.request,
            text=msgspec.json.encode(answer).decode(),
            finish_reason="stop",
            output_tokens=sum(counts),
            started=self.started,
            seconds=seconds,
        )


def fitting(one: Alternative, most: int) -> tuple[Sequence[int], int]:
    """The last `most` tokens of an alternative, and where its continuation begins in them.

    At least one token of context stays: 0 when there is no room for it.
    """
    ids = one.ids[-most:]
    return ids, max(0, one.start - (len(one.ids) - len(ids)))
