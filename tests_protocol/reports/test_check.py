"""`nanolm check` over runs, and what the board makes of its file."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nanolm.cli import cli
from nanolm.editions.edition import Edition
from nanolm.errors import NanoLMError, RecordError, ScoreError, SourceError, UsageError
from nanolm.reports.check import check
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.gate import gate

WriteRun = Callable[..., Path]


def _rewrite(folder: Path, **changes: Any) -> None:
    """Numbers of a synthetic entry, put into score.json."""
    path = folder / "score.json"
    score = json.loads(path.read_bytes())
    score["index"]["value"] = changes.get("index", score["index"]["value"])
    for line in score["benchmarks"].values():
        line["raw"] = changes["raw"](line) if "raw" in changes else line["raw"]
    path.write_text(json.dumps(score))


def _synthetic(tmp_path: Path, write_run: WriteRun) -> Path:
    """Runs of a perfect, a constant and a guessing entry: right as often as chance has it."""
    becauses = {"oracle": ("code was not run",), "constant": (), "random": ()}
    for name, index in (("oracle", 100.0), ("constant", 0.0), ("random", 2.0)):
        _rewrite(
            write_run(tmp_path, name, because=becauses[name]), index=index, raw=lambda line: line["chance"]
        )
    return tmp_path / "mini"


def test_three_whole_runs_pass_and_the_board_accepts_them(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    folder = _synthetic(tmp_path, write_run)
    found = check(folder, mini)
    assert found.ok, [one for one in found.checks if not one.ok]
    assert len(found.checks) == 3 + 12
    done = CliRunner().invoke(cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--no-run"])
    assert done.exit_code == 0, done.output
    assert "100.0000" in done.output
    assert gate(folder, [RunFolder(write_run(tmp_path, "some-entry"))]).checked


def test_a_broken_oracle_fails_with_exit_status_1(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    folder = _synthetic(tmp_path, write_run)
    _rewrite(folder / "oracle", index=99.17)
    _rewrite(folder / "random", raw=lambda line: 1.0 if line["chance"] == 0 else line["raw"])
    done = CliRunner().invoke(
        cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--no-run", "--json"]
    )
    assert done.exit_code == 1
    failed = [one for one in json.loads(done.output)["checks"] if not one["ok"]]
    assert [(one["entry"], one["what"]) for one in failed] == [
        ("oracle", "index"),
        ("random", "gsm8k-platinum-mini"),
        ("random", "math-500-mini"),
        ("random", "toolalpaca-mini"),
        ("random", "mbpp-plus-mini"),
        ("random", "evoeval-mini"),
    ]
    written = json.loads((folder / "check.json").read_bytes())
    assert written["ok"] is False
    assert written["notes"] == ["oracle: code was not run", "random: "]


def test_missing_partial_and_stale_runs_are_named(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    with pytest.raises(RecordError, match="no run of 'oracle'"):
        check(tmp_path / "mini", mini)
    write_run(tmp_path, "oracle", 1.0, limit=2)
    with pytest.raises(ScoreError, match="not complete"):
        check(tmp_path / "mini", mini)
    write_run(tmp_path / "stale", "oracle", 1.0, changes={"edition_digest": "0" * 16})
    with pytest.raises(NanoLMError, match="was scored under mini"):
        check(tmp_path / "stale" / "mini", mini)


def test_without_its_data_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the README has it, without options, before anything was fetched."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("a run without data was started"))
    done = CliRunner().invoke(cli, ["check", "--reports-dir", str(tmp_path)])
    assert isinstance(done.exception, SourceError), done.output
    said = str(done.exception)
    assert said.startswith("nano-lm-v1 can't be checked: missing data: ")
    assert "`nanolm fetch --edition nano-lm-v1`" in said
    assert "`nanolm check --edition mini`" in said


@pytest.mark.parametrize("status", [0, 1, 4])
def test_a_run_that_leaves_no_score_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """The command just typed is no advice; with --json, too, one sees what pytest said."""
    ended = subprocess.CompletedProcess([], status, stdout="no space left")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: ended)
    done = CliRunner().invoke(cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--json"])
    assert isinstance(done.exception, UsageError), done.output
    said = str(done.exception)
    assert f"the run of oracle ended with pytest's status {status} and left no score in {tmp_path}" in said
    assert "nanolm check" not in said
    assert "no space left" in done.stderr


def test_only_without_runs_of_its_own_does_it_name_itself(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--no-run"])
    assert isinstance(done.exception, RecordError), done.output
    assert "`nanolm check` without --no-run" in str(done.exception)
