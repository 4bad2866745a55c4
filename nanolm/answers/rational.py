"""A number's value as text, made from the parts it is written in, and compared exactly (rulings 32, 35, 37).

Values are ASCII: `72`, `-0.5`, `3/4` in lowest terms, and for what would be too long to write out `1e99999`
or a fraction as it stands. An empty text stands for what has no value.
"""

import unicodedata
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, DecimalException, Inexact
from fractions import Fraction

MINUS = "-−－"
"""Signs that make a number negative (ruling 36)."""

VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5"}
VULGAR |= {"⅗": "3/5", "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
"""The values of fractions that are one sign."""

_LONGEST = 1000
"""Digits up to which fractions are put in lowest terms and exponents written out; `equal` needs neither."""
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def equal(first: str, second: str) -> bool:
    """Whether two numbers' texts are the same rational number, exactly (ruling 35)."""
    if not first or not second:
        return False
    if first == second:
        return True
    try:
        above, below = _ratio(first)
        other_above, other_below = _ratio(second)
        return _EXACT.multiply(above, other_below) == _EXACT.multiply(other_above, below)
    except DecimalException:  # an exponent beyond 10**18, or text that is no number
        return False


def plain(text: str) -> str:
    """Digits and perhaps a point in ASCII, without leading zeros."""
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(character, ".")) for character in text)
    whole, point, decimals = text.partition(".")
    if whole:
        whole = whole.lstrip("0") or "0"
    return whole + point + decimals if decimals else whole


def plain_signed(text: str) -> str:
    """The same with a minus kept, whichever sign it is."""
    sign = "-" if text[0] in MINUS else ""
    return sign + plain(text.lstrip("+-−"))


def negated(text: str) -> str:
    """The value with the other sign; nothing stays nothing."""
    return text.removeprefix("-") if text.startswith("-") else f"-{text}" if text else ""


def quotient(above: str, below: str) -> str:
    """A fraction's value; nothing for a denominator of 0."""
    if not below.strip("-0."):
        return ""
    if len(above) + len(below) > _LONGEST:
        return f"{above}/{below}"
    return str(Fraction(above) / Fraction(below))


def mixed(whole: str, part: str) -> str:
    """A whole number and a fraction beside it; nothing when the fraction has a sign of its own."""
    if not part or part.startswith("-") or len(whole) + len(part) > _LONGEST:
        return ""
    return str(int(whole) + Fraction(part))


def scaled(digits: str, power: str) -> str:
    """`digits` times ten to the `power`, written out while that is short (ruling 37)."""
    if len(power) <= 3 and len(digits) <= _LONGEST:
        text = format(Decimal(f"{digits}e{power}"), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{digits}e{power}"


def _ratio(text: str) -> tuple[Decimal, Decimal]:
    above, slash, below = text.partition("/")
    return Decimal(above), Decimal(below) if slash else Decimal(1)
