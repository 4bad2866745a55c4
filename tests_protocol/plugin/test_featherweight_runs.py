"""Featherweight from the door to its files, on questions written here (`--items`): no special cases."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from nanolm.cli import cli

from .test_runs import run

EDITION = "--edition=featherweight-v1"
LETTERS = "ABCDABCDABCA"
"""A is right four times of twelve."""


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"_meta": True, "name": "Ours"}] + [
        {
            "id": f"sum{n:02}",
            "category": "small" if n < 6 else "large",
            "question": f"What is {n} + 1?",
            "choices": [str(n + 1 + (place - "ABCD".index(letter))) for place in range(4)],
            "answer": letter,
        }
        for n, letter in enumerate(LETTERS)
    ]
    path = tmp_path_factory.mktemp("items") / "sums.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def reports(questions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the three synthetic entries; gives `reports/<edition>`."""
    folder = tmp_path_factory.mktemp("reports")
    for entry, workers in (("oracle", "-n2"), ("constant", "-n0"), ("random", "-n0")):
        status, out = run(
            folder, "tests_benchmarks", EDITION, f"--items={questions}", f"--entry={entry}", workers
        )
        assert status == 0, out
    (found,) = folder.glob("featherweight-*")
    return found


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def nanolm(*words: object) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_record_lies_apart_and_says_why_it_cannot_be_published(reports: Path) -> None:
    assert reports.name.startswith("featherweight-v1-sums-")
    score = read(reports / "constant" / "score.json")
    assert score["edition"] == reports.name
    assert score["complete"] is True
    assert "custom items, not those of featherweight-v1" in score["not_publishable_because"]


def test_the_best_constant_answer_scores_what_chance_gives(reports: Path) -> None:
    oracle, constant = (read(reports / name / "score.json")["benchmarks"] for name in ("oracle", "constant"))
    assert {one["raw"] for one in oracle.values()} == {1.0}
    assert {(one["raw"], one["chance"], one["skill"]) for one in constant.values()} == {(4 / 12, 4 / 12, 0.0)}


def test_both_formats_side_by_side_in_all_files(reports: Path) -> None:
    formats = read(reports / "constant" / "details.json")["formats"]
    assert list(formats) == ["featherweight-plain", "featherweight-completion"]
    for each in formats.values():
        assert (each["total"], each["correct"], each["parse_errors"]) == (12, 4, 0)
        assert each["by_category"]["small"] == {"total": 6, "correct": 2, "accuracy": 2 / 6}
        assert each["steps"]["answer-is"] == {"total": 12, "correct": 4, "accuracy": 4 / 12}
        assert each["details"][0]["raw_response"] == "Answer: A"
    rows = list(csv.DictReader(io.StringIO((reports / "summary.csv").read_text())))
    assert len(rows) == 6
    assert {(row["model"], row["accuracy"]) for row in rows} >= {("oracle", "1.0000"), ("constant", "0.3333")}
    assert [one["model"] for one in read(reports / "summary.json")["summaries"]] == [
        "constant",
        "oracle",
        "random",
    ]


def test_each_question_is_a_test_in_each_format(reports: Path) -> None:
    for name in ("oracle", "constant"):
        root = ElementTree.parse(reports / name / "junit.xml").getroot()
        names = [case.get("name") or "" for case in root.iter("testcase")]
        assert len(names) == 24
        assert "test_featherweight[featherweight-completion:sum03]" in names
        assert len(list(root.iter("failure"))) == (0 if name == "oracle" else 16)


def test_the_summary_of_a_run(reports: Path, questions: Path) -> None:
    status, out = run(
        reports.parent,
        "tests_benchmarks/test_featherweight.py::test_featherweight[featherweight-plain:sum00]",
        *(EDITION, f"--items={questions}", "--entry=constant"),
    )
    assert status == 0, out
    status, out = run(reports.parent, "tests_benchmarks", EDITION, f"--items={questions}", "--entry=constant")
    assert "no mean is taken over them" in out
    assert "raw accuracy, %" in out
    assert "right answers are not balanced (A 4, B 3, C 3, D 2)" in out
    assert "12 questions show a score to about ±26 points at 30%" in out


def test_rescore_compare_check_board_and_export_find_the_edition(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: (reports / "random" / name).read_bytes() for name in ("score.json", "details.json")}
    out = nanolm("rescore", "--all", "--edition", reports.name, "--reports-dir", reports.parent)
    assert "constant: 24 outputs judged" in out
    assert "Mean of" not in out
    assert {name: (reports / "random" / name).read_bytes() for name in before} == before
    compared = json.loads(nanolm("compare", "oracle", "random", "--reports-dir", reports.parent, "--json"))
    assert compared["edition"] == reports.name
    nanolm("check", "--no-run", "--edition", reports.name, "--reports-dir", reports.parent)
    out = nanolm("board", reports, "-o", tmp_path / "site")
    assert "24 items to look at" in out
    assert "What is 3 + 1?" in "".join(
        path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.js")
    ), "the viewer shows the questions"
    nanolm("review", "constant", "--reports-dir", reports.parent, "-o", tmp_path / "review.csv")
    assert "What is 2 + 1?" in (tmp_path / "review.csv").read_text()
    nanolm("export", "constant", "--reports-dir", reports.parent, "-o", tmp_path / "export")


def test_a_file_that_cannot_be_asked_is_a_usage_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a", "category": "c", "question": "?", "choices": ["x"], "answer": "A"}\n')
    status, out = run(tmp_path, "tests_benchmarks", EDITION, f"--items={bad}", "--entry=oracle")
    assert status == 4, out
    assert "bad.jsonl:1: found 1 choices, expected 4" in out
    status, out = run(tmp_path, "tests_benchmarks", f"--items={bad}", "--entry=oracle")
    assert status == 4, out
    assert "--items: mini reads" in out
