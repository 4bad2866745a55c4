"""A run on a machine where programs can't be run: said at once with the remedy, and never a measurement."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is of Linux")

ROOT = Path(__file__).resolve().parents[2]
OLD = "echo bubblewrap 0.4.1"
BLOCKED = (
    '[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\n'
    'echo "bwrap: setting up uid map: Permission denied" >&2\nexit 1'
)
# Runs what it is given with nothing around it, as a sandbox that leaks everything would.
OPEN = (
    '[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\n'
    'while [ "$1" != --ro-bind ] || [ "${3#/nanolm}" = "$3" ]; do shift; done\nprobe=$2\n'
    'shift 3\nwhile [ "$1" != /nanolm/probe.py ]; do shift; done\nshift\n'
    f'exec {sys.executable} -I -S "$probe" "$@"'
)


RUN = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--entry=oracle", "tests_benchmarks"]


def started(folder: Path, path: str, *arguments: str) -> tuple[int, str]:
    """A run of the mini edition's oracle with no evaluators, and this search path."""
    own = {"PATH": path, "NANOLM_CACHE": str(folder / "cache"), "COLUMNS": "200", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [*RUN, f"--reports-dir={folder}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | own,
    )
    return done.returncode, done.stdout


def run(folder: Path, bwrap: str, *arguments: str) -> tuple[int, str]:
    """The same with this script as bubblewrap; an empty one means none."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("env", "sh", "echo"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    if bwrap:
        script = programs / "bwrap"
        script.write_text(f"#!/bin/sh\n{bwrap}\n")
        script.chmod(0o755)
    return started(folder, str(programs), *arguments)


@pytest.mark.parametrize(
    ("bwrap", "reason", "remedy"),
    [
        ("", "bwrap is not on PATH", "apt-get install bubblewrap"),
        (OLD, "is bubblewrap 0.4.1", "install bubblewrap 0.7 or newer"),
        (BLOCKED, "setting up uid map: Permission denied", "AppArmor profile"),
        (OPEN, "the sandbox leaks, so no program is run", "connect to a port of this machine"),
    ],
    ids=["none", "old", "blocked", "leaking"],
)
def test_code_is_not_measured(bwrap: str, reason: str, remedy: str, tmp_path: Path) -> None:
    status, out = run(tmp_path, bwrap, "-k", "coding or arc_easy")
    assert status == 1, out
    (line,) = [line for line in out.splitlines() if line.startswith("Code is not run: ")]
    assert reason in line
    assert remedy in line
    assert "20 not measured" in out
    assert "Not valid: 20 items were not measured: error: not run: " in out
    score = json.loads((tmp_path / "mini" / "oracle" / "score.json").read_text())
    assert (score["publishable"], score["complete"]) == (False, False)
    assert "code was not run" in " ".join(score["not_publishable_because"])
    assert score["benchmarks"]["mbpp-plus-mini"]["reasons"] == {"error": 10}
    assert score["benchmarks"]["arc-easy-mini"]["raw"] == 1.0
    provenance = json.loads((tmp_path / "mini" / "oracle" / "run.json").read_text())
    assert reason in provenance["code_not_run_because"]


def test_workers_say_the_same(tmp_path: Path) -> None:
    status, out = run(tmp_path, "", "-n", "2", "-k", "coding")
    assert status == 1, out
    assert out.count("Code is not run: ") == 1
    assert "20 items were not measured: error: not run: no sandbox: bwrap is not on PATH" in out


def test_who_asks_for_no_code_hears_nothing_of_it(tmp_path: Path) -> None:
    for workers in ("0", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        status, out = run(folder, "", "-k", "arc_easy", "-n", workers)
        assert status == 0, out
        assert "ode " not in out.partition("Nano LM Index mini")[0]
        assert "code was not run" not in out


def test_evaluators_that_are_not_installed(tmp_path: Path) -> None:
    """The sandbox is asked first; where it holds, what is missing is the installation."""
    from nanolm.errors import SandboxError
    from nanolm.sandbox import probe

    try:
        probe.probe()
    except SandboxError as error:
        pytest.skip(str(error))
    status, out = started(tmp_path, os.environ["PATH"], "-k", "coding")
    assert status == 1
    assert "Code is not run: evalplus 0.3.1 is not installed in" in out
    assert "run: nanolm evaluators install" in out
