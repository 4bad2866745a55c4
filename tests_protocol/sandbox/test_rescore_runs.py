"""A rescore runs only the programs that no run on this machine has had before."""

import json
import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli.rescore import command
from nanolm.sandbox import Evaluators, ProgramResult
from nanolm.sources import cache_folder

pytestmark = pytest.mark.code

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks whose programs are handed to the evaluators in this process."""
    tasks: list[str] = []
    submit = Evaluators.submit

    def counted(self: Evaluators, dataset: str, task: str, program: str) -> "Future[ProgramResult]":
        tasks.append(task)
        return submit(self, dataset, task, program)

    monkeypatch.setattr(Evaluators, "submit", counted)
    return tasks


def rescore(reports: Path) -> dict[str, object]:
    options = ["oracle", "--edition=mini", f"--reports-dir={reports}", "--json"]
    done = CliRunner().invoke(command, options, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def test_only_new_programs_are_run(
    tmp_path: Path, installed: None, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, cache = cache_folder() / "evaluators", tmp_path / "cache"
    cache.mkdir()
    (cache / "evaluators").symlink_to(real, target_is_directory=True)
    monkeypatch.setenv("NANOLM_CACHE", str(cache))
    run = ["pytest", "-p", "no:cacheprovider", "tests_benchmarks", "--entry=oracle", "-k", "mbpp_plus"]
    subprocess.run(
        [sys.executable, "-m", *run, f"--reports-dir={tmp_path}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
    )
    folder = tmp_path / "mini" / "oracle"
    assert rescore(tmp_path)["outputs"] == 10
    assert ran == [], "the run's verdicts are the rescore's"
    first = (folder / "verdicts.jsonl").read_bytes()

    lines = [json.loads(line) for line in (folder / "outputs.jsonl").read_text().splitlines()]
    for line in lines[:3]:
        line["text"] = "```python\ndef nothing(): pass\n```"
    (folder / "outputs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert rescore(tmp_path)["changed"] == 3
    assert len(ran) == len(set(ran)) == 3
    assert (folder / "verdicts.jsonl").read_bytes() != first
    assert rescore(tmp_path)["changed"] == 0
    assert len(ran) == 3
