r"""Reading a mathematical expression and judging it with math-verify (§6, rulings 34, 38 to 43).

The rules in order; the first that matches wins:

1. `box`: the content of the last `\boxed{}`; `empty-box` when it is blank, and `cut-box` when the last
   box never closes and an earlier one does (ruling 34).
2. `answer-line`: else the rest of the last `Answer:` line; `empty-line` when it is blank.
3. `no-answer`: neither stands in the reply. There is no "last expression" rule.

One enclosing tag around the whole reply or the rest of an answer line is taken off (ruling 21). A box or
line with nothing but white space in it, LaTeX's too, is blank.

A matched rule that gives nothing is unparseable; no later rule is tried (ruling 33).

`judge` runs the library in this process, without a time limit. `nanolm.verdicts` runs `equal` in worker
processes that can be killed (ruling 40); everything that judges many replies goes that way.
"""

import re

from nanolm.answers import boxes, markup, refuse
from nanolm.schema import Answer, Item, Verdict

RULES = ("box", "empty-box", "cut-box", "answer-line", "empty-line", "no-answer")

PACKAGES = ("math-verify", "latex2sympy2_extended", "sympy", "antlr4-python3-runtime")
"""The distributions whose versions decide a verdict (ruling 40)."""

# Markdown that may stand around an answer on its line, with white space. A single "_" is a subscript.
_EMPHASIS = markup.WHITE + "*`"
_NOTHING = re.compile(r"(?:\\[,;:!> ]|\\quad|\\qquad|[~\s{}])*")
"""White space in LaTeX."""
_LONGEST_BLANK = 100


def extract(reply: str, item: Item) -> Answer:
    """The expression as it is written, outer white space removed. Never raises; linear in the reply."""
    del item  # the same rules for every item
    box = boxes.last(reply)
    if box == boxes.UNCLOSED:
        return Answer(None, "cut-box", None, "unparseable")
    if box is not None:
        return _read(reply, *markup.trim(reply, box.inner_start, box.inner_end), "box", "empty-box")
    line = markup.answer_line(reply, *markup.unwrap(reply))
    if line is None:
        return Answer(None, "no-answer", None, "unparseable")
    inner = markup.unwrap(reply, *_without_emphasis(reply, line[1], line[2]))
    return _read(reply, *inner, "answer-line", "empty-line")


def _read(reply: str, start: int, end: int, rule: str, when_empty: str) -> Answer:
    if start >= end or (end - start < _LONGEST_BLANK and _NOTHING.fullmatch(reply, start, end)):
        return Answer(None, when_empty, (start, start), "unparseable")
    return Answer(reply[start:end], rule, (start, end))


def _without_emphasis(reply: str, start: int, end: int) -> tuple[int, int]:
    """The rest of an answer line without the emphasis that stands around it or around the whole line.

    `**Answer:** 5`, `**Answer: 5**` and `Answer: **5**` are one answer (principle 4).
    """
    start, end = markup.trim(reply, start, end, _EMPHASIS)
    if end - start > 4 and reply.startswith("__", start) and reply.endswith("__", start, end):
        start, end = markup.trim(reply, start + 2, end - 2, _EMPHASIS)
    return start, end


def passed_on(expression: str) -> str:
    """What the library reads of an expression: one trailing full stop removed (ruling 38)."""
    expression = expression.strip()
    if expression.endswith("."):
        expression = expression[:-1].rstrip()
    return expression


def same_text(gold: str, expression: str) -> bool:
    """Written the same: equal without asking the library."""
    return passed_on(gold) == passed_on(expression)


def equal(gold: str, expression: str) -> bool:
    r"""Whether math-verify holds the two for equivalent: gold first, in `$...$`, the other in a box.

    No time limit inside (ruling 40); call it where it can be killed. Whatever the library raises is
    "not equal": it can raise anything on odd input.
    """
    from math_verify import parse, verify

    try:
        ours = parse(f"${gold}$", parsing_timeout=None)
        theirs = parse(f"\\boxed{{{passed_on(expression)}}}", parsing_timeout=None)
        return bool(verify(ours, theirs, timeout_seconds=None))
    except Exception:
        return False


def check(item: Item) -> None:
    """Raises `ItemError` for an item without a gold expression."""
    if not isinstance(item.gold, str) or not item.gold.strip():
        raise refuse(item, f"gold {item.gold!r}", "an expression")


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when math-verify holds the answer for equivalent to `item.gold` (ruling 38)."""
    correct = answer.reason is None and (same_text(item.gold, answer.value) or equal(item.gold, answer.value))
    return verdict(answer, correct)


def verdict(answer: Answer, correct: bool, detail: str = "") -> Verdict:
    """The verdict on an answer that was found equal or not."""
    return Verdict(
        correct=correct,
        reason=None if correct else answer.reason or "wrong",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=detail,
    )
