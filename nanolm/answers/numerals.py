r"""What counts as one number in a text (rulings 29 to 37).

One number is, with an optional sign:

- an integer or decimal: `72`, `0.5`, `.5`, `5.`, digits of any script (`７２`); thousands in groups of
  exactly three after one to three digits, separated by one and the same of comma, `{,}`, `,\!`, `\,`,
  `\ `, NBSP, thin and narrow NBSP, or a plain space; where a row of digits does not fit that form as a
  whole, each is a number of its own (ruling 32);
- a fraction or mixed number: `3/4`, `\frac{3}{4}`, `\frac34`, `2\frac{1}{2}`, `2 1/2`, `½`, `2½`;
- one with an exponent: `1.5e3`, `1.5 \times 10^{3}`, `1.5 × 10^3` (ruling 37). Other powers are not
  evaluated: `10^3` and `10³` are two numbers.

A number touches no letter, digit or `_` on its left (`H2O`, `x_5`, `1_000` hold none) and is no power of a
unit (`cm^2`, `\text{cm}^3`, `m²`); the letters of a LaTeX command end a word (`3\times5` are two). `-` and
the dashes written for it are signs when no digit, letter, closing bracket or other dash stands before
them (ruling 36); a currency sign may follow (`-$5`). `1.2.3` is no number. Signs that stand farther from
their digits, and multiples such as `million`, are read by `amounts.py`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nanolm.answers.rationals import MINUS, added, negated, plain, plain_signed, quotient, scaled


class Numeral(NamedTuple):
    """A number in a text."""

    text: str
    """What `rationals.equal` compares: `72`, `-0.5`, `3/4`; empty for what only looks like one."""
    start: int
    end: int


_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5"}
_VULGAR |= {"⅗": "3/5", "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
_HALVES = "".join(_VULGAR)
_SPACES = " \u00a0\u2009\u202f"
_GROUP = rf"\{{,\}}|,\\!|,|٬|\\,|\\ |[{_SPACES}]"
_SIGN = rf"[{MINUS}+＋](?:\\?[$€£¥₹])?+"

# A run of digits with what may separate groups, and its decimals (several points make it no number).
_START = re.compile(
    rf"(?P<sign>{_SIGN})?+"
    rf"(?:(?P<run>\d++(?:(?:{_GROUP})\d++)*+)(?P<decimals>(?:[.٫．]\d++)*+)"
    rf"|(?P<point>[.٫．]\d++(?:\.\d++)*+)"
    rf"|(?P<vulgar>[{_HALVES}]++)|(?P<frac>\\[dt]?frac(?![A-Za-z])))"
)
_GROUPED = re.compile(rf"\d{{1,3}}({_GROUP})\d{{3}}(?:\1\d{{3}})*+")
_SEPARATOR = re.compile(_GROUP)
_EXPONENT = re.compile(r"[eE]([-+−]?\d++)(?!\w)")
_POWER = re.compile(
    r"(?:\\[ ,;])?+[ ]?(?:\\times|\\cdot|[×·x*])(?:\\[ ,;])?+[ ]?"
    r"10(?:(?:\^|\*\*)(?:\{([-+−]?\d++)\}|([-+−]?\d++))|(⁻?[⁰¹²³⁴-⁹]++))"
)
_SLASH = re.compile(r"[ ]?[/⁄∕][ ]?(\d++(?:\.\d++)?)(?!\d|[ ]?[/⁄∕][ ]?\d)")
_ARGUMENT = r"[ ]?(?:\{[ ]?([-−]?(?:\d[\d,]*+(?:\.\d++)?|\.\d++))[ ]?\}|(\d))"
_ARGUMENTS = re.compile(_ARGUMENT + _ARGUMENT)
_MIXED_FRAC = re.compile(
    r"(?:[ ~]|\\[ ,;:!]|\\text\{[ ]?\}){0,3}\\[dt]?frac(?![A-Za-z])" + _ARGUMENT + _ARGUMENT
)
_MIXED_VULGAR = re.compile(rf"[ ]?([{_HALVES}])")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = re.compile(r"[)}]?⁻?([⁰¹²³⁴-⁹]++)")


def only(text: str, start: int, end: int) -> Numeral | None:
    """The number of `text[start:end]`, when it is the only one there (rulings 29, 31)."""
    found = None
    for numeral in find(text, start, end):
        if found is not None or not numeral.text:
            return None
        found = numeral
    return found


def last(text: str, start: int, end: int) -> Numeral | None:
    """The last number of `text[start:end]`, looked for in windows from the end, so that it is found fast."""
    size = _WINDOW
    while True:
        left = max(start, end - size)
        while left > start and (text[left - 1] in _RUN_MARKS or text[left - 1].isdigit()):
            left -= 1  # never into the middle of a row of digits
        found = None
        for numeral in find(text, left, end):
            if numeral.text:
                found = numeral
        if left == start or (found and found.start > left + _REACH):
            return found
        if found:
            size *= 4  # what stands before the window may belong to the number
        else:
            end = left + _REACH


def find(text: str, start: int, end: int) -> Iterator[Numeral]:
    """All numbers from left to right, and what looks like one and is none (with an empty text)."""
    at = start
    while (begin := _START.search(text, at, end)) is not None:
        at = begin.end()
        for numeral in _begun(text, begin, end):
            at = max(at, numeral.end)
            yield numeral
            raised = _SUPERSCRIPT.match(text, numeral.end, end)
            if raised:  # `10³` reads like `10^3`
                at = raised.end()
                yield Numeral(plain(raised[1].translate(_RAISED)), raised.start(1), at)


def _begun(text: str, begin: re.Match[str], end: int) -> Iterator[Numeral]:
    """The numbers that begin at one place."""
    if begin["run"]:
        yield from _run(text, begin, end)
    elif not _is_free(text, begin.end("sign") if begin["sign"] else begin.start()):
        if begin["point"]:  # `word.5`: the point ends the word, the number is 5
            yield Numeral(plain(begin["point"][1:]), begin.start("point") + 1, begin.end())
        elif begin["frac"]:  # `x\\frac12` is no number, nor are its arguments
            arguments = _ARGUMENTS.match(text, begin.end(), end)
            yield Numeral("", begin.start(), arguments.end() if arguments else begin.end())
    else:
        yield _other(text, begin, end)


def _run(text: str, begin: re.Match[str], end: int) -> Iterator[Numeral]:
    """The numbers of a row of digits: one, when it fits the form of thousands groups, else several."""
    start, stop = begin.span("run")
    is_one = text[start:stop].isdecimal()
    if is_one and not _is_free(text, start):
        return
    signed = bool(begin["sign"]) and may_be_signed(text, begin.start())
    parts = [(start, stop)] if is_one else _parts(text, start, stop)
    if len(parts) == 1 and not _is_free(text, start) and _GROUPED.fullmatch(text, start, stop):
        parts = _split(text, start, stop)  # `Q3 200`: 3 belongs to the word, 200 doesn't
    for index, (left, right) in enumerate(parts):
        is_last = index == len(parts) - 1
        if is_last:
            right = begin.end("decimals")
        elif index == len(parts) - 2 and text[right] in _SPACES and text[left:right].isdigit():
            mixed = _mixed(text, left, right, parts[-1], begin, end)
            if mixed and _is_free(text, left):
                negative = signed and index == 0 and begin["sign"][0] in MINUS
                value = negated(mixed.text) if negative else mixed.text
                yield Numeral(value, begin.start() if negative else left, mixed.end)
                return
        if not _is_free(text, left) or _is_joined(text, right, end):
            continue
        number = _number(text, left, right, begin["decimals"].count(".") if is_last else 0, is_last, end)
        if signed and index == 0:
            value = negated(number.text) if begin["sign"][0] in MINUS else number.text
            number = Numeral(value, begin.start(), number.end)
        yield number


def _parts(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """A row of digits as numbers: whole, else split at its blanks, else at every separator (ruling 32)."""
    if _GROUPED.fullmatch(text, start, stop):
        return [(start, stop)]
    parts = []
    for left, right in _ends(_split(text, start, stop, _SPACES)):
        if _GROUPED.fullmatch(text, left, right) and text[left:right].find(" ") == -1:
            parts.append((left, right))
        else:
            parts.extend(_ends(_split(text, left, right)))
    return parts


def _ends(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first two and last three of many: more are never asked for."""
    return parts if len(parts) <= 5 else parts[:2] + parts[-3:]


def _split(text: str, start: int, stop: int, marks: str | None = None) -> list[tuple[int, int]]:
    parts = []
    for mark in _SEPARATOR.finditer(text, start, stop):
        if marks is None or mark.group() in marks:
            parts.append((start, mark.start()))
            start = mark.end()
    parts.append((start, stop))
    return parts


def _number(text: str, left: int, right: int, points: int, has_tail: bool, end: int) -> Numeral:
    """A number of digits and decimals, with its exponent or denominator if one follows."""
    if points > 1:
        return Numeral("", left, right)
    digits = plain(_SEPARATOR.sub("", text[left:right]))
    if not has_tail:
        return Numeral(digits, left, right)
    exponent = _EXPONENT.match(text, right, end) or _POWER.match(text, right, end)
    if exponent:
        power = next(group for group in exponent.groups() if group)
        return Numeral(scaled(digits, plain_signed(power.translate(_RAISED))), left, exponent.end())
    slash = _SLASH.match(text, right, end)
    if slash and not _is_denominator(text, left):
        return Numeral(quotient(digits, plain(slash[1])), left, slash.end())
    if "." not in digits:
        mixed = _MIXED_FRAC.match(text, right, end) or _MIXED_VULGAR.match(text, right, end)
        if mixed:
            return Numeral(added(digits, _fraction(mixed)), left, mixed.end())
    return Numeral(digits, left, right)


def _mixed(
    text: str, left: int, right: int, above: tuple[int, int], begin: re.Match[str], end: int
) -> Numeral | None:
    """`2 1/2`: an integer, one blank, and a fraction of integers."""
    slash = None if begin["decimals"] or right + 1 != above[0] else _SLASH.match(text, above[1], end)
    if slash is None or not text[above[0] : above[1]].isdecimal() or not slash[1].isdecimal():
        return None
    part = quotient(plain(text[above[0] : above[1]]), plain(slash[1]))
    return Numeral(added(plain(text[left:right]), part), left, slash.end())


def _other(text: str, begin: re.Match[str], end: int) -> Numeral:
    """A number that begins with a point, a vulgar fraction or `\\frac`."""
    signed = bool(begin["sign"]) and may_be_signed(text, begin.start())
    start = begin.start() if signed or not begin["sign"] else begin.end("sign")
    if begin["point"]:
        found = _number(text, begin.start("point"), begin.end(), begin["point"].count("."), True, end)
    elif begin["vulgar"]:
        found = Numeral(_VULGAR.get(begin["vulgar"], ""), start, begin.end())  # `½½` is none
    else:
        arguments = _ARGUMENTS.match(text, begin.end(), end)
        if arguments is None:
            return Numeral("", start, begin.end())
        found = Numeral(_fraction(arguments), start, arguments.end())
    negative = signed and begin["sign"][0] in MINUS
    return Numeral(negated(found.text) if negative else found.text, start, found.end)


def _touches(character: str) -> bool:
    """Whether a character makes a word of what follows it. Scripts that set no blanks don't: `共72个`."""
    if not character.isalnum():
        return False
    code = ord(character)
    return code < 0xE00 or 0x1000 <= code < 0x2E80 or character.isdecimal()


def _is_free(text: str, at: int) -> bool:
    """Whether a number can begin here: no letter, digit or `_` touches it, and it is no unit's power."""
    before = text[at - 1 : at] if at else ""
    if not before or before == " ":
        return True
    if before == "_":
        return not text[at - 2 : at - 1].isalnum()
    if before in MINUS:
        at -= 1
        before = text[at - 1 : at] if at else ""
    elif _touches(before):
        return _ends_command(text, at)
    if before == "{" and text[at - 2 : at - 1] in ("^", "_"):
        at -= 1
        before = text[at - 1]
    if before == "^":
        unit = text[at - 2 : at - 1]
        if unit in ("}", ")"):
            return text[at - 3 : at - 2].isdigit()  # `(7)^2` is no unit's power
        return not unit.isalpha()
    return before != "_"


def _ends_command(text: str, at: int) -> bool:
    r"""Whether the letters before `at` are a LaTeX command's, as in `3\times5`."""
    left = at
    while left > at - _COMMAND and left > 0 and text[left - 1].isascii() and text[left - 1].isalpha():
        left -= 1
    return 0 < left < at and text[left - 1] == "\\"


def _is_denominator(text: str, at: int) -> bool:
    """Whether a number stands behind another and a slash: `12/25/2020` is no fraction."""
    return text[at - 1 : at] in ("/", "⁄", "∕") and text[at - 2 : at - 1].isdigit()


def _is_joined(text: str, at: int, end: int) -> bool:
    """Whether `_` and a letter or digit follow: `1_000` is no number."""
    return at + 1 < end and text[at] == "_" and text[at + 1].isalnum()


def may_be_signed(text: str, at: int) -> bool:
    """Ruling 36: a sign has no digit, letter, closing bracket or other dash before it."""
    before = text[at - 1] if at else " "
    if _touches(before):
        return _ends_command(text, at)
    return before not in ")]}" and before not in MINUS


def _fraction(found: re.Match[str]) -> str:
    """The value of a vulgar fraction or of the two arguments of `\\frac`."""
    groups = [group for group in found.groups() if group]
    if len(groups) == 1:
        return _VULGAR[groups[0]]
    above, below = (plain_signed(group.replace(",", "")) for group in groups)
    return quotient(above, below)


_WINDOW = 2048
_REACH = 128
"""How far a number reaches beyond its row of digits, at most."""
_COMMAND = 16
"""Letters of a LaTeX command, at most."""
_RUN_MARKS = _SPACES + ",.{}\\!٫٬．"
