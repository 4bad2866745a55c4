r"""Finding the last `\boxed{}` of a reply: brace-matched, in one pass, without backtracking.

Ruling 42: `\boxed 5` and `\fbox{5}` are no boxes. Ruling 43: of nested boxes the innermost counts,
which is the one that opens last. Ruling 34: when the box that opens last never closes and an earlier
box is there, the answer was cut (`UNCLOSED`); when it is the only one, it is no box.
"""

import re
from typing import Final, Literal, NamedTuple


class Box(NamedTuple):
    r"""A closed `\boxed{...}`; indices into the text that was searched."""

    start: int
    """Of the backslash."""
    end: int
    """Behind the closing brace."""
    inner_start: int
    inner_end: int


UNCLOSED: Final = "unclosed"
"""The last box never closes and an earlier one does (ruling 34)."""

_OPENER = re.compile(r"\\boxed[ \t]*+\{")
# An escaped brace is no brace. A doubled backslash escapes itself, but `\\boxed{` (a reply that was
# escaped once too often) still holds a box.
_TOKEN = re.compile(r"\\boxed[ \t]*+\{|\\[{}]|\\\\(?!boxed)|[{}]")


def last(text: str, start: int = 0) -> "Box | Literal['unclosed'] | None":
    """The box of `text[start:]` that opens last; `UNCLOSED`, or None when there is no box.

    >>> box = last(r"first \\boxed{1}, then \\boxed{\\frac{1}{2}}")
    >>> r"first \\boxed{1}, then \\boxed{\\frac{1}{2}}"[box.inner_start : box.inner_end]
    '\\\\frac{1}{2}'
    """
    opener = None
    at = text.rfind("\\boxed")
    while at >= start:
        opener = _OPENER.match(text, at)
        if opener:
            break
        at = text.rfind("\\boxed", start, at)
    if opener is None:
        return None
    end = _closing_brace(text, opener.end())
    if end is not None:
        return Box(opener.start(), end + 1, opener.end(), end)
    return UNCLOSED if _any_closed(text, start) else None


def _closing_brace(text: str, start: int) -> int | None:
    """Where the brace that opened just before `start` closes."""
    depth = 1
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == "}":
            depth -= 1
            if depth == 0:
                return token.start()
        elif mark == "{" or len(mark) > 2:
            depth += 1
    return None


def _any_closed(text: str, start: int) -> bool:
    """Whether any box closes; called only when the last one does not."""
    is_box: list[bool] = []
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == "{" or len(mark) > 2:
            is_box.append(mark != "{")
        elif mark == "}" and is_box and is_box.pop():
            return True
    return False
