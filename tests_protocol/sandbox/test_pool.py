"""The pool's own rules, with a stand-in for the sandbox: no program is run here."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanolm.errors import SandboxError, UsageError
from nanolm.sandbox import Evaluators, Program, connect, dataset, pool, references, share
from nanolm.sandbox.program import Run, Status
from nanolm.sandbox.worker import error


class StandIn:
    """Runs "programs" that are words: `pass`, `fail`, `slow-fail`, `slow-then-pass`, `slow-starved`."""

    seen: list[tuple[str, str, int]]
    running = 0
    at_once: list[int]
    lock = threading.Lock()

    def __init__(self, number: int) -> None:
        self.number = number

    def run(self, prepared: Any, task: str, program: str) -> Run:
        with StandIn.lock:
            StandIn.running += 1
            StandIn.at_once.append(StandIn.running)
            StandIn.seen.append((task, program, StandIn.running))
            times = sum(1 for t, p, _ in StandIn.seen if (t, p) == (task, program))
        time.sleep(0.01)
        with StandIn.lock:
            StandIn.running -= 1
        if program == "explode":
            raise SandboxError("no sandbox any more")
        passed = program == "pass" or (program.startswith("slow-then-pass") and times > 1)
        if program.startswith("brought-down") and (times == 1 or "always" in program):
            return error(0.1, "the sandbox ended")
        passed = passed or program == "brought-down-once"
        seconds = 2.0 if "slow" in program else 0.1
        cpu, preemptions = (0.4, 200) if "starved" in program else (seconds, 3)
        base: Status = "pass" if passed else "fail"
        return Run(base=base, plus=None, seconds=seconds, cpu=cpu, preemptions=preemptions)

    def stop(self) -> str:
        return ""

    def kill(self) -> None:
        pass


class Located:
    """A data set that is all there."""

    def __init__(self, name: str) -> None:
        self.dataset = dataset(name, Path())

    folder = Path("nowhere")

    def ready(self) -> bool:
        return True

    def key(self) -> str:
        return f"key of {self.dataset.name}"

    def entries(self) -> dict[str, Any]:
        return {f"Mbpp/{n}": {} for n in range(200)}


@pytest.fixture
def evaluators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Evaluators]:
    StandIn.seen, StandIn.at_once, StandIn.running = [], [], 0
    monkeypatch.setattr(pool, "Worker", StandIn)
    monkeypatch.setattr(pool, "probe", lambda: None)
    monkeypatch.setattr(pool.truth, "locate", lambda data, cache: Located(data.name))
    names = ("mbpp-plus", "evoeval-subtle")
    with Evaluators({n: dataset(n, Path()) for n in names}, tmp_path, workers=3) as opened:
        yield opened


def test_a_verdict(evaluators: Evaluators) -> None:
    found = evaluators.check("mbpp-plus", "Mbpp/2", "pass")
    assert (found.passed, found.status, found.retried) == (True, "pass", False)


def test_a_fast_fail_is_final_and_a_slow_one_is_run_once_more(evaluators: Evaluators) -> None:
    assert not evaluators.check("mbpp-plus", "Mbpp/2", "fail").retried
    slow = evaluators.check("mbpp-plus", "Mbpp/2", "slow-fail")
    assert (slow.passed, slow.retried) == (False, True)
    mended = evaluators.check("mbpp-plus", "Mbpp/2", "slow-then-pass")
    assert (mended.passed, mended.retried) == (True, True)
    assert mended.first is not None
    assert mended.first.status == "fail"
    assert len(StandIn.seen) == 5


def test_the_second_run_is_alone(evaluators: Evaluators) -> None:
    programs = [
        Program(n, "mbpp-plus", f"Mbpp/{n}", "slow-then-pass" if n % 3 == 0 else "pass") for n in range(90)
    ]
    found = dict(evaluators.check_all(programs))
    assert len(found) == 90
    assert all(result.passed for result in found.values())
    assert max(StandIn.at_once) > 1
    first: set[str] = set()
    for task, program, at_once in StandIn.seen:
        if program == "slow-then-pass" and task in first:
            assert at_once == 1
        first.add(task)


def test_workers_that_find_no_ground_truth_at_the_same_moment_prepare_it_in_turn(
    evaluators: Evaluators, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: set[str] = set()
    all_took_one = threading.Barrier(3, timeout=10)
    begun: list[tuple[str, int]] = []

    def is_ready(located: Located) -> bool:
        if not begun and threading.current_thread().name.startswith("nanolm-worker"):
            all_took_one.wait()  # three workers hold a program before the first of them prepares
        return located.dataset.name in ready

    def prepare(located: Located, report: object) -> None:
        begun.append((located.dataset.name, StandIn.running))
        time.sleep(0.02)
        ready.add(located.dataset.name)

    monkeypatch.setattr(Located, "ready", is_ready)
    monkeypatch.setattr(pool.truth, "prepare", prepare)
    asked = [("mbpp-plus", "Mbpp/2"), ("mbpp-plus", "Mbpp/3"), ("evoeval-subtle", "Mbpp/2")]
    futures = [evaluators.submit(name, task, "pass") for name, task in asked * 3]
    assert all(future.result(timeout=10).passed for future in futures)
    assert {name for name, _ in begun} == {"mbpp-plus", "evoeval-subtle"}
    assert {running for _, running in begun} == {0}, "a program ran while reference times were taken"


def test_equal_programs_run_once(evaluators: Evaluators) -> None:
    found = list(evaluators.check_all(Program(n, "mbpp-plus", "Mbpp/2", "slow-fail") for n in range(20)))
    assert sorted(key for key, _ in found) == list(range(20))
    assert len(StandIn.seen) <= 4


def test_results_come_while_the_programs_are_still_being_written(evaluators: Evaluators) -> None:
    go_on = threading.Event()

    def written() -> Iterator[Program]:
        yield Program("first", "mbpp-plus", "Mbpp/2", "pass")
        assert go_on.wait(10)
        yield Program("second", "evoeval-subtle", "Mbpp/3", "fail")

    stream = evaluators.check_all(written())
    assert next(stream)[0] == "first"
    go_on.set()
    assert [key for key, _ in stream] == ["second"]


def test_the_writers_error_comes_after_its_results(evaluators: Evaluators) -> None:
    def written() -> Iterator[Program]:
        yield Program("first", "mbpp-plus", "Mbpp/2", "pass")
        raise RuntimeError("the engine died")

    stream = evaluators.check_all(written())
    assert next(stream)[0] == "first"
    with pytest.raises(RuntimeError, match="the engine died"):
        next(stream)


def test_several_threads_and_data_sets(evaluators: Evaluators) -> None:
    found: list[bool] = []

    def ask(name: str) -> None:
        found.extend(evaluators.check(name, f"Mbpp/{n}", "pass").passed for n in range(10))

    threads = [threading.Thread(target=ask, args=(n,)) for n in ("mbpp-plus", "evoeval-subtle") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [True] * 60


def test_what_a_busy_machine_may_have_failed_is_counted_and_marked(evaluators: Evaluators) -> None:
    found = evaluators.check("mbpp-plus", "Mbpp/2", "slow-starved")
    assert (found.passed, found.starved, found.retried) == (False, True, True)
    assert found.detail == "fail in 2.00 s with 0.40 s of processor time, alone; at first " + (
        "fail in 2.00 s with 0.40 s of processor time"
    )
    assert not evaluators.check("mbpp-plus", "Mbpp/2", "slow-fail").starved
    assert not evaluators.check("mbpp-plus", "Mbpp/2", "fail").starved
    assert evaluators.starved == 1
    assert references.marks(evaluators)[0].startswith("1 program that did not pass ran short of processor")


def test_unknown_names(evaluators: Evaluators) -> None:
    with pytest.raises(UsageError, match="did you mean mbpp-plus"):
        evaluators.check("mbpp-pluss", "Mbpp/2", "pass")
    with pytest.raises(UsageError, match="unknown task of mbpp-plus"):
        evaluators.check("mbpp-plus", "Mbpp/9999", "pass")
    with pytest.raises(UsageError, match="excluded"):
        evaluators.check("mbpp-plus", "Mbpp/255", "pass")


def test_a_dead_sandbox_is_an_error_and_not_a_verdict(evaluators: Evaluators) -> None:
    with pytest.raises(SandboxError, match="no sandbox any more"):
        evaluators.check("mbpp-plus", "Mbpp/2", "explode")
    assert evaluators.check("mbpp-plus", "Mbpp/2", "pass").passed


def test_where_no_sandbox_starts_the_rest_is_not_tried(evaluators: Evaluators) -> None:
    """Each may take minutes to fail."""
    for task in range(pool.FAILURES + 5):
        with pytest.raises(SandboxError, match="no sandbox any more"):
            evaluators.check("mbpp-plus", f"Mbpp/{task}", "explode")
    assert len(StandIn.seen) == pool.FAILURES


def test_a_check_that_was_brought_down_is_run_once_more_alone(evaluators: Evaluators) -> None:
    """It may have been the machine: nothing but the evaluator's own verdict is one."""
    mended = evaluators.check("mbpp-plus", "Mbpp/2", "brought-down-once")
    assert (mended.passed, mended.retried) == (True, True)
    found = evaluators.check("mbpp-plus", "Mbpp/2", "brought-down-always")
    assert (found.passed, found.status, found.retried) == (False, "error", True)
    assert found.detail.count("the sandbox ended") == 2


def test_closed(evaluators: Evaluators) -> None:
    evaluators.close()
    evaluators.close()
    with pytest.raises(SandboxError, match="closed"):
        evaluators.check("mbpp-plus", "Mbpp/2", "pass")


def test_one_pool_for_several_processes(evaluators: Evaluators) -> None:
    shared = share(evaluators)
    try:
        with connect(shared.address) as one, connect(shared.address) as two:
            assert one.cache_key("mbpp-plus") == "key of mbpp-plus"
            assert one.check("mbpp-plus", "Mbpp/2", "pass").passed
            found = two.check_all(Program(n, "mbpp-plus", f"Mbpp/{n}", "slow-fail") for n in range(5))
            assert sorted((key, result.retried) for key, result in found) == [(n, True) for n in range(5)]
            with pytest.raises(SandboxError, match="unknown data set"):
                two.check("x", "Mbpp/2", "pass")
            with pytest.raises(SandboxError, match="excluded"):
                two.check("mbpp-plus", "Mbpp/255", "pass")
            assert not one.check("mbpp-plus", "Mbpp/2", "x = '\ud800'").passed
    finally:
        shared.close()
        shared.close()
    with pytest.raises(SandboxError, match="can't be reached"):
        connect(shared.address)
