"""Removing reasoning and end-of-turn markers before an answer is read (protocol §6.1).

In this order:

1. `removed`: only the text after the last closing delimiter is parsed, wherever it stands (rulings
   6 and 7: no depth is counted, and a closer that is merely mentioned counts). Delimiters are the
   model's own, exact, with white space allowed before a final `>` (ruling 8).
2. A block that is open at the end is truncated: opened in the reply after the last closer (ruling 5),
   or opened by the template and never closed, even with finish reason `stop` (ruling 3). Nothing
   opened, nothing to close (ruling 4).
3. A finish reason of `length` is truncated, whatever can be read (ruling 1). A loop that ends by
   itself is not (ruling 2).
4. Any run of the model's end-of-turn markers and white space at the very end is removed (ruling 9);
   a marker in the middle is text.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from nanolm.answers.markup import WHITE

THINK = ("<think>", "</think>")
"""The most common delimiters, for `nanolm judge`; an entry has its own."""
END_MARKERS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<eos>",
    "</s>",
    "<|end|>",
)
"""Common end-of-turn markers, for `nanolm judge`; an entry has its own."""
RULES = ("whole", "removed", "open-block", "length")


class Reply(NamedTuple):
    """What is left of an output to read an answer from."""

    text: str
    """Without outer white space; empty when a block is open."""
    offset: int
    """`text` starts at `output[offset]`."""
    truncated: bool
    rule: str = "whole"
    """`whole`, `removed`, `open-block` or `length`."""


def remove(
    text: str,
    finish_reason: str = "stop",
    *,
    opener: str = "",
    closer: str = "",
    opened_by_template: bool = False,
    end_markers: Iterable[str] = (),
) -> Reply:
    """The part of an output that is parsed. Empty delimiters: the model has no reasoning block."""
    start, rule = 0, "whole"
    if closer:
        for found in _delimiter(closer).finditer(text):
            start, rule = found.end(), "removed"
    is_open = opened_by_template and rule == "whole" and bool(closer)
    if is_open or (opener and _delimiter(opener).search(text, start)):
        return Reply("", len(text), True, "open-block")
    end = _end_without_markers(text, start, tuple(end_markers))
    start = _first_line(text, start, end)
    truncated = finish_reason == "length"
    return Reply(text[start:end], start, truncated, "length" if truncated else rule)


def whole(text: str, end_markers: Iterable[str] = ()) -> Reply:
    """All that was written, for types that want it so (ruling 65): only markers at the very end go."""
    markers = [marker for marker in end_markers if marker]
    end = len(text)
    while marker := next((m for m in markers if text.endswith(m, 0, end)), None):
        end -= len(marker)
    return Reply(text[:end], 0, False)


def _first_line(text: str, start: int, end: int) -> int:
    """Where the first line with anything on it begins; its indentation stays when it is a line of its
    own, since it says where a code block opens (ruling 44)."""
    first = start
    while first < end and text[first] in WHITE:
        first += 1
    line = max(text.rfind("\n", start, first), text.rfind("\r", start, first)) + 1
    if line == 0:
        return 0 if start == 0 else first
    return line


def _end_without_markers(text: str, start: int, markers: tuple[str, ...]) -> int:
    """Where the text ends when markers and white space at its end are left out."""
    markers = tuple(marker for marker in markers if marker)
    end = len(text)
    while True:
        while end > start and text[end - 1] in WHITE:
            end -= 1
        marker = next((m for m in markers if text.endswith(m, start, end)), None)
        if marker is None:
            return end
        end -= len(marker)


@lru_cache(maxsize=64)
def _delimiter(text: str) -> re.Pattern[str]:
    if text.endswith(">"):
        return re.compile(re.escape(text[:-1]) + r"\s*+>")
    return re.compile(re.escape(text))
