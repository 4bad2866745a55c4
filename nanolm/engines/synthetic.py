"""Entries without a model: they write what a perfect, a constant and a guessing model would.

They confirm the whole path from item to score (protocol §10): the oracle must reach exactly 1 in
every benchmark, the constant a skill of 0, and random guessing about 0.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from nanolm import __version__
from nanolm.engines.engine import Generation
from nanolm.errors import EngineError
from nanolm.schema import Item, Request, Scored

Kind = Literal["oracle", "constant", "random"]
_OPEN_ENDED = ("number", "math_expression", "code", "tool_calls")
ItemsOf = Callable[[str], Sequence[Item]]
"""A benchmark's slug to all its items, of which the best constant answer is the commonest gold."""


class SyntheticEngine:
    """Replies in the required final form (§4); `random` draws from the request's seed."""

    name = "synthetic"
    version = __version__

    def __init__(self, kind: Kind, items_of: ItemsOf) -> None:
        self.kind = kind
        self._items_of = items_of
        self._benchmark = self._constant = ""
        self._items: dict[str, Item] = {}

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """In the order of the requests; nothing is computed ahead."""
        for request in requests:
            try:
                text = self._reply(request)
            except LookupError as error:
                yield Generation(request=request, text="", finish_reason="error", error=str(error))
                continue
            yield Generation(
                request=request, text=text, finish_reason="stop", output_tokens=len(text.split())
            )

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """A synthetic entry has no likelihoods."""
        raise EngineError(f"the synthetic entry {self.kind!r} has no log-likelihoods; choose a model's entry")

    def close(self) -> None:
        """Lets the items go."""
        self._benchmark, self._items = "", {}

    def _reply(self, request: Request) -> str:
        if request.benchmark != self._benchmark:  # requests come benchmark by benchmark
            items = self._items_of(request.benchmark)
            self._benchmark = request.benchmark
            self._items = {item.id: item for item in items}
            self._constant = constant(items)
        item = self._items[request.item]
        if self.kind == "oracle":
            return oracle(item)
        if self.kind == "constant":
            return prefer(item, self._constant) if item.answer_type == "likeliest" else self._constant
        return guess(item, request.seed) or self._constant


def oracle(item: Item) -> str:
    """The gold answer in the form that the item's instruction asks for.

    Raises `LookupError` for a code item without reference solution.
    """
    match item.answer_type:
        case "likeliest":
            return prefer(item, item.gold)
        case "number" | "math_expression":
            return f"\\boxed{{{item.gold}}}"
        case "tool_calls":
            return json.dumps(item.gold, ensure_ascii=False)
        case "code":
            if not item.reference:
                raise LookupError(f"{item.benchmark} {item.id}: the source gives no reference solution")
            fence = "````" if "```" in item.reference else "```"
            return f"{fence}python\n{item.reference}\n{fence}"
        case _:
            return f"Answer: {item.gold}"


def prefer(item: Item, letter: str) -> str:
    """Log-likelihoods that put one option first; of a letter that is no option of this item, none at all."""
    place = ord(letter) - ord("A")
    if place >= len(item.options):
        return "[]"
    values = tuple(0.0 if slot == place else -1.0 for slot in range(len(item.options)))
    scored = Scored(loglikelihoods=values, tokens=(1,) * len(values))
    return msgspec.json.encode(scored).decode()


def constant(items: Sequence[Item]) -> str:
    """One reply for all items of a benchmark: the best constant answer (§8); likeliest: its letter.

    For an open-ended type the chance level is 0 by the protocol, so its constant must not be right by
    luck: a number that is no item's gold, an empty program, an empty list of calls.
    """
    kind = items[0].answer_type
    if kind not in _OPEN_ENDED:
        counts = Counter(str(item.gold) for item in items)
        # the commonest, and among equals the first in alphabetical order: the same on every machine
        best = min(counts, key=lambda answer: (-counts[answer], answer))
        return best if kind == "likeliest" else f"Answer: {best}"
    if kind == "code":
        return "```python\n```"
    if kind == "tool_calls":
        return "[]"
    golds = {str(item.gold) for item in items}
    value = next(n for n in range(987_654_321, 987_654_321 + len(golds) + 1) if str(n) not in golds)
    return f"\\boxed{{{value}}}"


def guess(item: Item, seed: int) -> str | None:
    """A uniform choice among the item's own options; None for an open-ended item."""
    draw = random.Random(seed)
    if item.answer_type == "likeliest":
        return prefer(item, chr(ord("A") + draw.randrange(len(item.options))))
    if item.options:
        return f"Answer: {chr(ord('A') + draw.randrange(len(item.options)))}"
    if item.labels:
        return f"Answer: {draw.choice(item.labels)}"
    return None
