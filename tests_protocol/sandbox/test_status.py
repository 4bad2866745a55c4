"""`nanolm evaluators status`: can programs be run here, and what stands against their scores."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli.evaluators import command
from nanolm.sandbox import bubblewrap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is of Linux")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    bubblewrap.bwrap.cache_clear()
    yield
    bubblewrap.bwrap.cache_clear()


def status() -> tuple[int, str]:
    done = CliRunner().invoke(command, ["status", "--edition=mini"], catch_exceptions=False)
    return done.exit_code, done.output


def test_without_a_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out = status()
    assert code == 1
    assert out.startswith("Programs can't be run here: no sandbox: bwrap is not on PATH")
    assert "apt-get install bubblewrap" in out


@pytest.mark.code
def test_without_evaluators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    code, out = status()
    assert code == 1
    assert out.splitlines()[-1].startswith("Programs can't be run here: evalplus 0.3.1 is not installed in")


@pytest.mark.code
def test_all_there(installed: None) -> None:
    code, out = status()
    assert code == 0
    assert "evoeval-0.1.0" in out
    assert out.splitlines()[-1].startswith("Programs can be run here")
