"""The order in which options are shown (§3, option order; rulings 71 to 74).

A hash and no random generator decides, so that any language gives the same order for ever:

>>> order("arc-easy", "Mercury_417466", ["a", "b", "c", "d"]).shown
(2, 1, 3, 0)
"""

import functools
import re
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources

import msgspec

from nanolm.schema import Item

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Order(msgspec.Struct, frozen=True):
    """How the options of one item are shown."""

    shown: tuple[int, ...]
    """`shown[slot]` is the index in the source of the option in that slot."""
    pinned: bool = False
    """An option kept its slot."""
    frozen: bool = False
    """All options kept their slots."""

    def options(self, source: Sequence[str]) -> tuple[str, ...]:
        """The texts in the order shown."""
        return tuple(source[index] for index in self.shown)

    def letter(self, gold: int) -> str:
        """The letter under which the option with source index `gold` is shown."""
        return LETTERS[self.shown.index(gold)]


def order(benchmark: str, item: str, options: Sequence[str]) -> Order:
    """The permutation for an item; prompt and gold both come from it (ruling 71)."""
    if any(names_letters(text) for text in options):
        return Order(tuple(range(len(options))), frozen=True)
    kept = [refers_to_options(text) for text in options]
    moving = [index for index, stays in enumerate(kept) if not stays]
    queue = iter(sorted(moving, key=lambda index: sha256(f"{benchmark}/{item}/{index}".encode()).digest()))
    # Ruling 71: a pinned option keeps its slot, the others fill the remaining slots in hash order.
    shown = tuple(index if stays else next(queue) for index, stays in enumerate(kept))
    return Order(shown, pinned=any(kept))


def letter_item(
    *,
    benchmark: str,
    item: str,
    question: str,
    options: Sequence[str],
    gold: int,
    source: str,
    group: str = "",
    documentation: str = "",
) -> tuple[Item, Order]:
    """An item of answer type letter with its options in the order shown, and that order.

    `options` and the index `gold` are the source's. Prompt and gold both come from the one order.
    """
    shown = order(benchmark, item, options)
    made = Item(
        benchmark=benchmark,
        id=item,
        answer_type="letter",
        question=question,
        options=shown.options(options),
        gold=shown.letter(gold),
        documentation=documentation,
        group=group,
        source=source,
    )
    return made, shown


def refers_to_options(text: str) -> bool:
    """Whether an option refers to the other options, so that it keeps its slot (rulings 66, 72)."""
    return _matches("pinned", text)


def names_letters(text: str) -> bool:
    """Whether an option names others by letter, so that the item is not shuffled (ruling 72)."""
    return _matches("frozen", text)


def _matches(kind: str, text: str) -> bool:
    longest, patterns = _patterns()[kind]
    if len(text) > longest:
        return False
    unquoted = re.sub("[‘’“”'\"]", "", text.casefold())
    bare = " ".join(unquoted.split()).strip(" .,;:!-\ufffd")
    return any(pattern.fullmatch(bare) for pattern in patterns)


@functools.cache
def _patterns() -> dict[str, tuple[int, list[re.Pattern[str]]]]:
    """Longest option looked at and the patterns, by kind, from option_patterns.toml."""
    found = tomllib.loads(resources.files(__package__).joinpath("option_patterns.toml").read_text("utf-8"))
    words = {name: "(?:" + "|".join(choices) + ")" for name, choices in found.pop("words").items()}
    kinds = {}
    for kind, table in found.items():
        texts = [re.sub(r"<(\w+)>", lambda match: words[match[1]], text) for text in table["patterns"]]
        kinds[kind] = (table["longest"], [re.compile(text) for text in texts])
    return kinds
