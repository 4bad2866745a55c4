"""The chance level of a benchmark: the better of two no-skill strategies (§8)."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from nanolm.schema import Item

ChanceRule = Literal["constant", "uniform", "open-ended"]


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """What no skill scores, from 0 to 1."""

    value: float
    """The better of the two."""
    rule: ChanceRule
    constant: float = 0.0
    """Always the same letter or label."""
    uniform: float = 0.0
    """Guessing evenly among each item's options."""
    answer: str | None = None
    """The best constant answer; the first in the alphabet on a tie."""


def chance(items: Sequence[Item]) -> Chance:
    """The chance level from the gold of all items of a benchmark.

    On a tie the rule is `constant` (§8: Banking77's 1/77 both ways is listed as best constant answer).
    No items at all have a chance level of 0.
    """
    choices = [_choices(item) for item in items]
    if not items or any(count == 0 for count in choices):
        return Chance(value=0.0, rule="open-ended")
    golds = Counter(str(item.gold) for item in items)
    best = min(golds, key=lambda gold: (-golds[gold], gold))
    constant = Fraction(golds[best], len(items))
    uniform = sum((Fraction(many, count) for count, many in Counter(choices).items()), Fraction()) / len(
        items
    )
    return Chance(
        value=float(max(constant, uniform)),
        rule="constant" if constant >= uniform else "uniform",
        constant=float(constant),
        uniform=float(uniform),
        answer=best,
    )


def _choices(item: Item) -> int:
    """How many answers there are to guess among; 0 where the answer is open-ended."""
    return len(item.options) or len(item.labels)
