"""Featherweight v1's own way from a reply to a letter: a fixed list of steps, unlike protocol §6.

1. `parenthesised`: (A), (B), (C) or (D) anywhere.
2. `answer-is`: "answer" in any case, perhaps "is", perhaps punctuation, and a letter that stands alone.
3. `starts-with-letter`: the reply begins with a letter followed by a space, full stop, comma or
   closing bracket.
4. `choice-text`: a choice's whole text, in any case, at word boundaries.
5. `any-letter`: any letter that stands alone.
6. `first-character`: the first character is a letter, in any case.
7. `none`: a parse error, counted apart and wrong (reason `unparseable`).

Within a step the earliest hit wins, of texts at the same place the longest (ruling 63). Letters are
capitals except in step 6 (ruling 64). There is no rule for truncation: what was written is scored, a
20-token cap being part of the design (ruling 65), so reasoning removal is not for this type.
"""

import re
from functools import lru_cache

from nanolm.answers import refuse, settle
from nanolm.schema import Answer, Item, Verdict

WHOLE_OUTPUT = True
RULES = (
    "parenthesised",
    "answer-is",
    "starts-with-letter",
    "choice-text",
    "any-letter",
    "first-character",
    "none",
)

_PARENTHESISED = re.compile(r"\(([A-D])\)")
# "answer" touches no letter on its right ("answers" is another word); punctuation is anything that is
# neither letter, digit nor white space.
_ANSWER_IS = re.compile(
    r"[Aa][Nn][Ss][Ww][Ee][Rr](?!\w)(?:\s*+[Ii][Ss](?!\w))?+[\W_]*+([A-D])(?![^\W_])(?<![^\W_][A-D])"
)
_STARTS = re.compile(r"\s*+([A-D])[\s.,)\]}]")
_ALONE = re.compile(r"(?<!\w)([A-D])(?!\w)")


def extract(reply: str, item: Item) -> Answer:
    """The letter by the first step that fits."""
    for rule, pattern in (("parenthesised", _PARENTHESISED), ("answer-is", _ANSWER_IS)):
        found = pattern.search(reply)
        if found:
            return Answer(found[1], rule, found.span(1))
    found = _STARTS.match(reply)
    if found:
        return Answer(found[1], "starts-with-letter", found.span(1))
    answer = _choice_text(reply, item.options)
    if answer:
        return answer
    found = _ALONE.search(reply)
    if found:
        return Answer(found[1], "any-letter", found.span(1))
    at = len(reply) - len(reply.lstrip())
    if reply[at : at + 1] in tuple("ABCDabcd"):
        return Answer(reply[at].upper(), "first-character", (at, at + 1))
    return Answer(None, "none", None, "unparseable")


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when the letter is the gold letter."""
    return settle(answer, answer.value == item.gold)


def check(item: Item) -> None:
    """Refuse an item that has not four choices and a gold of A to D."""
    if len(item.options) != 4 or any(not text.strip() for text in item.options):
        raise refuse(item, f"choices {item.options!r}", "four texts")
    if item.gold not in ("A", "B", "C", "D"):
        raise refuse(item, f"gold {item.gold!r}", "A, B, C or D")


def _choice_text(reply: str, choices: tuple[str, ...]) -> Answer | None:
    found = _choices(choices).search(reply)
    if found is None or found.lastindex is None:
        return None
    return Answer(chr(ord("A") + int((found.lastgroup or "c0")[1:])), "choice-text", found.span())


@lru_cache(maxsize=4096)
def _choices(texts: tuple[str, ...]) -> re.Pattern[str]:
    """All choices as one pattern, longest first, so that the earliest hit is the longest there."""
    named = sorted(enumerate(texts), key=lambda pair: (-len(pair[1]), pair[0]))
    parts = [
        rf"(?P<c{index}>{_edge(text[0], '<!')}{re.escape(text)}{_edge(text[-1], '!')})"
        for index, text in named
        if text
    ]
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)


def _edge(character: str, side: str) -> str:
    """A word boundary, where the text has a word character at that edge."""
    return rf"(?{side}\w)" if re.match(r"\w", character) else ""
