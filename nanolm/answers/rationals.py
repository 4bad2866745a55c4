"""The values of numbers as texts, and when two are equal (ruling 35).

A value is the text of an integer, decimal or fraction, `72`, `-0.5`, `3/4`, perhaps with an exponent that
is not written out (`12e400`); empty for what has none. Nothing here takes time beyond its texts' lengths.
"""

import unicodedata
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, DecimalException, Inexact
from fractions import Fraction

MINUS = "-−－‐‑‒–﹣"
"""Hyphens and the dashes that are written for a minus; not the em dash."""
_LONGEST = 1000
"""Digits up to which fractions are put in lowest terms and exponents written out; `equal` needs neither."""


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
    sign = "-" if text[0] in MINUS else ""
    return sign + plain(text.lstrip("+-−"))


def negated(text: str) -> str:
    return text.removeprefix("-") if text.startswith("-") else f"-{text}" if text else ""


def quotient(above: str, below: str) -> str:
    if not below.strip("-0."):
        return ""
    if len(above) + len(below) > _LONGEST:
        return f"{above}/{below}"
    return str(Fraction(above) / Fraction(below))


def added(whole: str, part: str) -> str:
    if not part or part.startswith("-") or len(whole) + len(part) > _LONGEST:
        return ""
    return str(int(whole) + Fraction(part))


def scaled(digits: str, power: str) -> str:
    if len(power) <= 3 and len(digits) <= _LONGEST:
        text = format(Decimal(f"{digits}e{power}"), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{digits}e{power}"


_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def _ratio(text: str) -> tuple[Decimal, Decimal]:
    above, slash, below = text.partition("/")
    return Decimal(above), Decimal(below) if slash else Decimal(1)
