r"""A label of a closed list (protocol §6, label). Rules in order; the first that matches decides.

1. `answer-line`: the rest of the line after the last `Answer:`. It must be one label and nothing
   else; an empty rest, two labels or any other word is unparseable, without falling back to an
   earlier line (rulings 23, 26).
2. `whole-reply`: a reply without `Answer:` that is just one label.
3. `none`: neither; unparseable.

Both sides are normalised (rulings 22, 95): `\_` to `_`, `_` and `-` to a space, white space collapsed, case
folded, outer punctuation and Markdown removed, and `\boxed{}`, `\text{}` or one tag around the label
unwrapped (ruling 25). After that only equality counts: no prefix, containment, plural, edit distance
or translation (rulings 23, 24, 28). A text that equals two labels equals none (ruling 27).

Before the rules, one enclosing tag or code fence around the whole reply is taken off (ruling 21).
"""

import re
from functools import lru_cache

from nanolm.answers import markup, refuse, settle
from nanolm.schema import Answer, Item, Verdict

RULES = ("answer-line", "whole-reply", "none")

_MOST_LAYERS = 8
_OPENING = re.compile(r"\\(?:boxed|text[a-z]{0,9}|math[a-z]{0,9})[ \t]*+\{|\\[(\[]")
_OPENING_TAG = re.compile(r"<[A-Za-z][A-Za-z0-9_-]{0,31}>")
_CLOSING_TAG = re.compile(r"</[A-Za-z][A-Za-z0-9_-]{0,31}\Z")  # its ">" is outer punctuation
_EDGES = markup.WHITE + "".join(dict.fromkeys(markup.PUNCTUATION))
_OUTER = _EDGES.replace("\\", "")
"""A backslash may open a command."""
_ESCAPED = re.compile(r"\\++([_-])")
_INVISIBLE = dict.fromkeys(map(ord, markup.INVISIBLE), None)
_TO_SPACE = str.maketrans({"_": " ", "-": " ", "\u2010": " ", "\u2011": " "})


def extract(reply: str, item: Item) -> Answer:
    """The label the reply gives, as the list writes it."""
    start, end = markup.unwrap(reply)
    line = markup.answer_line(reply, start, end)
    rule = "whole-reply"
    if line is not None:
        rule = "answer-line"
        _, start, end = line
    label, span = _read(reply, start, end, _table(item.labels))
    if label is not None:
        return Answer(label, rule, span)
    return Answer(None, rule if line else "none", span if line else None, "unparseable")


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when the label is the gold label."""
    return settle(answer, answer.value == item.gold)


def check(item: Item) -> None:
    """Refuse an item whose labels collide after normalisation (ruling 27) or lack the gold label."""
    if not item.labels:
        raise refuse(item, "no labels", "the list of all labels")
    clash = _clash(item.labels)
    if clash and not normalise(clash[0]):
        raise refuse(item, f"the label {clash[0]!r}, of which normalisation leaves nothing", "a word or more")
    if clash:
        raise refuse(item, f"labels {clash[0]!r} and {clash[1]!r}, equal after normalisation", "all distinct")
    if item.gold not in item.labels:
        raise refuse(item, f"gold {item.gold!r}", f"one of its {len(item.labels)} labels")


def normalise(text: str) -> str:
    """A label or what a reply gives for one, in the form in which they are compared (ruling 22).

    >>> normalise("**Card-Arrival**.") == normalise("card_arrival")
    True
    """
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    text = text.translate(_TO_SPACE).translate(_INVISIBLE)
    return " ".join(text.strip(_EDGES).split()).casefold()


def _read(
    reply: str, start: int, end: int, table: dict[str, str | None]
) -> tuple[str | None, tuple[int, int]]:
    """The one label that `reply[start:end]` is, with the span that was compared."""
    label = None
    for _ in range(_MOST_LAYERS):
        start = markup.trim(reply, start, end, _OUTER)[0]
        end = markup.trim(reply, start, end, _OUTER + "\\")[1]
        label = table.get(normalise(reply[start:end]))
        if label is not None or start == end:
            break
        # Form only (ruling 25): what is unwrapped must still equal a label, so that no brace has to match.
        opening = _OPENING.match(reply, start, end) or _opening_tag(reply, start, end)
        closing = _CLOSING_TAG.search(reply, max(start, end - 40), end)
        if not opening and not closing:
            break
        start = opening.end() if opening else start
        end = max(start, closing.start() if closing else end)
    return label, (start, end)


def _opening_tag(reply: str, start: int, end: int) -> re.Match[str] | None:
    """A tag whose `<` was taken for outer punctuation."""
    return _OPENING_TAG.match(reply, start - 1, end) if start and reply[start - 1] == "<" else None


@lru_cache(maxsize=64)
def _table(labels: tuple[str, ...]) -> dict[str, str | None]:
    """Normalised label to label; None where two labels are equal (ruling 27)."""
    table: dict[str, str | None] = {}
    for label in labels:
        key = normalise(label)
        table[key] = None if key in table else label
    table.pop("", None)
    return table


@lru_cache(maxsize=64)
def _clash(labels: tuple[str, ...]) -> tuple[str, str] | None:
    """Two labels that are equal after normalisation, or one that is empty (twice), if any."""
    seen: dict[str, str] = {}
    for label in labels:
        key = normalise(label)
        if not key:
            return label, label
        if key in seen:
            return seen[key], label
        seen[key] = label
    return None
