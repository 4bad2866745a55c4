"""Nothing outlives the main process, however it ends; and real verdicts through the real evaluators."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nanolm.editions.read import load
from nanolm.errors import SandboxError
from nanolm.sandbox import Evaluators, Program, environment, of_edition, official, references, truth
from nanolm.sandbox.worker import check_start
from nanolm.sources import cache_folder

pytestmark = pytest.mark.code

# Two workers in a program that never ends, and one with a left-over child.
BUSY = """
import sys
from nanolm.editions.read import load
from nanolm.sandbox import Evaluators, of_edition
from nanolm.sources import cache_folder

LOOP = "import posix, time\\nposix.fork()\\nwhile True: pass\\n"
with Evaluators(of_edition(load("mini")), cache_folder(), workers=2) as evaluators:
    assert evaluators.check("mbpp-plus-mini", "Mbpp/10004", "def largest(n): return max(n)").passed
    asked = [evaluators.submit("mbpp-plus-mini", "Mbpp/10004", LOOP + "#" * n) for n in range(2)]
    print("busy", flush=True)
    for one in asked:
        one.result()
"""


def _descendants(pid: int) -> set[int]:
    """All processes below this one, by the kernel's own table."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    edge = {pid}
    while edge:
        edge = {child for child, parent in parents.items() if parent in edge} - found
        found |= edge
    return found


def _alive(pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.add(pid)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_is_left(how: signal.Signals, installed: None) -> None:
    main = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert main.stdout is not None
        assert main.stdout.readline() == "busy\n"
        time.sleep(1.0)
        below = _descendants(main.pid)
        assert len(below) >= 6, "two sandboxes, their zygotes, checkers and programs"
        main.send_signal(how)
        main.wait(timeout=40)
        deadline = time.monotonic() + 10
        while (left := _alive(below)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left
    finally:
        main.kill()
        main.wait()
        if main.stdout:
            main.stdout.close()


def test_the_references_of_the_mini_edition_pass(evaluators: Evaluators) -> None:
    found = references.check(evaluators, evaluators.datasets)
    assert {checked.dataset: checked.failed for checked in found} == {n: {} for n in evaluators.datasets}
    assert sum(checked.total for checked in found) == 20
    assert references.marks(evaluators) == ()


def test_a_worker_starts_within_two_seconds(evaluators: Evaluators) -> None:
    """In CPU time: a busy machine is not what is asked about."""
    for name in evaluators.datasets:
        wall, cpu = check_start(evaluators.prepare(name))
        assert 0 < cpu < 2.0, f"{wall:.2f} s of wall time"


def test_equal_data_have_equal_keys(evaluators: Evaluators) -> None:
    keys = {name: evaluators.cache_key(name) for name in evaluators.datasets}
    assert len(set(keys.values())) == 3
    for name, key in keys.items():
        suite = evaluators.locate(name).dataset.suite
        assert key.startswith(environment.environment(suite, cache_folder()).lock)


# Light tasks of every data set: enough to see each suite's own functions, inputs and oracles at work.
LIGHT = {
    "mbpp-plus": (
        "Mbpp/2",
        "Mbpp/3",
        "Mbpp/11",
        "Mbpp/63",
        "Mbpp/106",
        "Mbpp/222",
        "Mbpp/250",
        "Mbpp/252",
        "Mbpp/558",
        "Mbpp/581",
        "Mbpp/644",
        "Mbpp/753",
    ),
    "evoeval-difficult": ("EvoEval/0", "EvoEval/10", "EvoEval/32", "EvoEval/50", "EvoEval/99"),
    "evoeval-creative": ("EvoEval/0", "EvoEval/26", "EvoEval/30", "EvoEval/69"),
    "evoeval-subtle": ("EvoEval/0", "EvoEval/32", "EvoEval/50"),
    "evoeval-combine": ("EvoEval/0", "EvoEval/1", "EvoEval/50"),
    "evoeval-tool_use": ("EvoEval/0", "EvoEval/50", "EvoEval/99"),
    "evoeval-verbose": ("HumanEval/0", "HumanEval/20", "HumanEval/33"),
    "evoeval-concise": ("HumanEval/0", "HumanEval/20", "HumanEval/33"),
}


@pytest.mark.shared_data
def test_a_selection_of_official_references(shared_data: Path, installed: None) -> None:
    """The whole 1,201 are `nanolm evaluators check`; here only the chosen tasks' ground truth is computed."""
    with Evaluators(official(shared_data), cache_folder(), workers=2) as opened:
        asked = []
        for name, tasks in LIGHT.items():
            prepared = opened.locate(name)
            truth.prepare(prepared, tasks=frozenset(tasks))
            programs = prepared.references()
            asked += [Program((name, task), name, task, programs[task]) for task in tasks]
            asked += [Program((name, task, "not"), name, task, "def nothing(): pass\n") for task in tasks]
        for key, result in opened.check_all(asked):
            assert isinstance(key, tuple)
            for _ in range(5):  # what a busy machine failed is no verdict
                if result.starved and len(key) == 2:
                    result = opened.check(*key, opened.locate(key[0]).references()[key[1]])
            assert result.passed == (len(key) == 2), f"{key}: {result.detail}"


def test_a_changed_evaluator_is_not_used(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The zygote names the releases it has; where they are not the protocol's, no program is run."""
    monkeypatch.setitem(environment.RELEASES, "mbpp", {"evalplus": "0.3.2"})
    with (
        Evaluators(of_edition(load("mini"), ["mbpp-plus-mini"]), cache_folder(), workers=1) as opened,
        pytest.raises(SandboxError, match=r"holds evalplus 0\.3\.1, expected 0\.3\.2, so no program is run"),
    ):
        opened.check("mbpp-plus-mini", "Mbpp/10004", "def largest(numbers): return max(numbers)\n")
