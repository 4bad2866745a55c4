r"""A number with what belongs to its value but may stand apart from its digits.

- **A minus** (ruling 36) with form between it and the digits: `-\,5`, `-~5`, `-\textbf{5}`, `-**5**`,
  `\text{-}5`, `-\text{USD }5`. With a blank between, `- 5`, it is a sign at the front of a box or answer
  line, and behind a colon, `=`, `(` or "is"; elsewhere it is a dash or a list's bullet. The em dash is a
  sign only at the front of a box or answer line. The words `negative` and `minus` are signs too, `minus`
  in prose only where such a dash would be.
- **A multiple** (ruling 83): `5 million`, `5 thousand`, `5k`, `$5M`.

In a box, what is visibly an expression and no number is none (ruling 84): `5!`, `|-5|`, `5 - x`, `f(5)`.
"""

import re

from nanolm.answers import markup, numerals
from nanolm.answers.numerals import Numeral
from nanolm.answers.rationals import MINUS, negated, quotient, scaled

_REACH = 80
"""Characters between a minus and its digits, at most."""
_WHITE = re.escape(markup.WHITE)
_QUOTES = re.escape(markup.QUOTES)
# One piece of form: the pieces differ in how they begin, so that there is one way to read a row of them.
_FORM = (
    rf"[{_WHITE}{_QUOTES}$€£¥₹(){{}}\[*_~]|\\[,;:!> $(\[{_WHITE}]|\\(?:text|math)[a-z]{{0,9}}"
    r"|\\(?:bf|rm|left|quad|qquad|displaystyle|[Bb]ig[lr]?)(?![A-Za-z])|USD|EUR|GBP|Rs\.?"
)
_HINT = re.compile(rf"[{MINUS}—负負]|minus|negative|минус|マイナス", re.IGNORECASE)
_MINUS_BEFORE = re.compile(rf"[{MINUS}—](?:{_FORM}){{0,24}}\Z")
_WORD_BEFORE = re.compile(
    rf"(?<![^\W_])(?<!-)(?P<word>minus|negative|минус)(?:{_FORM}){{1,24}}\Z"
    rf"|(?:负|負|マイナス)(?:{_FORM}){{0,24}}\Z",
    re.IGNORECASE,
)
_FRONT = re.compile(rf"(?:{_FORM}){{0,24}}\Z")
_OPENS = re.compile(
    r"(?:[:：=({\[≈]|(?<![^\W_])(?:is|was|be|equals?|to|about|approx|approximately))[ $*_{\\]{0,8}\Z",
    re.IGNORECASE,
)

_GAP = r"(?:[ \u00a0\u2009\u202f$*_}~]|\\[ ,;:!$]|\\(?:text|math|mbox)[a-z]{0,4}[ ]?\{){0,8}"
_MULTIPLE = re.compile(
    rf"{_GAP}(?P<word>hundred|thousand|million|billion|trillion)s?(?![A-Za-z]|-[A-Za-z])", re.IGNORECASE
)
_SHORT = re.compile(r"(?:\}|\\text\{)?(?P<word>[kK])(?!\w)")
_CURRENCY_SHORT = re.compile(r"[ ]?(?:\\text\{)?(?P<word>[MB]|mn|bn)(?!\w)")
_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_POWERS |= {"k": 3, "m": 6, "mn": 6, "b": 9, "bn": 9}

_NOT_PLAIN = re.compile(
    r"\\(?:sqrt|pi|log|ln|sin|cos|tan|binom|infty|pm|mp|[lr]floor|[lr]ceil)(?![A-Za-z])|[√π∞∛±∓⌊⌋⌈⌉]"
)
"""Content that is no plain number, though digits stand in it."""
_EXPRESSION = re.compile(
    rf"\d[)}}]?!|(?<![A-Za-z\\\d.])[A-Za-z](?:\(|[ ]?[{MINUS}+][ ]?\d)"
    rf"|\d[ ]?[{MINUS}+][ ]?[A-Za-z](?![A-Za-z])"
)
_BAR = re.compile(r"\||\\[lr]?vert")


def only(text: str, start: int, end: int, *, boxed: bool = False) -> Numeral | None:
    """The number of a box or answer line, when it is the only one there (rulings 29, 31)."""
    if _NOT_PLAIN.search(text, start, end) or (boxed and _EXPRESSION.search(text, start, end)):
        return None
    found = numerals.only(text, start, end)
    if found is None:
        return None
    found = _with_sign(text, _with_multiple(text, found, end), start, alone=True)
    if boxed and found.text.startswith("-") and _in_bars(text, found, start, end):
        return None
    return found


def last(text: str, start: int, end: int, line: int) -> Numeral | None:
    """The last number of a line of prose that begins at `line`, looked for from `start`."""
    found = numerals.last(text, start, end)
    return found and _with_sign(text, _with_multiple(text, found, end), line, alone=False)


def _with_sign(text: str, found: Numeral, start: int, *, alone: bool) -> Numeral:
    left = max(start, found.start - _REACH)
    if not _HINT.search(text, left, found.start):
        return found
    at = _minus(text, found.start, left, left == start and alone, alone)
    return found if at is None else Numeral(negated(found.text), at, found.end)


def _minus(text: str, at: int, left: int, at_front: bool, alone: bool) -> int | None:
    """Where the minus that belongs to the number at `at` stands; `alone`: the only number of its place."""
    word = _WORD_BEFORE.search(text, left, at)
    if word:
        binary = (word["word"] or "").casefold() in ("minus", "минус")
        return word.start() if not binary or alone or _opens(text, left, word.start()) else None
    minus = _MINUS_BEFORE.search(text, left, at)
    if minus is None:
        return None
    front = at_front and _FRONT.match(text, left, minus.start()) is not None
    spaced = minus.group()[1:2].isspace()
    if minus.group()[0] == "—":
        return minus.start() if front else None
    if spaced and not front and not _opens(text, left, minus.start()):
        return None
    return minus.start() if numerals.may_be_signed(text, minus.start()) else None


def _opens(text: str, left: int, at: int) -> bool:
    """Whether a number, rather than a second operand, is to be expected at `at`."""
    return _OPENS.search(text, left, at) is not None


def _with_multiple(text: str, found: Numeral, end: int) -> Numeral:
    short = _SHORT.match(text, found.end, end)
    if short is None and _is_money(text, found.start):
        short = _CURRENCY_SHORT.match(text, found.end, end)
    if short:
        return _times(found, short)
    for _ in range(2):  # "5 hundred thousand"
        multiple = _MULTIPLE.match(text, found.end, end)
        if multiple is None:
            break
        found = _times(found, multiple)
    return found


def _times(found: Numeral, multiple: re.Match[str]) -> Numeral:
    power = _POWERS[multiple["word"].casefold()]
    above, slash, below = found.text.partition("/")
    value = scaled(above, str(power)) if found.text else ""
    return Numeral(quotient(value, below) if slash else value, found.start, multiple.end("word"))


def _is_money(text: str, at: int) -> bool:
    return text[at : at + 3].lstrip(MINUS + "\\")[:1] in tuple("$€£¥₹") or text[at - 1 : at] in tuple("$€£¥₹")


def _in_bars(text: str, found: Numeral, start: int, end: int) -> bool:
    return bool(_BAR.search(text, start, found.start) and _BAR.search(text, found.end, end))
