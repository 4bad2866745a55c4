"""Reading an answer from a reply and judging it (protocol §6). Pure functions, one module an answer type.

A module of an answer type has

- `RULES`: the names of its rules, in the order in which they are tried;
- `extract(reply, item) -> Answer`: what the reply says, the rule that decided, and the span it read;
- `judge(answer, item) -> Verdict`: whether that is right;
- `check(item)`: raises `ItemError` for an item that can't be judged; called when the item is made;
- `WHOLE_OUTPUT = True`, where all that was written is read: no reasoning is removed before, and what ran
  into the budget is no truncation.

`extract` and `judge` never raise, whatever the reply, and take time linear in its length.
"""

import importlib
from typing import Protocol

from nanolm.answers.reasoning import Reply
from nanolm.errors import ItemError, unknown
from nanolm.schema import Answer, Item, Verdict

TYPES = (
    *("letter", "label", "number", "math_expression", "code", "tool_calls"),
    *("featherweight_letter", "likeliest"),
)
"""Module names, as in `schema.AnswerType`."""


class AnswerModule(Protocol):
    """What `get` gives."""

    RULES: tuple[str, ...]

    def extract(self, reply: str, item: Item) -> Answer: ...

    def judge(self, answer: Answer, item: Item) -> Verdict: ...

    def check(self, item: Item) -> None: ...


def get(answer_type: str) -> AnswerModule:
    """The module of an answer type, imported when it is first asked for.

    Raises `UsageError` for a type that does not exist.
    """
    if answer_type not in TYPES:
        raise unknown("answer type", answer_type, TYPES)
    module: AnswerModule = importlib.import_module(f"nanolm.answers.{answer_type}")
    return module


def reads_whole_output(answer_type: str) -> bool:
    """Whether a type reads all that was written, unlike §6.1 (ruling 65)."""
    return bool(getattr(get(answer_type), "WHOLE_OUTPUT", False))


def refuse(item: Item, found: str, expected: str) -> ItemError:
    """The error for an item that can't be judged, naming where its row came from."""
    where = item.source or "unknown source"
    return ItemError(
        f"{where}: item {item.id!r} of {item.benchmark!r} can't be judged as {item.answer_type}: "
        f"found {found}; expected {expected}. Mend the row, or exclude it by a written rule"
    )


def settle(answer: Answer, right: bool) -> Verdict:
    """The verdict on an answer: what was settled at reading stays, else right or `wrong`."""
    reason = answer.reason
    if reason is None and not right:
        reason = "wrong"
    return Verdict(
        correct=reason is None,
        reason=reason,
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
    )


def verdict(reply: Reply, item: Item, module: AnswerModule | None = None) -> Verdict:
    """Judge what is left of an output after its reasoning was removed; spans are the output's own.

    A truncated reply is settled before it is read (§6.1, ruling 1). Of one that ran into the budget a
    letter is shown all the same, for people who look at it: unlike a label or a number it can't be
    the front part of another.
    """
    module = module or get(item.answer_type)
    if reply.truncated:
        shown = item.answer_type == "letter" and reply.rule == "length"
        read = module.extract(reply.text, item).value if shown else None
        return Verdict(correct=False, reason="truncated", rule="truncated", answer=read)
    found = module.judge(module.extract(reply.text, item), item)
    if found.span is None or reply.offset == 0:
        return found
    start, end = found.span
    return Verdict(
        correct=found.correct,
        reason=found.reason,
        answer=found.answer,
        rule=found.rule,
        span=(start + reply.offset, end + reply.offset),
        detail=found.detail,
    )
