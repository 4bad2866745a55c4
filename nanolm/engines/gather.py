"""Log-likelihoods of one request that come one by one, for engines that score a sequence at a time."""

from collections.abc import Sequence

from nanolm.engines.engine import Generation
from nanolm.engines.transformers import scored
from nanolm.schema import Alternative, Request


class Gathered:
    """What is known of a request's alternatives."""

    def __init__(self, request: Request, started: float) -> None:
        self.request, self.started = request, started
        self._values: dict[int, float] = {}
        self.failed = False

    def add(self, place: int, value: float | None, error: str | None, seconds: float) -> Generation | None:
        """The generation once all alternatives, or the first failure, have come; else None."""
        if self.failed:
            return None
        if value is None:
            self.failed = True
            problem = error or "the engine gave no log-likelihood"
            return Generation(
                request=self.request, text="", finish_reason="error", error=problem, started=self.started
            )
        self._values[place] = value
        alternatives = self.request.alternatives
        if len(self._values) < len(alternatives):
            return None
        values = [self._values[place] for place in range(len(alternatives))]
        counts = [len(one.ids) - one.start for one in alternatives]
        return scored(self.request, values, (), counts, self.started, seconds)


def fitting(one: Alternative, most: int) -> tuple[Sequence[int], int]:
    """The last `most` tokens of an alternative, and where its continuation begins in them.

    At least one token of context stays: 0 when there is no room for it.
    """
    ids = one.ids[-most:]
    return ids, max(0, one.start - (len(one.ids) - len(ids)))
