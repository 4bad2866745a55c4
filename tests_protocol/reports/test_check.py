"""`nanolm check` over runs, and what the board makes of its file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli import cli
from nanolm.editions.edition import Edition
from nanolm.errors import NanoLMError, RecordError, ScoreError
from nanolm.reports.check import check
from nanolm.reports.folders import RunFolder
from nanolm.reports.gate import gate

WriteRun = Callable[..., Path]


def _rewrite(folder: Path, right: Callable[[str, int], bool]) -> None:
    """Verdicts of a synthetic entry: right or wrong by benchmark and place."""
    path, places = folder / "verdicts.jsonl", dict[str, int]()
    lines = []
    for line in path.read_text().splitlines():
        verdict = json.loads(line)
        place = places.get(verdict["benchmark"], 0)
        places[verdict["benchmark"]] = place + 1
        correct = right(verdict["benchmark"], place)
        verdict |= {"correct": correct, "reason": None if correct else "wrong"}
        lines.append(json.dumps(verdict))
    path.write_text("\n".join(lines) + "\n")


def _synthetic(tmp_path: Path, write_run: WriteRun, score: Callable[[Path], dict[str, int]]) -> Path:
    """Runs of a perfect, a constant and a guessing entry: right as often as chance has it."""
    for name, ability in (("oracle", 1.0), ("constant", 0.0), ("random", 0.0)):
        folder = write_run(tmp_path, name, ability)
        often = {} if name == "oracle" else score(folder)
        _rewrite(folder, lambda slug, place, o=often, n=name: n == "oracle" or place < o[slug])  # type: ignore[misc]
    return tmp_path / "mini"


def _at_chance(folder: Path) -> dict[str, int]:
    lines = RunFolder(folder).score.benchmarks
    return {slug: round(line.chance * line.items) for slug, line in lines.items()}


def test_three_whole_runs_pass_and_the_board_accepts_them(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    folder = _synthetic(tmp_path, write_run, _at_chance)
    found = check(folder, mini)
    assert found.ok, [one for one in found.checks if not one.ok]
    assert len(found.checks) == 3 + 12
    done = CliRunner().invoke(cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--no-run"])
    assert done.exit_code == 0, done.output
    assert "100.0000" in done.output
    assert gate(folder, [RunFolder(write_run(tmp_path, "some-entry"))]).checked


def test_a_broken_oracle_fails_with_exit_status_1(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    folder = _synthetic(tmp_path, write_run, _at_chance)
    _rewrite(folder / "oracle", lambda slug, place: (slug, place) != ("gsm8k-platinum-mini", 0))
    done = CliRunner().invoke(
        cli, ["check", "-e", "mini", "--reports-dir", str(tmp_path), "--no-run", "--json"]
    )
    assert done.exit_code == 1
    failed = [one for one in json.loads(done.output)["checks"] if not one["ok"]]
    assert [(one["entry"], one["what"]) for one in failed] == [("oracle", "index")]
    assert json.loads((folder / "check.json").read_bytes())["ok"] is False


def test_missing_partial_and_stale_runs_are_named(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    with pytest.raises(RecordError, match="no run of 'oracle'"):
        check(tmp_path / "mini", mini)
    write_run(tmp_path, "oracle", 1.0, limit=2)
    with pytest.raises(ScoreError, match="not complete"):
        check(tmp_path / "mini", mini)
    write_run(tmp_path / "stale", "oracle", 1.0, changes={"edition_digest": "0" * 16})
    with pytest.raises(NanoLMError, match="was scored under mini"):
        check(tmp_path / "stale" / "mini", mini)
