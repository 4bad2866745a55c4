"""What a person sees of `nanolm fetch` and `nanolm edition`."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nanolm.cli import cli
from nanolm.errors import EditionError, SourceError, UsageError

FIXTURES = Path(__file__).resolve().parents[2] / "nanolm" / "editions" / "mini"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))


def test_editions_are_listed() -> None:
    found = {each["name"]: each for each in json.loads(run("edition", "list", "--json").output)}
    assert {"mini", "nano-lm-v1"} <= set(found)
    assert "33,485" in run("edition", "list").output


def test_the_contract_of_show_json() -> None:
    shown = json.loads(run("edition", "show", "nano-lm-v1", "--json").output)
    assert shown["items"] == 33_485
    line = shown["benchmarks"]["clinc150"]
    assert (line["items"], round(line["chance"], 4), line["chance_rule"]) == (5500, 0.1818, "constant")
    assert (line["published_chance"], line["licence"]) == (0.1818, "CC BY 3.0")
    assert line["sources"][0]["revision"] == "828f8093932c8fe6ca7936c3d2e52903b1c523de"
    assert shown["publishable"] is False


def test_show_as_text_and_markdown() -> None:
    text = run("edition", "show", "nano-lm-v1").output
    assert "HellaSwag-Pro" in text
    assert "0.2429" in text
    assert "not frozen yet: global-piqa, when2call" in text
    assert run("edition", "show", "nano-lm-v1", "--markdown").output.count("\n") == 16


def test_mini_needs_no_network_and_does_not_drift() -> None:
    report = json.loads(run("fetch", "--edition", "mini", "--json").output)
    assert all(each["items"] == each["expected"] for each in report["benchmarks"])
    done = run("edition", "lock", "mini", "--check")
    assert done.exit_code == 0, done.output
    assert "Checked 12 of 12" in done.output


def test_an_empty_folder_is_no_error_and_says_what_to_do(tmp_path: Path) -> None:
    done = run("fetch", "--from", str(tmp_path), "arc-easy")
    assert done.exit_code == 0
    assert "Missing: arc-easy. Get them with: nanolm fetch --edition nano-lm-v1" in done.output


def test_a_file_that_nothing_fetches_is_named_by_its_place(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(FIXTURES, copy)
    text = (copy / "edition.toml").read_text("utf-8")
    (copy / "edition.toml").write_text(text.replace('name = "mini"', 'name = "own"', 1), "utf-8")
    lock = copy / "sources.lock.toml"
    lock.write_text(lock.read_text("utf-8").replace('kind = "fixtures"', 'kind = "folder"', 1), "utf-8")
    done = run("fetch", "--edition", str(copy))
    assert f"Missing: mmlu-cf: {copy.resolve()}/mmlu-cf/" in done.output
    assert "it is the edition's own and can't be fetched. Put it there" in done.output
    assert "Get them with" not in done.output


def test_wrong_bytes_are_exit_status_1(tmp_path: Path) -> None:
    (tmp_path / "banking77").mkdir()
    (tmp_path / "banking77" / "test.csv").write_text("text,category\n")
    done = run("fetch", "--from", str(tmp_path), "banking77")
    assert done.exit_code == 1
    assert "wrong bytes: banking77" in done.output


def test_unknown_benchmark_and_edition() -> None:
    assert "did you mean arc-easy" in str(run("fetch", "arc-eazy").exception)
    assert "unknown edition" in str(run("edition", "show", "nano").exception)


def test_lock_and_diff_of_a_copy(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(FIXTURES, copy)
    assert "No number changes" in run("edition", "diff", "mini", str(copy)).output
    assert "is an edition that comes with nanolm" in str(run("edition", "lock", str(copy)).exception)
    text = (copy / "edition.toml").read_text("utf-8").replace('name = "mini"', 'name = "own"', 1)
    (copy / "edition.toml").write_text(text.replace("budget = 256", "budget = 128"), "utf-8")
    assert "budget: 256 -> 128" in run("edition", "diff", "mini", str(copy)).output
    assert json.loads(run("edition", "diff", "mini", str(copy), "--json").output)["needs"] == "version"
    assert run("edition", "lock", str(copy)).exit_code == 0
    changed = text.replace("Answer with the letter", "Name the letter", 1)
    assert changed != text
    (copy / "edition.toml").write_text(changed, "utf-8")
    refused = run("edition", "lock", str(copy))
    assert isinstance(refused.exception, EditionError)
    assert "the first item that differs is" in str(refused.exception)
    assert run("edition", "lock", str(copy), "--check").exit_code == 1
    assert run("edition", "lock", str(copy), "--replace").exit_code == 0


def test_a_source_with_another_sum_is_named_by_its_file(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(FIXTURES.parent / "nano_lm_v1", copy)
    path = copy / "sources.lock.toml"
    text = path.read_text("utf-8")
    old = "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"
    path.write_text(text.replace(old, "0" * 64), "utf-8")
    lines = run("edition", "diff", "nano-lm-v1", str(copy)).output.splitlines()
    assert lines[0] == f"source.banking77.file.banking_data/test.csv.sha256: '{old}' -> '{'0' * 64}'"
    assert lines[1].startswith("Untouched: items and prompts (29,636 in 10 of 12 benchmarks, digest ")
    assert f"Only sources differ; `nanolm edition lock {copy} --check` shows whether items do." in lines


@pytest.mark.parametrize("edition", ["mini", "nano-lm-v1"])
def test_a_cache_that_is_no_folder_is_told_once(
    edition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "file"))
    error = run("fetch", "--edition", edition).exception
    assert isinstance(error, SourceError)
    assert re.search(r"can't write below .*file: .*NANOLM_CACHE", str(error))


def test_an_unknown_or_empty_edition_is_named() -> None:
    unknown = run("evaluators", "status", "--edition", "nosuch").exception
    empty = run("fetch", "--edition=").exception
    assert isinstance(unknown, UsageError)
    assert "unknown edition 'nosuch'" in str(unknown)
    assert isinstance(empty, UsageError)
    assert "the edition's name is empty; expected one of" in str(empty)


def test_a_check_of_nothing_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    done = run("edition", "lock", "nano-lm-v1", "--check")
    assert done.exit_code == 1
    assert "Not checked: banking77: missing data: banking77: " in done.output
    assert "Get it with `nanolm fetch --edition nano-lm-v1`" in done.output
    assert "Not checked: when2call: not frozen; `nanolm edition lock nano-lm-v1` freezes it" in done.output
