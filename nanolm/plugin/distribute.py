"""pytest-xdist: each worker runs its own share of the tests; the controller runs the engine."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from xdist.scheduler import EachScheduling  # type: ignore[import-untyped]

SHARE = "nanolm_share"


class Shares(EachScheduling):  # type: ignore[misc]
    """Every worker runs all of its own, different collection.

    `on_collected` is told all test ids once each worker has collected: then it is known what to generate.
    """

    def __init__(self, config: pytest.Config, log: Any, on_collected: Callable[[list[str]], None]) -> None:
        super().__init__(config, log)
        self._on_collected = on_collected

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if not self.collection_is_completed:
            super().add_node_collection(node, collection)
            if self.collection_is_completed:
                self._on_collected([test for tests in self.node2collection.values() for test in tests])
            return
        # a worker in a dead one's place: it has the same share, and goes on behind the test that crashed
        share = node.workerinput[SHARE][0]
        for dead in list(self._removed2pending):
            if dead.workerinput[SHARE][0] == share:
                self.node2collection[node] = list(collection)
                self.node2pending[node] = self._removed2pending.pop(dead)
                return


class ShareNumbers:
    """Which share each worker has; a replacement gets the dead one's."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._taken: dict[str, int] = {}

    def give(self, worker: str) -> tuple[int, int]:
        """Share number and number of shares."""
        free = next(n for n in range(self.workers + 1) if n not in self._taken.values())
        self._taken[worker] = free
        return free, self.workers

    def take_back(self, worker: str) -> None:
        """A worker is down."""
        self._taken.pop(worker, None)
