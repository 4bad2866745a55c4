"""Parameter counts that a model card states, and which of them can't be told to be this model's.

A count is the number directly before the word ("135M parameters", "a 135M-parameter model") or the one that
"parameters:" or a table's cell leads to; never the number of a later clause.
"""

import re
from collections.abc import Iterator

import msgspec

from nanolm.entries.card_claims import NUMBER, Stated, body, scaled
from nanolm.entries.card_names import OTHERS, Names, is_other
from nanolm.entries.card_text import names

_SCALES = {"": 1, "k": 10**3, "m": 10**6, "million": 10**6, "b": 10**9, "billion": 10**9}
_SCALE = "k|m|b|million|billion"
_JOINS = "[\\s\u2010-\u2012-]"
"""A space or a hyphen."""
_COUNTED = re.compile(
    rf"(?<![\w.])(?<!\w-)(?P<a>{NUMBER})(?:{_JOINS}{{0,2}}(?P<as>{_SCALE}))?{_JOINS}{{1,3}}"
    rf"(?:(?:unique|trainable|total|model){_JOINS}{{1,2}}){{0,3}}param(?:eter)?s?\b"
    r"|\bparam(?:eter)?s?\b(?: count)?(?:\s{0,2}\([^()|\d]{1,24}\))?\s{0,3}"
    r"(?:[:=|]|(?<=count )(?:is|of)\b)[\s|]{0,8}"
    r"(?:(?:about|around|approx\w{0,8}\.?|roughly|unique|total|ca\.|[~\u2248])\s{0,3}){0,3}"
    rf"(?P<b>{NUMBER})(?:\s?(?P<bs>{_SCALE})\b)?",
    re.I,
)
_PART = re.compile(r"(?:embed(?:ding)?s?|activated?|active|frozen|lora|adapter)\s{1,3}$", re.I)
_SERIES = re.compile(rf"\d\s?(?:{_SCALE})(?:\s?[,/\u2013]|,?\s(?:and|or|to)\b){{1,2}}\s{{0,2}}$", re.I)
"""Before the last of several sizes ("135M, 360M and 1.7B parameters")."""
_SIZE = re.compile(rf"\|[\s~\u2248]{{0,4}}{NUMBER}\s?(?:{_SCALE})?\s{{0,9}}(?=\||$)", re.I)
"""A cell that holds a count and nothing else."""

_NEAR = 160
"""Characters before a count in which another model's name may stand."""
_FILL = re.compile(
    r"(?:[\s(|:~\u2248\u2013\u2014]|,(?=\s{0,2}(?:an?|the|which|at|with)\b)|\b(?:with|has|have|had|having|at|is|of|"
    r"an?|the|its|about|around|only|just|roughly|approximately|which)\b)+$",
    re.I,
)
"""What may stand between a model's name and its size."""
_NAME = r"[A-Za-z](?:[\w./-]*\w)?(?:\s\d(?:[\w.]*\w)?){0,2}"
_NAME_LAST = re.compile(rf"(?<![\w./-])({_NAME})\]?(?:\([^()\s]*\))?$")
_NAME_NEXT = re.compile(rf"{_JOINS}(?:of |in |for |\[)?({_NAME})")
_CELL = re.compile(rf"\s*\|\s*\[?({_NAME})[^|]*\|")


class Count(msgspec.Struct, frozen=True):
    """A count, and why it can't be told to be this model's; empty when it can."""

    stated: Stated
    doubt: str = ""


def parameters(card: str, own: tuple[str, ...] = ()) -> list[Count]:
    """Every parameter count from 1000 on, in the order of the card. `own`: names of this model, beside the
    card's title."""
    mine = names(card, own)
    return [count for number, line in body(card, own) for count in _counts(number, line, mine)]


def _counts(number: int, line: str, own: Names) -> Iterator[Count]:
    plain = line.replace("*", " ").replace("`", " ")
    row: str | None = None
    for match in _COUNTED.finditer(plain):
        scale = _SCALES[(match["as"] or match["bs"] or "").lower()]
        value, unit = scaled(match["a"] or match["b"], scale)
        if value < 1000:
            continue
        if row is None:
            cell = _CELL.match(plain)
            row = cell[1] if cell and is_other(cell[1], own) else ""
        text = " ".join(match.group(0).replace("|", " ").split())
        yield Count(
            Stated(what="parameters", text=text, value=value, unit=unit, line=number),
            _doubt(plain, match, row, own),
        )


def _doubt(line: str, match: re.Match[str], row: str, own: Names) -> str:
    """Why a count can't be told to be this model's; `row`: another model that begins the table's row."""
    before = line[max(0, match.start() - _NEAR) : match.start()]
    if _PART.search(before):
        return "it counts a part of the parameters"
    if match["a"] and _SERIES.search(before):
        return "it is one of several sizes"
    if match["b"] and "|" in match.group(0):
        return "the row gives several counts" if _SIZE.match(line, _cell_end(line, match.end())) else ""
    name = row or _before(before, own)
    if not name and match["a"]:
        follows = _NAME_NEXT.match(line[match.end() : match.end() + _NEAR])
        name = follows[1] if follows and is_other(follows[1], own) else ""
    return f"it is said of {name}" if name else ""


def _cell_end(line: str, start: int) -> int:
    """Where the cell ends that a count stands in."""
    end = line.find("|", start, start + _NEAR)
    return len(line) if end < 0 else end


def _before(text: str, own: Names) -> str:
    """The other model that is named directly before a count; empty for none."""
    text = text.rstrip()
    compared = re.search(rf"(?<!\w)(?:{OTHERS.pattern})$", _FILL.sub("", text), re.I)
    if compared:
        return f"another ({compared.group(0)})"
    found = _NAME_LAST.search(_FILL.sub("", text))
    return found[1] if found and is_other(found[1], own) else ""
