"""A stand-in for a model that predicts each token from all that it sees, in plain Python."""

import math
from collections.abc import Sequence

from nanolm.engines.trees import Tree

VOCABULARY = 300


def log_probability(context: Sequence[int], token: int) -> float:
    """A made-up distribution over tokens that depends on every token of the context and their order."""
    weights = [_weight(context, other) for other in range(VOCABULARY)]
    return math.log(weights[token] / sum(weights))


def log_likelihood(ids: Sequence[int], start: int) -> float:
    return sum(log_probability(ids[:at], ids[at]) for at in range(start, len(ids)))


def _weight(context: Sequence[int], token: int) -> float:
    mixed = 17
    for one in context:
        mixed = (mixed * 31 + one + 1) % 1009
    return 1.0 + (mixed * (token + 3)) % 97


class Reader:
    """What `TransformersEngine` needs of a model. Counts the tokens that it reads, padding included."""

    threads, direct = 1, True

    def __init__(self, shared: bool = True, window: int | None = None) -> None:
        self.shared, self.window = shared, window
        self.read_tokens = 0
        self.batches: list[list[Tree]] = []

    def read(self, rows: Sequence[Tree]) -> list[list[tuple[float, bool]]]:
        self.batches.append(list(rows))
        self.read_tokens += max(len(row.tokens) for row in rows) * len(rows)
        return [[self._predict(row, number) for number in range(len(row.places))] for row in rows]

    def _predict(self, row: Tree, number: int) -> tuple[float, bool]:
        place, target = row.places[number], row.targets[number]
        context = [row.tokens[other] for other in range(place + 1) if place < row.end[other]]
        weights = [_weight(context, other) for other in range(VOCABULARY)]
        return math.log(weights[target] / sum(weights)), weights[target] == max(weights)
