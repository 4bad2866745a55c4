"""Math & Reasoning. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_gsm8k_platinum(item: object, recorded: Recorded) -> None:
    """GSM8K-Platinum: grade-school word problems; the number."""
    recorded.check()


def test_math_500(item: object, recorded: Recorded) -> None:
    """MATH-500: competition problems; an equivalent expression."""
    recorded.check()
