"""The math workers: deadlines, deaths, and that nothing is left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanolm.answers import math_expression
from nanolm.errors import NanoLMError
from nanolm.verdicts import pool as pools
from nanolm.verdicts.pool import Equality, MathPool


@pytest.fixture
def pool() -> Iterator[MathPool]:
    made = MathPool(workers=1, seconds=1.0)
    yield made
    made.close()


def _process(pool: MathPool) -> "subprocess.Popen[bytes]":
    process = pool._running[0]._process
    assert process is not None
    return process


def test_answers_come_from_another_process(pool: MathPool) -> None:
    assert pool.submit("5", "4+1").result() == Equality(True)
    assert pool.submit("5", "4+2").result() == Equality(False)
    assert pool.submit("5", "\ud800").result() == Equality(False)
    assert _process(pool).pid != os.getpid()


def test_a_question_without_end_is_not_equal_and_the_next_one_is_answered(pool: MathPool) -> None:
    bomb = pool.submit("5", "10^{10^{10}}")
    after = pool.submit("5", "4+1")
    late = bomb.result()
    assert (late.equal, late.timed_out) == (False, True)
    assert "no answer in 1 s" in late.note
    assert after.result() == Equality(True)


def test_a_killed_worker_loses_no_verdict(pool: MathPool) -> None:
    assert pool.submit("5", "5.0").result().equal
    os.kill(_process(pool).pid, signal.SIGKILL)
    assert pool.submit("5", "4+1").result() == Equality(True)


def test_a_worker_that_dies_of_a_question_twice_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(self: object, gold: str, expression: str) -> Equality:
        if expression == "deadly":
            raise pools._Died("signal 11")
        return Equality(True)

    monkeypatch.setattr(pools._Worker, "ask", die)
    pool = MathPool(workers=1)
    found = [pool.submit("5", expression) for expression in ("1", "deadly", "2")]
    notes = [future.result() for future in found]
    pool.close()
    assert [one.equal for one in notes] == [True, False, True]
    assert "died twice (signal 11)" in notes[1].note
    assert not notes[1].timed_out


def test_closing_ends_the_process_at_once_and_cancels(pool: MathPool) -> None:
    assert pool.submit("5", "4+1").result().equal
    process = _process(pool)
    under_way, waiting = pool.submit("5", "10^{10^{10}}"), pool.submit("5", "1")
    time.sleep(0.1)
    start = time.monotonic()
    pool.close()
    assert time.monotonic() - start < 1.5
    assert process.returncode is not None
    assert under_way.done()
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit("5", "5")


def test_a_worker_that_can_not_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    pool = MathPool(workers=1)
    with pytest.raises(NanoLMError, match=r"did not start.*nanolm\[math\]"):
        pool.submit("5", "4+1").result()
    pool.close()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_worker_outlives_a_parent_that_is_killed() -> None:
    program = textwrap.dedent("""
        import time
        from nanolm.verdicts.pool import MathPool
        pool = MathPool(workers=1)
        assert pool.submit("5", "4+1").result().equal
        print(pool._running[0]._process.pid, flush=True)
        pool.submit("5", "10^{10^{10}}")
        time.sleep(60)
    """)
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert _alive(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 5
    while _alive(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _alive(worker)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math_expression, "PACKAGES", ("math-verify", "no-such-package"))
    pool = MathPool(1)
    with pytest.raises(NanoLMError, match=r"no-such-package, not .* 'nanolm\[math\]'"):
        pool.submit("1", "2")
    pool.close()
