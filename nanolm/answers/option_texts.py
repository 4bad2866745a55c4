r"""The texts of an item's options, and which of them a reply states (§6 letter, rulings 18, 74, 87).

A reply states an option when it is that option's text: in its own case or another, with the white space
collapsed, in or out of outer punctuation and Markdown. What surrounds the text is taken off step by step,
marks in pairs first, and compared after each step, so that the form nearest to what was written decides:
`(1,2)` is the option `(1,2)` and not `[1,2)`, `**Hello!**` is `Hello!` and not `Hello?`. An option loses
nothing but the stop that ends its sentence: `5` is neither `.5` nor `5!`.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from nanolm.answers import markup

LETTER = "[A-Za-zＡ-Ｚａ-ｚ]"
# No part of a word: 'I'm', 'B-cells', 'C++', 'U.S.', 'e.g.', an accent put on with a combining mark.
_WORD = r"[^\W_\u0e00-\u0eff\u2e80-\ud7ff\uf900-\ufaff]"  # not of scripts that set no blanks
ALONE = rf"(?!{_WORD}|[\u0300-\u036f]|['’\-\u2010\u2011]{_WORD}|[+#]|_+{_WORD}|\.\d|\.[^\W\d_](?!{_WORD}))"
"""Behind a letter that is a word of its own."""
_LETTER_FIRST = re.compile(LETTER + ALONE)
_DASHES = "-–—"
_SEPARATORS = "=/>→"
_PAIRS = (
    *((mark, mark) for mark in ("**", "__", "~~", "*", "_", "`", '"', "'")),
    ("“", "”"),
    ("„", "“"),
    ("«", "»"),
)
_LEADING = markup.OUTER + markup.BULLETS
_PIECE = re.compile(r"\\(?:text|math)[a-z]{0,9}\{|\\[^\w]|</?[A-Za-z][A-Za-z0-9_-]{0,31}>|[-=]>", re.DOTALL)
_CLOSING_TAG = re.compile(r"</[A-Za-z][A-Za-z0-9_-]{0,31}>\Z")
_MOST_STEPS = 12
# A sentence's stop: behind a word; a full stop also behind a digit or bracket. `n!` and `.5` keep theirs.
_STOP = re.compile(r"(?<=[^\W\d_][^\W\d_])[.!?;:,…。！？；：，]+\Z|(?<=[\w)\]}])\.\Z")
_INVISIBLE = dict.fromkeys(map(ord, markup.INVISIBLE), None)

Indices = tuple[int, ...]
"""Of the options that have one text; empty for none."""


class Texts(NamedTuple):
    """The options' texts in the forms in which replies are compared with them."""

    exact: dict[str, Indices]
    folded: dict[str, Indices]
    loose: dict[str, Indices]
    """Case folded and without a final stop."""
    as_written: tuple[str, ...]
    """Case folded, by option."""
    starts_like_letter: tuple[str, ...]
    """Texts such as "a cat sat" that open with a letter of their own (ruling 17)."""
    longest: int


@lru_cache(maxsize=256)  # an item's samples are read one after another
def of(options: tuple[str, ...]) -> Texts:
    """The texts of an item's options."""
    plain = tuple(map(_plain, options))
    folded = tuple(text.casefold() for text in plain)
    opens = (_bare(text) for text in folded)
    return Texts(
        _indices(plain),
        _indices(folded),
        _indices(tuple(_STOP.sub("", text) for text in folded)),
        folded,
        tuple(text for text in opens if len(text) > 1 and _LETTER_FIRST.match(text)),
        max(map(len, plain)),
    )


def exactly(reply: str, start: int, end: int, texts: Texts) -> Indices:
    """The options whose text `reply[start:end]` is as it stands, case and all."""
    if end - start > _reach(texts):
        return ()
    return texts.exact.get(_plain(reply[start:end]), ())


def stated(reply: str, start: int, end: int, texts: Texts, *, behind_letter: bool = False) -> Indices:
    """The options whose text `reply[start:end]` is with the least taken off around it.

    `behind_letter`: what separates a letter from its text may stand before it (`B) …`, `B - …`).
    """
    start, end = markup.trim(reply, start, end)
    if end - start > _reach(texts):
        return ()
    for left, right in _without_pairs(reply, start, end):
        found = _lookup(reply[left:right], texts)
        if found:
            return found
    return _nearest(reply, start, end, texts, behind_letter)


def _nearest(reply: str, start: int, end: int, texts: Texts, behind_letter: bool) -> Indices:
    """What is stated with the fewest marks taken off at either side."""
    starts = _starts(reply, start, end, behind_letter)
    ends = _ends(reply, start, end)
    for steps in range(len(starts) + len(ends) - 1):
        found: set[int] = set()
        for before in range(max(0, steps - len(ends) + 1), min(steps, len(starts) - 1) + 1):
            left, right = starts[before], ends[steps - before]
            if left < right:
                found.update(_lookup(reply[left:right], texts))
        if found:
            return tuple(sorted(found))
    return ()


def stands_at(reply: str, at: int, end: int, folded: str) -> bool:
    """Whether an option's text stands at `at` and ends where a word ends."""
    behind = at + len(folded)
    if behind > end or not folded or _plain(reply[at:behind]).casefold() != folded:
        return False
    return behind == end or not (reply[behind].isalnum() and folded[-1].isalnum())


def _lookup(text: str, texts: Texts) -> Indices:
    plain = _plain(text)
    found = texts.exact.get(plain)
    if found is None:
        folded = plain.casefold()
        found = texts.folded.get(folded) or texts.loose.get(folded)
    return found or ()


def _without_pairs(reply: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A text as it stands, then without the Markdown or quotes around the whole of it, layer by layer."""
    yield start, end
    for _ in range(_MOST_STEPS):
        stop = end - 1 if end > start and reply[end - 1] in markup.STOPS else end
        pair = next((pair for pair in _PAIRS if _is_inside(reply, start, stop, *pair)), None)
        if pair is None:
            return
        start, end = markup.trim(reply, start + len(pair[0]), stop - len(pair[1]))
        yield start, end


def _is_inside(reply: str, start: int, end: int, front: str, back: str) -> bool:
    return (
        end - start > len(front) + len(back)
        and reply.startswith(front, start, end)
        and reply.endswith(back, start, end)
    )


def _starts(reply: str, start: int, end: int, behind_letter: bool) -> list[int]:
    """Where the text may begin, the least taken off first."""
    found = [start]
    while start < end and len(found) <= _MOST_STEPS:
        after = _after_mark(reply, start, end, behind_letter)
        if after is None:
            return found
        start = markup.trim(reply, after, end)[0]
        found.append(start)
    found.append(markup.strip_outer(reply, start, end)[0])
    return found


def _after_mark(reply: str, at: int, end: int, behind_letter: bool) -> int | None:
    """Behind the mark of form at `at`; None when the text begins there."""
    mark, following = reply[at], reply[at + 1 : at + 2]
    piece = _PIECE.match(reply, at, end) if mark in "\\<-=" else None
    if piece:
        return piece.end()
    if mark in _DASHES:
        text = markup.trim(reply, at + 1, end)[0]
        is_bullet = text > at + 1 and (behind_letter or not reply[text : text + 1].isdigit())
        return at + 1 if is_bullet else None
    if mark in ".,．" and following.isdigit():
        return None
    return at + 1 if mark in _LEADING or (behind_letter and mark in _SEPARATORS) else None


def _ends(reply: str, start: int, end: int) -> list[int]:
    """Where the text may end, the least taken off first."""
    found = [end]
    while end > start and len(found) <= _MOST_STEPS:
        tag = _CLOSING_TAG.search(reply, max(start, end - 36), end) if reply[end - 1] == ">" else None
        if tag:
            end = tag.start()
        elif reply[end - 1] in markup.OUTER or reply[end - 1] == "\\":
            end -= 1
        else:
            return found
        end = markup.trim(reply, start, end)[1]
        found.append(end)
    found.append(markup.strip_outer(reply, start, end)[1])
    return found


def _reach(texts: Texts) -> int:
    """How long a reply that is an option's text may be, with what stands around it."""
    return 4 * texts.longest + 64


def _plain(text: str) -> str:
    """Composed, white space collapsed, invisible marks removed."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    return " ".join(text.split())


def _bare(text: str) -> str:
    start, end = markup.strip_outer(text, 0, len(text))
    return text[start:end].removeprefix("- ").removeprefix("– ").strip()


def _indices(texts: tuple[str, ...]) -> dict[str, Indices]:
    found: dict[str, Indices] = {}
    for index, text in enumerate(texts):
        if text:
            found[text] = (*found.get(text, ()), index)
    return found
