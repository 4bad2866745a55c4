r"""A number (protocol §6, number). Rules in order; the first that matches decides.

1. `box`: the last `\boxed{}`. One that never closes behind an earlier one is unparseable; one that is
   the only box is no box (ruling 34).
2. `answer-line`: the last line with `Answer:`, its rest.
3. `last-number`: the last number of the reply.
4. `none`: there is none; unparseable.

Rules 1 and 2 want exactly one number (ruling 31), after the last `=` if there is one (ruling 30);
units, currency, percent and other words around it are ignored (ruling 29). Without a number, or with
several, the reply is unparseable, without falling back (ruling 33).

What a number is, is told by `numerals.py`; a minus or a multiple that stands apart from the digits, and
expressions that are no number, by `amounts.py` (rulings 83 to 86). Numbers are compared exactly, without
tolerance, as rational numbers (ruling 35).

Before the rules, one enclosing tag or code fence around the whole reply is taken off (ruling 21).
"""

import re
from functools import lru_cache

from nanolm.answers import amounts, boxes, markup, numerals, rationals, refuse, settle
from nanolm.schema import Answer, Item, Verdict

RULES = ("box", "answer-line", "last-number", "none")

_DIGIT = re.compile(r"[\d¼-¾⅐-⅞]")


def extract(reply: str, item: Item) -> Answer:
    """The number the reply gives, as the text of an integer, decimal or fraction."""
    start, end = markup.unwrap(reply)
    box = boxes.last(reply, start)
    if box == boxes.UNCLOSED:
        return Answer(None, "box", None, "unparseable")
    if isinstance(box, boxes.Box):
        return _only(reply, box.inner_start, box.inner_end, "box")
    line = markup.answer_line(reply, start, end)
    if line is not None:
        return _only(reply, line[1], line[2], "answer-line")
    found = _last_number(reply, start, end)
    if found is None:
        return Answer(None, "none", None, "unparseable")
    return Answer(found.text, "last-number", (found.start, found.end))


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when both are the same rational number."""
    right = isinstance(answer.value, str) and rationals.equal(answer.value, _gold(item.gold))
    return settle(answer, right)


def check(item: Item) -> None:
    """Refuse an item whose gold is not exactly one number."""
    gold = item.gold
    if not isinstance(gold, str) or len(gold) > 1000 or numerals.only(gold, 0, len(gold)) is None:
        raise refuse(item, f"gold {gold!r}", "the text of one number")


def _only(reply: str, start: int, end: int, rule: str) -> Answer:
    """The one number of a box or an answer line."""
    start = max(start, reply.rfind("=", start, end) + 1)
    found = amounts.only(reply, start, end, boxed=rule == "box")
    if found is None:
        return Answer(None, rule, markup.trim(reply, start, end), "unparseable")
    return Answer(found.text, rule, (found.start, found.end))


def _last_number(reply: str, start: int, end: int) -> numerals.Numeral | None:
    """The last number, looked for line by line from the end: no number goes over a line's end."""
    while start < end:
        line = max(start, reply.rfind("\n", start, end) + 1)
        digit = _DIGIT.search(reply, line, end)
        if digit:
            # A sign, a point or `\\dfrac{` may stand before the first digit.
            found = amounts.last(reply, max(line, digit.start() - 16), end, line)
            if found:
                return found
        end = line - 1
    return None


@lru_cache(maxsize=16384)
def _gold(text: str) -> str:
    found = numerals.only(text, 0, len(text)) if isinstance(text, str) else None
    return found.text if found else ""
