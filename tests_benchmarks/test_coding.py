"""Coding. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_mbpp_plus(item: object, recorded: Recorded) -> None:
    """MBPP+: short Python tasks; every test of the official evaluator passes."""
    recorded.check()


def test_evoeval(item: object, recorded: Recorded) -> None:
    """EvoEval: HumanEval evolved seven ways; every test of the official evaluator passes."""
    recorded.check()
