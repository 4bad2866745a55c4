"""Runs and `nanolm evaluators check` with programs under way: one pool, and no end leaves a process."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.code

ROOT = Path(__file__).resolve().parents[2]
RUN = ("-m", "pytest", "tests_benchmarks", "--entry=oracle", "-k", "mbpp_plus", "-p", "no:cacheprovider")
CORES = len(os.sched_getaffinity(0))


def table() -> dict[int, tuple[int, str, str]]:
    """All processes by the kernel's own table: parent, state, command."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            found[int(folder.name)] = int(stat[1]), stat[0], command
    return found


def below(pid: int) -> dict[int, str]:
    """Living descendants of a process, with their commands."""
    processes = table()
    found: dict[int, str] = {}
    edge = {pid}
    while edge:
        edge = {child for child, (parent, _, _) in processes.items() if parent in edge} - found.keys()
        found |= {child: processes[child][2] for child in edge if processes[child][1] != "Z"}
    return found


def sandboxes(processes: dict[int, str]) -> list[int]:
    """Those that are bubblewrap itself, around an evaluator."""
    return [pid for pid, command in processes.items() if "bwrap " in command and " serve " in command]


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(process: "subprocess.Popen[bytes]", number: int, each: int) -> dict[int, str]:
    """Until so many sandboxes run below the process, with so many processes each; gives all below it."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert process.poll() is None, f"ended by itself with {process.returncode}"
        found = below(process.pid)
        around = sandboxes(found)
        if len(around) >= number and sum("zygote.py serve" in c for c in found.values()) >= number * each:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{number} sandboxes did not start; below it: {found}")


def end(process: "subprocess.Popen[bytes]", how: signal.Signals, processes: dict[int, str]) -> None:
    """End the main process this way; then nothing of what it started is there any more."""
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # Ctrl-C reaches the whole group
    else:
        process.send_signal(how)
    process.wait(timeout=120)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        running = table()
        left = {
            pid: command
            for pid, command in processes.items()
            if pid in running and running[pid][1] != "Z" and running[pid][2] == command
        }
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"left over after {how.name}: {left}")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory, installed: None) -> list[dict[str, object]]:
    """The record of a run of one benchmark, by line."""
    reports = tmp_path_factory.mktemp("recorded")
    with started(*RUN, f"--reports-dir={reports}") as run:
        assert run.wait(timeout=300) == 0
    written = (reports / "mini" / "oracle" / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in written]


@pytest.fixture
def looping(tmp_path: Path, lines: list[dict[str, object]]) -> Path:
    """A reports folder with the same record, in which every program loops, each a different one."""
    folder = tmp_path / "mini" / "oracle"
    folder.mkdir(parents=True)
    with open(folder / "outputs.jsonl", "w", encoding="utf-8") as file:
        for line in lines:
            loop = f"# {uuid.uuid4()}\nimport posix\nposix.fork()\nwhile True: pass\n"
            file.write(json.dumps(line | {"text": f"```python\n{loop}```"}) + "\n")
    return tmp_path


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_has_one_pool_and_leaves_nothing(workers: str, how: signal.Signals, looping: Path) -> None:
    options = (f"--reports-dir={looping}", "-n", workers, "--record-mode=none")
    with started(*RUN, *options) as run:
        # bubblewrap, its zygote, the checker and the program: all loop, and more pools would be there too
        found = wait_for(run, CORES, each=4)
        running = table()
        assert len(sandboxes(found)) == CORES
        assert {running[pid][0] for pid in sandboxes(found)} == {run.pid}, "not started by the main process"
        end(run, how, found)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_evaluators_check_leaves_nothing(how: signal.Signals, installed: None) -> None:
    with started("-m", "nanolm", "evaluators", "check", "--edition=mini") as check:
        end(check, how, wait_for(check, 1, each=2))


def test_workers_give_the_same_score_as_one_process(tmp_path: Path, installed: None) -> None:
    scores = []
    for workers in ("0", "2"):
        reports = tmp_path / workers
        options = ("-p", "no:cacheprovider", f"--reports-dir={reports}", "-n", workers)
        with started("-m", "pytest", "tests_benchmarks", "--entry=oracle", *options) as run:
            assert run.wait(timeout=600) == 0
        scores.append((reports / "mini" / "oracle" / "score.json").read_bytes())
    assert scores[0] == scores[1]
    score = json.loads(scores[0])
    assert score["index"]["value"] == 100.0
    assert {score["benchmarks"][slug]["raw"] for slug in ("mbpp-plus-mini", "evoeval-mini")} == {1.0}
