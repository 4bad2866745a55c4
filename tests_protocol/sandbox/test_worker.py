"""A checker's exit code as the evaluator's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.sandbox.program import Run, result
from nanolm.sandbox.worker import read
from nanolm.sandbox.zygote import STATUSES, code


@pytest.mark.parametrize("base", STATUSES)
@pytest.mark.parametrize("plus", [*STATUSES, None])
def test_every_verdict_travels(base: str, plus: str | None) -> None:
    run = read({"code": code(base, plus), "seconds": 0.5})
    assert (run.base, run.plus) == (base, plus)
    assert run.passed == (base == "pass" and plus in ("pass", None))


@given(st.integers(-64, 255))
def test_only_the_evaluators_own_marks_pass(status: int) -> None:
    """Ruling 49: exit code 0 is not enough."""
    run = read({"code": status, "seconds": 0.5})
    assert run.passed == (status in (code("pass", "pass"), code("pass", None)))
    if not 64 <= status < 76:
        assert run.status == "error"
        assert "brought down" in run.note


def test_the_last_run_decides_and_the_first_is_kept() -> None:
    first = Run(base="pass", plus="fail", seconds=2.5)
    found = result(Run(base="pass", plus="pass", seconds=1.5), first)
    assert found.passed
    assert found.retried
    assert found.first == first
    assert found.seconds == 1.5
    assert found.detail == "base pass, plus pass in 1.50 s, alone; at first base pass, plus fail in 2.50 s"


def test_status_is_the_first_that_is_not_pass() -> None:
    assert Run(base="fail", plus="timeout", seconds=1).status == "fail"
    assert Run(base="pass", plus="timeout", seconds=1).status == "timeout"
    assert Run(base="pass", plus=None, seconds=1).status == "pass"
