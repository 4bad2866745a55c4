"""The option with the greatest log-likelihood, for models that are asked nothing and only read.

The output's text is the JSON of a `schema.Scored` that an engine wrote: the log-likelihood of each
option's continuation in nats, in the order of the item's options. The greatest wins: the sum itself
(`normalisation = "none"`, lm-evaluation-harness's acc), or the sum divided by the length of the option's
text in characters (its acc_norm) or UTF-8 bytes (its acc_bytes), without the blank or line break that
stands before it. Of equal options the first wins, as numpy's argmax has it, and the
rule is then `tie`.

There is no reasoning to remove and no truncation. A text that is not such JSON, has another number of
options or a value that is no finite number is unparseable.
"""

import math

import msgspec

from nanolm.answers import refuse, settle
from nanolm.schema import Answer, Item, Scored, Verdict

RULES = ("greatest-sum", "greatest-per-character", "greatest-per-byte", "tie", "none")

WHOLE_OUTPUT = True
"""There is no reasoning to remove."""

_RULE = {"none": RULES[0], "characters": RULES[1], "bytes": RULES[2]}
_UNREADABLE = Answer(None, "none", None, "unparseable")
_decode = msgspec.json.Decoder(Scored).decode


def compared(scored: Scored, item: Item) -> tuple[float, ...]:
    """What the options are compared by: nats, or nats per character or byte of the option's text."""
    if item.normalisation == "none":
        return scored.loglikelihoods
    if item.normalisation == "characters":
        lengths = [len(option) for option in item.options]
    else:
        lengths = [len(option.encode("utf-8", "surrogatepass")) for option in item.options]
    return tuple(value / length for value, length in zip(scored.loglikelihoods, lengths, strict=True))


def read(reply: str, item: Item) -> Scored | None:
    """The log-likelihoods in an output's text; None when they are not those of this item's options."""
    try:
        scored = _decode(reply)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if len(scored.loglikelihoods) != len(item.options) or not all(map(math.isfinite, scored.loglikelihoods)):
        return None
    return scored


def extract(reply: str, item: Item) -> Answer:
    """The letter of the likeliest option, A being the first; the span is the whole text."""
    scored = read(reply, item)
    if scored is None:
        return _UNREADABLE
    values = compared(scored, item)
    best = max(range(len(values)), key=values.__getitem__)  # the first of equals
    rule = "tie" if values.count(values[best]) > 1 else _RULE[item.normalisation]
    return Answer(chr(ord("A") + best), rule, (0, len(reply)))


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when the likeliest option is the gold one."""
    return settle(answer, answer.value == item.gold)


def check(item: Item) -> None:
    """Refuse an item without two options of some text, or whose gold is no option's letter."""
    if len(item.options) < 2 or any(not text.strip() for text in item.options):
        raise refuse(item, f"options {item.options!r:.120}", "at least two texts")
    letters = [chr(ord("A") + place) for place in range(len(item.options))]
    if item.gold not in letters:
        raise refuse(item, f"gold {item.gold!r}", f"a letter from A to {letters[-1]}")
