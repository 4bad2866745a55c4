r"""What may stand around an answer without being part of it: white space, punctuation, Markdown.

Principle 4: lenient on form, strict on content. Everything works on indices into the reply, so that
a span always points at what was read. No function copies more than it returns.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e"
"""Zero-width and direction marks: never content at the edge of an answer."""

_BLANKS: Final = (
    " \t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
WHITE: Final = _BLANKS + LINE_ENDS + "\x1f" + INVISIBLE
"""White space of any width, line ends, and invisible marks."""
BLANK: Final = _BLANKS + "\x1f" + INVISIBLE
"""White space that does not end a line."""

QUOTES: Final = "\"'`´“”„‟‘’‚‛«»‹›「」『』〝〞〟＂＇❛❜❝❞"
BRACKETS: Final = "()[]{}<>（）［］｛｝＜＞【】〔〕〈〉《》〖〗"
STOPS: Final = ".,;:!?…。，、；：！？．｡､؟،؛।¿¡·"
"""Full stops, commas, colons, question and exclamation marks, in many languages."""
MARKDOWN: Final = "*_~#|"
COLONS: Final = ":：﹕︓∶"
BULLETS: Final = "•‣⁃∙◦▪▫●○■□►▶➤→※†‡§¶·"
"""Signs that open a line or refer to a note."""
# Of one frozen version, so that no Python judges otherwise.
_UNICODE = "".join(s for s in map(chr, range(0x10000)) if unicodedata.ucd_3_2_0.category(s)[0] == "P")
PUNCTUATION: Final = QUOTES + BRACKETS + STOPS + MARKDOWN + BULLETS + "+=^$" + _UNICODE
"""All that Unicode or POSIX calls punctuation, Markdown and bullets."""
_CONTENT = "-+=^$%‰‱′″‴⁗\\&@/→‐‑‒–—―"
OUTER: Final = "".join(sign for sign in dict.fromkeys(PUNCTUATION) if sign not in _CONTENT)
"""Outer punctuation and Markdown without the signs that can be the content of a text at its edge."""

ANSWER: Final = r"[Aa][Nn][Ss][Ww][Ee][Rr](?<![A-Za-mo-z0-9][\s\S]{6})(?<![^\\]n[\s\S]{6})"
"""The word, in any case, that touches no letter or digit on its left but the `n` of `\\n`: a reply that was
escaped once too often holds its line breaks so. It is looked for by its first
letter, and only then looked behind, which is several times as fast."""
# Between the word and its colon: Markdown and blanks (`**Answer** :`) and a closing tag, but no quote:
# `{"answer": "C"}` is no answer line.
ANSWER_COLON: Final = rf"{ANSWER}(?:[{re.escape(BLANK)}*_]|</[A-Za-z][A-Za-z0-9]{{0,15}}>)*+[{COLONS}]"
"""`Answer:` as §6 names it, with the forms people's models give it."""

_ANSWER_COLON = re.compile(ANSWER_COLON)
_LINE_END = re.compile(f"[{re.escape(LINE_ENDS)}]")
_OPENING_TAG = re.compile(r"<([A-Za-z][A-Za-z0-9_-]{0,31})[ \t]*+>")
_OPENING_FENCE = re.compile(r"(`{3,}+|~{3,}+)[^`~\n\r]*+(?:\r\n|\n|\r)")


def trim(text: str, start: int, end: int, marks: str = WHITE) -> tuple[int, int]:
    """Move `start` and `end` inwards over `marks` (by default white space and invisible marks)."""
    part = text[start:end].lstrip(marks)
    start = end - len(part)
    return start, start + len(part.rstrip(marks))


def strip_outer(text: str, start: int, end: int) -> tuple[int, int]:
    """Move inwards over outer white space, punctuation and Markdown (rulings 18 and 22)."""
    return trim(text, start, end, WHITE + OUTER)


def line_end(text: str, start: int) -> int:
    """Where the line that `start` stands in ends."""
    found = _LINE_END.search(text, start)
    return found.start() if found else len(text)


def answer_line(text: str, start: int = 0, end: int | None = None) -> tuple[int, int, int] | None:
    """The last `Answer:` of `text[start:end]` as `(where it starts, rest of its line from, to)`.

    The rest may be empty. None when there is no `Answer:`.
    """
    end = len(text) if end is None else end
    found = None
    for found in _ANSWER_COLON.finditer(text, start, end):  # noqa: B007 - the last one counts
        pass
    if found is None:
        return None
    return found.start(), found.end(), min(line_end(text, found.end()), end)


def unwrap(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Indices of a reply without outer white space and without one enclosing tag or fence (ruling 21).

    >>> text = "<answer> B </answer>"
    >>> text[slice(*unwrap(text))]
    'B'
    """
    start, end = trim(text, start, len(text) if end is None else end)
    first = text[start : start + 1]
    if first == "<":
        opening = _OPENING_TAG.match(text, start, end)
        if opening:
            closing = _closing_tag(opening[1]).search(text, max(opening.end(), end - 80), end)
            if closing:
                return trim(text, opening.end(), closing.start())
    elif first in ("`", "~"):
        opening = _OPENING_FENCE.match(text, start, end)
        if opening:
            inner_end = start + len(text[start:end].rstrip(first))
            closing_length = end - inner_end
            inner_end = trim(text, opening.end(), inner_end, BLANK)[1] if inner_end > opening.end() else 0
            # The closing fence stands on a line of its own, and no other fence comes before it.
            if (
                closing_length >= len(opening[1])
                and inner_end > 0
                and text[inner_end - 1] in LINE_ENDS
                and text.find(opening[1], opening.end(), inner_end) == -1
            ):
                return trim(text, opening.end(), inner_end)
    return start, end


@lru_cache(maxsize=256)
def _closing_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(name)}[ \t]*+>\Z", re.IGNORECASE)
