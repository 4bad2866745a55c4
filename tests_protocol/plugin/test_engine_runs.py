"""Whole runs with an engine in a process of its own (a stand-in for vLLM's), and what can befall them."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanolm.entries import seed
from tests_protocol.engines import tiny_model

ROOT = Path(__file__).resolve().parents[2]
TESTS = "tests_benchmarks/test_knowledge.py"
ARC = "arc-easy-mini"
PLUGIN = """
import functools
from nanolm.engines import vllm, vllm_replica
vllm_replica.STALL_SECONDS = 3.0
vllm.installed_version = lambda: "{version}"
vllm.VLLMEngine.__init__ = functools.partialmethod(
    vllm.VLLMEngine.__init__, worker="tests_protocol.engines.stand_in_worker", version="{version}"
)
"""


class Place:
    """A model folder, a reports folder and the runs that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = tiny_model.write(folder / "tiny", positions=4096, greedy=True)
        self.reports = folder / "reports"
        self.plugin()

    def plugin(self, more: str = "", version: str = "0.31.0") -> None:
        (self.folder / "standing_in.py").write_text(PLUGIN.format(version=version) + more)

    def start(
        self,
        *arguments: str,
        before: Callable[[], None] | None = None,
        tests: str = TESTS,
        group: bool = False,
    ) -> "subprocess.Popen[str]":
        environment = os.environ | {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
            "PYTEST_ADDOPTS": "",
            "COLUMNS": "150",
            "PYTEST_DEBUG_TEMPROOT": str(self.folder),  # a run tidies up there, other runs' folders too
        }
        return subprocess.Popen(
            [
                sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "standing_in", tests,
                f"--entry={self.model}", "--engine=vllm", f"--reports-dir={self.reports}", *arguments,
            ],
            cwd=ROOT, env=environment, text=True, preexec_fn=before, start_new_session=group,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *arguments: str, **keywords: Any) -> tuple[int, str]:
        process = self.start(*arguments, **keywords)
        try:
            out, _ = process.communicate(timeout=240)
        finally:
            process.kill()
        return process.returncode, out

    @property
    def record(self) -> Path:
        return self.reports / "mini" / "tiny" / "outputs.jsonl"

    def about(self) -> dict[str, Any]:
        return json.loads((self.record.parent / "run.json").read_text())  # type: ignore[no-any-return]

    def outputs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def pids(self) -> list[int]:
        return [int(path.name.removeprefix("pid-")) for path in self.model.glob("pid-*")]

    def until(self, process: "subprocess.Popen[str]", lines: int) -> None:
        """Wait until so many outputs are recorded."""
        end = time.monotonic() + 120
        while time.monotonic() < end and process.poll() is None:
            if self.record.exists() and self.record.read_bytes().count(b"\n") >= lines:
                return
            time.sleep(0.02)
        process.kill()
        raise AssertionError(f"the run never got to its middle: {process.communicate()[0]}")

    def nothing_is_left(self) -> None:
        end = time.monotonic() + 20
        while any(alive(pid) for pid in self.pids()):
            assert time.monotonic() < end, "an engine is left behind"
            time.sleep(0.05)

    def each_once(self, total: int) -> None:
        found = Counter((one["benchmark"], one["item"], one["sample"]) for one in self.outputs())
        assert len(found) == total
        assert set(found.values()) == {1}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_one_engine_whatever_the_workers(place: Place) -> None:
    """With -n 2 the controller alone has an engine; the estimate comes from the first outputs."""
    status, out = place.run("-n2")
    assert status == 0, out
    assert len(place.pids()) == 1
    assert "0 of 22 outputs recorded, 22 to generate, at most 256 tokens each; an estimate follows" in out
    assert "nanolm: estimate from the first 4 outputs: about 22 tokens" in out
    assert f"{ARC} 10/10 · mean 1 tokens" in out
    place.each_once(22)
    place.nothing_is_left()
    about = place.about()
    assert about["engine"]["version"] == "0.31.0"
    assert not any("engine" in why for why in about["not_publishable_because"])
    assert "outputs recorded" not in place.run("-q", "-n2")[1]


def test_replicas_share_the_work_and_another_version_is_marked(place: Place) -> None:
    place.plugin(version="0.32.0")
    (place.model / "slow").touch()
    status, out = place.run("--replicas=2")
    assert status == 0, out
    assert len(place.pids()) == 2
    place.each_once(22)
    (why,) = (one for one in place.about()["not_publishable_because"] if "0.31.0" in one)
    assert "vllm 0.32.0" in why
    assert "Not publishable" in out
    assert place.about()["engine"]["settings"]["replicas"] == 2


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_killed_in_the_middle_and_started_again(place: Place, workers: str) -> None:
    (place.model / "slow").touch()
    process = place.start(workers)
    place.until(process, 5)
    process.kill()
    process.communicate(timeout=60)
    place.nothing_is_left()
    kept = place.record.read_bytes()
    with place.record.open("ab") as file:
        file.write(b'{"benchmark": "arc-easy-mini", "it')  # the line it was writing
    status, out = place.run(workers)
    assert status == 0, out
    assert place.record.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    assert "at the pace so far" in out
    place.each_once(22)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_terminated(place: Place, number: int, times: int, workers: str) -> None:
    """Exit status 2 and how to go on; a second signal does no harm."""
    (place.model / "slow").touch()
    process = place.start(workers)
    place.until(process, 5)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.3)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert "ended early" in out
    assert "run the same command again to go on" in out
    assert f"! nanolm.Interrupted: {signal.Signals(number).name} !" in out
    for noise in ("Traceback", "KeyboardInterrupt", "--full-trace", "signals.py"):
        assert noise not in out
    place.nothing_is_left()
    assert place.run(workers)[0] == 0
    place.each_once(22)


AT_THE_END = """
import os, signal
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        os.kill(os.getpid(), signal.{number})
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_last_test_lets_pytest_finish(place: Place, number: str, workers: str) -> None:
    """Nothing is left to be cut short: all reports are written, pytest's own too."""
    place.plugin(AT_THE_END.format(number=number))
    xml = place.folder / "pytest.xml"
    status, out = place.run(workers, f"--junitxml={xml}")
    assert status == 0, out
    for noise in ("Traceback", "Interrupted", "ended early"):
        assert noise not in out
    assert xml.stat().st_size
    assert "Files: " in out
    place.each_once(22)
    place.nothing_is_left()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_ctrl_c_in_a_terminal_reaches_every_process(place: Place, workers: str) -> None:
    """Not the first process alone, as above. With `--full-trace`, pytest shows where the run was."""
    (place.model / "slow").touch()
    process = place.start(workers, "--full-trace", group=True)
    place.until(process, 5)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert "run the same command again to go on" in out
    assert "KeyboardInterrupt: SIGINT" in out
    assert "signals.py" in out
    place.nothing_is_left()
    assert place.run(workers)[0] == 0
    place.each_once(22)


def test_a_killed_engine_is_started_again(place: Place) -> None:
    (place.model / "slow").touch()
    process = place.start()
    place.until(process, 5)
    os.kill(place.pids()[0], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert len(place.about()["engine"]["restarts"]) == 1
    place.each_once(22)


def test_an_item_that_ends_the_engine_three_times_makes_the_run_invalid(place: Place) -> None:
    """Only that item: it is an error, not a wrong answer, and is asked again by the next run."""
    (place.model / "dies").write_text(str(seed(ARC, "Mini_1003", 0)))
    status, out = place.run()
    assert status == 1
    assert "1 not measured" in out
    assert "1 item was not measured" in out
    assert "run the same command again to go on" in out
    assert "asked 3 times, the engine ended each time" in out
    errors = [one["item"] for one in place.outputs() if one["finish_reason"] == "error"]
    assert errors == ["Mini_1003"]
    assert place.about()["complete"] is False
    (place.model / "dies").unlink()
    assert place.run()[0] == 0


MISSING = """
from nanolm.errors import EngineError
def missing():
    raise EngineError("vLLM is not installed; install it")
vllm.installed_version = missing
"""


def test_an_engine_that_is_not_installed(place: Place) -> None:
    """Refused before anything is made; a record that lacks nothing needs no engine."""
    place.plugin(more=MISSING)
    status, out = place.run()
    assert status == 4, out
    assert "vLLM is not installed; install it" in out
    assert not place.reports.exists()
    place.plugin()
    assert place.run("-k", "arc_easy")[0] == 0
    place.plugin(more=MISSING)
    assert place.run("-k", "arc_easy")[0] == 0
    status, out = place.run()
    assert status == 4, out
    assert "vLLM is not installed; install it" in out


def test_a_hung_request(place: Place) -> None:
    (place.model / "hangs").write_text(str(seed(ARC, "Mini_1003", 0)))
    status, out = place.run()
    assert status == 1
    assert "no step for" in out
    assert [one["item"] for one in place.outputs() if one["finish_reason"] == "error"] == ["Mini_1003"]


FULL = """
from nanolm.verdicts import parts
class FullPart(parts.Part):
    def __init__(self, folder, name):
        super().__init__(folder, name)
        if name in ("main", "gw1"):
            self._file.close()
            self._file = open("/dev/full", "wb")
parts.Part = FullPart
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_verdicts_that_a_full_disk_does_not_take(place: Place, workers: str) -> None:
    """Told by the process that counts, whichever of its workers wrote them; the next run makes them anew."""
    place.plugin(FULL)
    status, out = place.run(workers)
    assert status == 1, out
    assert out.count("Not valid: writing the verdicts failed: [Errno 28] No space left on device") == 1
    assert "run the same command again to go on" in out
    assert "Traceback" not in out
    assert place.about()["problems"] == ["writing the verdicts failed: [Errno 28] No space left on device"]
    place.each_once(22)
    place.plugin()
    status, out = place.run(workers)
    assert status == 0, out
    assert "Not valid" not in out
    assert len((place.record.parent / "verdicts.jsonl").read_text().splitlines()) == 22


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_full_disk(place: Place, workers: str) -> None:
    """One message, whole lines, and the run goes on when there is room."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_500, resource.RLIM_INFINITY))

    status, out = place.run(workers, before=small_files)
    assert status == 1, out
    assert "can't write" in out
    assert "Make room and run the same command again" in out
    assert "Traceback" not in out
    place.nothing_is_left()
    assert 0 < len(place.outputs()) < 22
    assert place.run(workers)[0] == 0
    place.each_once(22)


def test_a_clock_that_is_set_back(place: Place) -> None:
    """Durations don't come from the clock, and nothing is decided by it."""
    place.plugin("import time\nnow = time.time\ntime.time = lambda: 4e9 - now()\n")
    status, out = place.run()
    assert status == 0, out
    place.each_once(22)
    assert all(one["seconds"] >= 0 for one in place.outputs())
    place.plugin()
    before = place.record.read_bytes()
    assert place.run()[0] == 0
    assert place.record.read_bytes() == before


def test_an_engine_that_can_not_start(place: Place) -> None:
    (place.model / "broken").touch()
    status, out = place.run()
    assert status == 1
    assert "vLLM ended 3 times without finishing anything (exit status 3; last line: no such model)" in out
    place.nothing_is_left()
