"""Command lines that go wrong, or that nobody thought of: one clear message, the right exit status."""

import json
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nanolm.reports import terminal
from tests_protocol.plugin.test_runs import MATH, run


def test_nothing_is_generated_when_collecting_fails(tmp_path: Path) -> None:
    """pytest tells of a wrong `-k` and of a broken test file; a model is not even loaded."""
    broken = tmp_path / "test_broken.py"
    broken.write_text("import no_such_module_at_all\n")
    for arguments, status, words in (
        ((MATH, "-k", "and or"), 4, "Wrong expression passed to '-k'"),
        ((MATH, "-m", "and or"), 4, "Wrong expression passed to '-m'"),
        ((MATH, str(broken)), 2, "no_such_module_at_all"),
        ((f"{MATH}::test_gsm8k_platinum[00 07]",), 4, "not found"),
        ((f"{MATH}::nosuch",), 4, "not found"),
    ):
        found, out = run(tmp_path / "reports", *arguments, "--entry=oracle")
        assert found == status, out
        assert words in out
        assert "Not valid" not in out
        assert "INTERNALERROR" not in out
        record = tmp_path / "reports" / "mini" / "oracle" / "outputs.jsonl"
        assert not record.exists() or not record.read_bytes()


def test_collection_errors_can_be_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "test_broken.py"
    broken.write_text("import no_such_module_at_all\n")
    more = ("--continue-on-collection-errors", "--entry=oracle", "-k", "not nosuch")
    status, out = run(tmp_path / "reports", MATH, str(broken), *more)
    assert status == 1, out
    assert "20 passed, 1 error" in out
    assert (tmp_path / "reports" / "mini" / "oracle" / "score.json").exists()


def test_pytests_own_report_is_refused_at_the_door(tmp_path: Path) -> None:
    """pytest would fail on it at the very end, hours later."""
    (tmp_path / "file").touch()
    own = f"--junitxml={tmp_path / 'file' / 'own.xml'}"
    status, out = run(tmp_path / "reports", MATH, "--entry=oracle", own)
    assert status == 4, out
    assert f"{own} can't be written: " in out
    assert "file is no folder" in out
    assert not (tmp_path / "reports").exists()
    new = f"--junitxml={tmp_path / 'new' / 'a.xml'}"
    status, out = run(tmp_path / "reports", MATH, "--entry=oracle", new)
    assert status == 0, out
    assert (tmp_path / "new" / "a.xml").exists()


FAILS_AT_ITS_END = """
def pytest_sessionfinish():
    raise OSError("another plugin's own report can't be written")
"""


def test_reports_are_written_where_another_plugin_fails_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fails_at_its_end.py").write_text(FAILS_AT_ITS_END)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    status, out = run(tmp_path / "reports", MATH, "--entry=oracle", "-p", "fails_at_its_end")
    assert status == 1, out
    assert "another plugin's own report" in out
    folder = tmp_path / "reports" / "mini" / "oracle"
    assert json.loads((folder / "score.json").read_text())["benchmarks"].keys() == {
        "gsm8k-platinum-mini",
        "math-500-mini",
    }
    assert (folder / "verdicts.jsonl").exists()
    assert not list(folder.glob(".verdicts-*"))


@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_stopping_at_wrong_answers_says_how_to_go_on(tmp_path: Path, option: str) -> None:
    """The same command again would stop at the same answer."""
    status, out = run(tmp_path, MATH, "--entry=constant", option)
    assert status == 1, out
    assert "run it without them to go on" in out
    assert "same command again" not in out


def test_files_are_no_wider_open_than_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert run(tmp_path, MATH, "--entry=oracle")[0] == 0
    finally:
        os.umask(before)
    for path in (tmp_path / "mini" / "oracle").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_where_the_files_are_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "reports" / "mini" / "oracle"
    files = [inside / "outputs.jsonl", inside / "score.json", inside / "score.json"]
    assert terminal.where(files) == "reports/mini/oracle/ (outputs.jsonl, score.json)"
    summary = inside.parent / "summary.csv"
    assert terminal.where([*files[:1], summary]) == (
        "reports/mini/oracle/ (outputs.jsonl), reports/mini/ (summary.csv)"
    )
    assert terminal.where([tmp_path / "..odd" / "a"]) == "..odd/ (a)"
    assert terminal.where([tmp_path / "my reports" / "a"]) == "'my reports/' (a)"
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert terminal.where([Path("../reports/a")]) == f"{tmp_path}/reports/ (a)"
    assert terminal.where([Path("a")]) == "./ (a)"


def test_without_evaluators_their_installation_is_advised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command again would find the same; and where to look is said in words."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    coding = "tests_benchmarks/test_coding.py"
    status, out = run(tmp_path / "reports", coding, "--entry=oracle", "--limit=1")
    assert status == 1, out
    assert "kept: first run `nanolm evaluators install`, then the same command again." in out
    assert "to go on" not in out
    (file,) = (tmp_path / "reports" / "mini" / "oracle").glob("junit*.xml")
    report = file.read_text()
    assert "outputs.jsonl (mbpp-plus-mini, item Mbpp-" in report
    assert ", sample 0), the verdict: verdicts.jsonl beside it" in report
    assert "the whole reply: " in report


def test_why_code_is_not_run_is_mended_first() -> None:
    """Where no installation helps, such as without a sandbox; other runs are told to go on."""
    done: Any = SimpleNamespace(mode="missing", never_began=False)
    assert "mend why code is not run" in terminal.advice(done, code_not_run="no sandbox starts here")
    assert terminal.advice(done).endswith("run the same command again to go on.")
