"""Parameter counts that a model card states, and which of them can't be told to be this model's.

A count is the number directly before the word ("135M parameters", "a 135M-parameter model", "a 135M model")
or the one that "parameters:", "model size:" or a table's cell leads to; never the number of a later clause.
"""

import re
from collections.abc import Iterator

import msgspec

from nanolm.entries.card.claims import NUMBER, Stated, body, scaled
from nanolm.entries.card.names import OTHERS, Names, is_other
from nanolm.entries.card.text import names

_SCALES = {"": 1, "k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "b": 10**9, "billion": 10**9}
_SCALE = "k|m|b|thousand|million|billion"
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
_SIZED = re.compile(
    rf"(?<![\w.])(?<!\w-)(?P<a>{NUMBER}){_JOINS}?(?P<as>[KMB]|[Tt]housand|[Mm]illion|[Bb]illion){_JOINS}{{1,2}}"
    rf"(?:(?:small|tiny|dense|causal|base|chat|instruct(?:ion)?(?:-tuned)?|pre-?trained|decoder(?:-only)?|open|"
    rf"autoregressive|generative|(?:large |small )?language|transformer|text){_JOINS}{{1,2}}){{0,4}}"
    r"(?:[Mm]odel|[Tt]ransformer|LM|SLM|LLM|[Dd]ecoder|[Cc]heckpoint)\b(?![- ]?(?:param|context|size))"
    r"|(?:\b[Mm]odel [Ss]ize|(?:^|[|>-])\s{0,3}[Ss]ize)\s{0,3}(?:[:=|]\s{0,3}){1,2}"
    r"(?:(?:about|around|approx\w{0,8}\.?|roughly|ca\.|[~\u2248])\s{0,3}){0,2}"
    rf"(?P<b>{NUMBER})\s?(?P<bs>[KMB]|[Tt]housand|[Mm]illion|[Bb]illion)\b(?!\s?(?:param|tokens?|bytes?|words?|rows?))"
)
"""Sizes that are said without the word; a scale must be there, and its letter is large."""
_PART = re.compile(
    r"(?:(?:embed(?:ding)?s?|activated?|active|frozen|trainable|lora|adapters?|head|encoder)"
    r"(?:\s(?:layers?|weights?))?"
    r"|\b(?:(?:each|every)\s\w{1,20}|embedding\s(?:matrix|table)(?:\salone)?)\s(?:has|holds|takes)(?:\sabout)?)\s{0,3}$",
    re.I,
)
_PART_NEXT = re.compile(r"\s?\(?(?:lora|adapters?|embedding|active|in the (?:adapter|head|embedding))", re.I)
_PART_SAID = re.compile(r"\b(?:lora|adapter|embedding|active)\b", re.I)
_FROM = re.compile(
    r"\b(?:from|by|of|to|with|against|on|using|than|unlike|like)\s{1,2}(?:an?\s|the\s)?\s?$", re.I
)
"""What leads from this model to another."""
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approx\w{0,8}\.?|roughly|nearly|almost|circa|ca\.|some)|[~\u2248])\s{0,3}$", re.I
)
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
    for match in sorted([*_COUNTED.finditer(plain), *_SIZED.finditer(plain)], key=lambda one: one.start()):
        scale = _SCALES[(match["as"] or match["bs"] or "").lower()]
        digits = match["a"] or match["b"]
        value, unit = scaled(digits, scale)
        if value < 1000 or _in_name(plain, match, own):
            continue
        at = match.start("a" if match["a"] else "b")
        unit *= 10 ** _zeros(digits, _ABOUT.search(plain, max(0, at - 20), at) is not None)
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
    part = _PART.search(before) or (match["a"] and _PART.search(_FILL.sub("", before[-60:].rstrip())))
    if part or _PART_NEXT.match(line, match.end()) or _PART_SAID.search(match.group(0)):
        return "it counts a part of the parameters"
    if match["a"] and _SERIES.search(before):
        return "it is one of several sizes"
    if match.re is _SIZED and match["a"]:
        led = _FROM.search(before)
        if led:
            return f"it is said of another ({led.group(0).split()[0]})"
    if match["b"] and "|" in match.group(0):
        return "the row gives several counts" if _SIZE.match(line, _cell_end(line, match.end())) else ""
    name = row or _before(before, own)
    if not name and match["a"]:
        follows = _NAME_NEXT.match(line[match.end() : match.end() + _NEAR])
        name = follows[1] if follows and is_other(follows[1], own) else ""
    return f"it is said of {name}" if name else ""


def _zeros(digits: str, about: bool) -> int:
    """How many zeros at a number's end are not significant: of a round number, or of an `about` one."""
    if "." in digits:
        return 0
    plain = re.sub(r"\D", "", digits)
    zeros = len(plain) - len(plain.rstrip("0"))
    return zeros if about or zeros >= 3 else 0


def _in_name(line: str, match: re.Match[str], own: Names) -> bool:
    """Whether a size is part of this model's own name ("M 135M model")."""
    if not match["a"] or not match["as"]:
        return False
    size = f"{match['a']}{match['as']}".casefold()
    before = re.findall(r"[a-z0-9]+", line[max(0, match.start() - 40) : match.start()].casefold())
    return any(
        before[-place:] == list(name[:place])
        for name in own
        for place in range(1, len(name))
        if name[place] == size
    )


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
