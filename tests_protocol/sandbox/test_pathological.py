"""Programs that harm, hang, crash or cheat: each ends as it must, and none touches the host (§7)."""

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from nanolm.editions.read import load
from nanolm.sandbox import Evaluators, Program, ProgramResult, of_edition
from nanolm.sources import cache_folder

TASK = "Mbpp/10004"
DATASET = "mbpp-plus-mini"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pathological", Path(__file__).with_name("pathological.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pathological = _load()
pytestmark = pytest.mark.code


@pytest.fixture(scope="module")
def results(
    evaluators: Evaluators, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, ProgramResult]]:
    """All samples in one go, between two looks at what lies outside."""
    canary = tmp_path_factory.mktemp("host") / "canary"
    canary.write_text("alive")
    canary.chmod(0o666)
    name = f"nanolm-test-{secrets.token_hex(8)}"
    witness = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        with socket.create_server(("127.0.0.1", 0)) as port, socket.socket(socket.AF_UNIX) as local:
            local.bind("\0" + name)
            local.listen()
            values = {
                "{port}": str(port.getsockname()[1]),
                "{name}": name,
                "{canary}": str(canary),
                "{home}": os.path.expanduser("~"),
            }
            programs = {f"sample: {key}": sample.program for key, sample in pathological.SAMPLES.items()}
            programs |= {f"cheat: {key}": program for key, program in pathological.CHEATS.items()}
            for key, program in pathological.WAYS_OUT.items():
                for place, value in values.items():
                    program = program.replace(place, value)
                programs[f"out: {key}"] = program
            asked = [Program(key, DATASET, TASK, program) for key, program in programs.items()]
            found = {}
            for key, result in evaluators.check_all(asked):
                found[str(key)] = result
                print(f"{result.seconds:8.2f} s  {key}: {result.detail}")
            for listener in (port, local):
                listener.setblocking(False)
                with pytest.raises(BlockingIOError):
                    listener.accept()
        assert canary.read_text() == "alive"
        assert witness.poll() is None, "a program ended a process of the host"
        yield found
    finally:
        witness.kill()
        witness.wait()


@pytest.mark.parametrize("name", list(pathological.SAMPLES))
def test_a_sample_ends_as_it_must(name: str, results: dict[str, ProgramResult]) -> None:
    sample, found = pathological.SAMPLES[name], results[f"sample: {name}"]
    assert found.status in sample.statuses, found.detail
    assert found.passed == (found.status == "pass")


@pytest.mark.parametrize("name", list(pathological.WAYS_OUT))
def test_there_is_no_way_out(name: str, results: dict[str, ProgramResult]) -> None:
    found = results[f"out: {name}"]
    assert found.passed, found.detail


@pytest.mark.parametrize("name", list(pathological.CHEATS))
def test_the_known_cheats_of_the_official_design_pass(name: str, results: dict[str, ProgramResult]) -> None:
    """Pinned, not wanted: docs/code-execution.md says why they can't be closed."""
    found = results[f"cheat: {name}"]
    assert found.passed, found.detail


# One marks every place that a later program could look at, the other passes if it finds none of the marks.
LEAVES = "import ctypes, posix\n" + pathological._body(
    "libc = ctypes.CDLL(None)",
    "libc.shmat.restype = ctypes.c_void_p",
    "segment = libc.shmat(libc.shmget(77, 4096, 0o1600), None, 0)",
    "ctypes.memset(segment, 1, 1)",
    "libc.msgget(77, 0o1600), libc.semget(77, 1, 0o1600)",
    "for folder in ('/tmp', '/dev/shm'):",
    "    posix.close(posix.open(folder + '/left', posix.O_CREAT | posix.O_WRONLY))",
    "    posix.mkdir(folder + '/folder') if 'folder' not in posix.listdir(folder) else None",
    "return max(numbers)",
)
LOOKS = "import ctypes, posix\n" + pathological._body(
    "libc = ctypes.CDLL(None)",
    "if max(libc.shmget(77, 4096, 0), libc.msgget(77, 0), libc.semget(77, 1, 0)) >= 0: return 'left'",
    "if {'left', 'folder'} & {*posix.listdir('/tmp'), *posix.listdir('/dev/shm')}: return 'left'",
    "return max(numbers)",
)


def test_a_program_finds_nothing_of_the_one_before(installed: None) -> None:
    with Evaluators(of_edition(load("mini"), [DATASET]), cache_folder(), workers=1) as one_sandbox:
        for program in (LOOKS, LEAVES, LOOKS + "# again\n"):
            found = one_sandbox.check(DATASET, TASK, program)
            assert found.passed, found.detail
        assert one_sandbox.workers[0].restarts == 0


def test_the_pool_still_judges_afterwards(evaluators: Evaluators, results: dict[str, ProgramResult]) -> None:
    assert evaluators.check(DATASET, TASK, "def largest(numbers):\n    return max(numbers)\n").passed
    assert not evaluators.check(DATASET, TASK, "def largest(numbers):\n    return min(numbers)\n").passed
