"""What a model card's running text says, line by line, and what of it can be said of this model.

No claim is made by code, comments, the YAML at the top, pictures' texts, struck text and addresses. A row of
an HTML table is one line, and tags are left out: the numbers in them are none of the card's.
"""

import html
import re
from functools import lru_cache

import msgspec

from nanolm.entries.card import names as card_names
from nanolm.entries.card.names import Names
from nanolm.entries.markdown import Line, running_lines

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_APART = re.compile(r"<br\s*/?>|</(?:li|p|div)>", re.I)
"""Behind these another statement begins."""
_CELL_TAG = re.compile(r"<t[dh]\b[^<>]*>", re.I)
_ROW, _ROW_END = re.compile(r"<tr\b", re.I), re.compile(r"</tr\b|</table\b", re.I)
_BEGINS_ROW = re.compile(r"(?=<tr\b)", re.I)
_TABLE = re.compile(r"</?table\b", re.I)
_HEAD = re.compile(r"<th\b", re.I)
_DATA = re.compile(r"<td\b", re.I)
_STRUCK = re.compile(r"~~[^~]+~~|<(?:s|del|strike)\b[^<>]*>[^<>]*</(?:s|del|strike)\b[^<>]*>", re.I)
_PICTURE = re.compile(r"!\[[^\]\[]*\](?:\([^()]*\)|\[[^\]\[]*\])?")
_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_TICKS = re.compile(r"`+")
_ONE_WORD = re.compile(r"[A-Za-z][\w./-]*|\d[\d,._]*%?[A-Za-z]?")
"""Code that is a name or a number: it is marked as such, and no sample of usage."""


@lru_cache(maxsize=1)
def seen(card: str) -> tuple[Line, ...]:
    """Numbered lines of the card's running text. An HTML table's row of heads is followed by a rule, as in
    Markdown."""
    found: list[Line] = []
    row: list[str] | None = None
    begun = 0
    for number, whole in running_lines(card):
        for line in _BEGINS_ROW.split(whole):
            if row is None and _ROW.search(line):
                row, begun = [], number
            if row is None:
                text = _plain(line)
                if text.strip() or not line.strip() or _TABLE.search(line):
                    found.append((number, text))
                continue
            row.append(line)
            if _ROW_END.search(line) or not line.strip():
                found += _row(begun, row)
                row = None
    return tuple(found if row is None else [*found, *_row(begun, row)])


def _row(number: int, parts: list[str]) -> list[Line]:
    whole = " ".join(parts)
    rule = [(number, "|---|")] if _HEAD.search(whole) and not _DATA.search(whole) else []
    end = [(number, "")] if _TABLE.search(whole) else []
    return [(number, _plain(whole)), *rule, *end]


def _plain(line: str) -> str:
    if "`" in line:
        line = _without_code(line)
    if "~~" in line or "<" in line:
        line = _STRUCK.sub(" ", line)
    if "](" in line or "![" in line:
        line = _TARGET.sub("", _PICTURE.sub(" ", line))
    if "<" in line:
        line = _TAG.sub(" ", _APART.sub("; ", _CELL_TAG.sub(" | ", line)))
    text = line
    return html.unescape(text).replace("\N{NO-BREAK SPACE}", " ") if "&" in text else text


def _without_code(line: str) -> str:
    """Without code in the line, but for a single name or number."""
    ticks = list(_TICKS.finditer(line))
    closing: dict[int, int] = {}
    last: dict[int, int] = {}
    for place in range(len(ticks) - 1, -1, -1):
        length = len(ticks[place].group(0))
        closing[place] = last.get(length, -1)
        last[length] = place
    parts: list[str] = []
    at = place = 0
    while place < len(ticks):
        to = closing[place]
        if to < 0:
            place += 1
            continue
        code = line[ticks[place].end() : ticks[to].start()].strip()
        parts += [line[at : ticks[place].start()], code if _ONE_WORD.fullmatch(code) else " "]
        at, place = ticks[to].end(), to + 1
    return "".join([*parts, line[at:]])


def title(card: str) -> str:
    """The card's first heading, when it stands at its top; that is the model's name."""
    first = next((line for _, line in seen(card) if line.strip()), "")
    return first.strip(" #*") if first.lstrip().startswith("#") else ""


def names(card: str, own: tuple[str, ...] = ()) -> Names:
    """What this model goes by in its card."""
    return card_names.of(title(card), own)


class Piece(msgspec.Struct, frozen=True):
    """A line of running text, or a cell of a table beside what it is a number of."""

    line: int
    text: str
    about: str = ""
    """What the head of its column and other cells of its row say of it."""
    cell: bool = False


@lru_cache(maxsize=1)
def pieces(card: str, own: tuple[str, ...] = ()) -> tuple[Piece, ...]:
    """The card's lines; of its tables with a head, this model's cells alone."""
    from nanolm.entries.card.tables import is_rule, table

    mine = names(card, own)
    found: list[Piece] = []
    lines = seen(card)
    at = 0
    while at < len(lines):
        number, line = lines[at]
        if "|" not in line or at + 1 >= len(lines) or not is_rule(lines[at + 1][1]):
            found.append(Piece(number, line))
            at += 1
            continue
        end = at + 2
        while end < len(lines) and "|" in lines[end][1] and not is_rule(lines[end][1]):
            end += 1
        found += table(lines[at], lines[at + 2 : end], mine)
        at = end
    return tuple(found)
