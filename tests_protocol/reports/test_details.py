"""Details by question and summaries over all entries, for editions that ask for them."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from nanolm import editions, entries
from nanolm.editions import Edition
from nanolm.entries import Entry
from nanolm.errors import RecordError
from nanolm.reports import details, summary
from nanolm.reports.details import Details
from nanolm.run import Suite
from nanolm.schema import Output
from nanolm.verdicts.judge import Judge

REPLIES = ["A", "The answer is B.", "blue", "(C)", "no idea", "D) black", "B", "?"]
"""To q0 … q7, whose right letters are A, B, C, D, A, B, C, D."""


@pytest.fixture
def edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edition:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    rows = [
        {
            "id": f"q{n}",
            "category": "even" if n % 2 == 0 else "odd",
            "question": f"Which, {n}?",
            "choices": ["red", "green", "blue", "black"],
            "answer": n % 4,
        }
        for n in range(8)
    ]
    file = tmp_path / "eight.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return editions.with_items(editions.load("featherweight-v1"), file, tmp_path / "reports")


def outputs(suite: Suite, replies: list[str], slugs: tuple[str, ...] = ()) -> Iterator[Output]:
    for slug in slugs or tuple(suite.edition.benchmarks):
        for place, (item, reply) in enumerate(zip(suite.ids(slug), replies, strict=False)):
            yield Output(
                benchmark=slug,
                item=item,
                sample=0,
                seed=0,
                entry="",
                prompt_digest="",
                rendered_digest="",
                decoding=suite.edition.decoding,  # type: ignore[arg-type]
                max_tokens=20,
                text=reply,
                finish_reason="stop",
                output_tokens=2,
                started=100.0 + place,
                seconds=0.5,
                engine="vllm",
                engine_version="0.31.0",
            )


Build = Callable[..., Details]


@pytest.fixture
def build(edition: Edition) -> Build:
    def make(replies: list[str] = REPLIES, slugs: tuple[str, ...] = (), entry: Entry | None = None) -> Details:
        suite = Suite(edition)
        pairs = ((suite.item(o.benchmark, o.item), o) for o in outputs(suite, replies, slugs))
        who = entry or msgspec.structs.replace(entries.resolve("oracle", edition), name="m", parameters=7)
        return details.build(suite, who, Judge().verdicts(pairs), complete=True)

    return make


def test_what_a_format_comes_to(build: Build) -> None:
    found = build().formats["featherweight-plain"]
    assert [question.predicted for question in found.details] == ["A", "B", "C", "C", None, "D", "B", None]
    assert (found.total, found.answered, found.correct) == (8, 6, 3)
    assert (found.parse_errors, found.wrong_answers) == (2, 3), "told apart, and all are wrong"
    assert (found.accuracy, found.accuracy_parsed_only) == (3 / 8, 3 / 6)
    assert found.low < found.accuracy < found.high
    assert (found.chance, found.skill) == (0.25, (3 / 8 - 0.25) / 0.75)
    assert found.elapsed_seconds == 7.5, "from the first start to the last end"
    assert found.answer_positions == {"A": 2, "B": 2, "C": 2, "D": 2}


def test_by_category_and_by_step(build: Build) -> None:
    found = build().formats["featherweight-completion"]
    parts = {name: (part.total, part.correct, part.accuracy) for name, part in found.by_category.items()}
    assert parts == {"even": (4, 2, 0.5), "odd": (4, 1, 0.25)}
    steps = {step: (part.total, part.correct) for step, part in found.steps.items()}
    assert steps == {
        "parenthesised": (1, 0),
        "answer-is": (1, 1),
        "starts-with-letter": (1, 0),
        "choice-text": (1, 1),
        "any-letter": (2, 1),
        "first-character": (0, 0),
        "none": (2, 0),
    }


def test_a_question_in_full(build: Build) -> None:
    third = build().formats["featherweight-plain"].details[2]
    assert (third.id, third.category, third.question) == ("q2", "even", "Which, 2?")
    assert third.choices == ("red", "green", "blue", "black")
    assert (third.expected, third.predicted, third.correct, third.step) == ("C", "C", True, "choice-text")
    assert (third.raw_response, third.finish_reason) == ("blue", "stop")


def test_a_part_of_the_questions(build: Build) -> None:
    found = build(REPLIES[:3], ("featherweight-completion",))
    assert list(found.formats) == ["featherweight-completion"]
    only = found.formats["featherweight-completion"]
    assert (only.questions, only.total, only.correct) == (3, 3, 3)


def test_a_category_named_as_a_column_keeps_a_column_of_its_own(build: Build) -> None:
    found = build()
    renamed = {
        slug: msgspec.structs.replace(
            each, by_category={"total": each.by_category["even"], "low": each.by_category["odd"]}
        )
        for slug, each in found.formats.items()
    }
    (first, _) = csv.DictReader(io.StringIO(summary.as_csv([msgspec.structs.replace(found, formats=renamed)])))
    assert (first["total"], first["category total"]) == ("8", "0.5000")
    assert first["category low"] == f"{found.formats['featherweight-plain'].by_category['odd'].accuracy:.4f}"


def test_files_of_all_entries(build: Build, edition: Edition) -> None:
    oracle = entries.resolve("oracle", edition)
    big = msgspec.structs.replace(oracle, name="big", parameters=900)
    small = msgspec.structs.replace(oracle, name="small", parameters=100)
    folder = edition.folder
    summary.write(folder / "big", build(["A"] * 8, entry=big))
    written = summary.write(folder / "small", build(entry=small))
    assert [path.name for path in written] == ["details.json", "summary.csv", "summary.json"]
    rows = list(csv.DictReader(io.StringIO((folder / "summary.csv").read_text())))
    assert [(row["model"], row["prompt_style"]) for row in rows] == [
        ("small", "featherweight-plain"),
        ("small", "featherweight-completion"),
        ("big", "featherweight-plain"),
        ("big", "featherweight-completion"),
    ]
    assert list(rows[0])[:10] == [
        *("model", "params", "prompt_style", "total", "correct", "accuracy", "parse_errors"),
        *("elapsed_seconds", "even", "odd"),
    ]
    assert (rows[0]["accuracy"], rows[0]["even"], rows[0]["parse_errors"]) == ("0.3750", "0.5000", "2")
    assert (rows[2]["accuracy"], rows[2]["params"], rows[2]["skill"]) == ("0.2500", "900", "0.0000")
    found = json.loads((folder / "summary.json").read_text())
    assert [one["model"] for one in found["summaries"]] == ["small", "big"]
    assert found["custom_of"] == "featherweight-v1"
    assert "details" not in found["summaries"][0]["formats"]["featherweight-plain"]
    assert len(json.loads((folder / "big" / "details.json").read_text())["formats"]) == 2


def test_entries_of_another_state_are_left_out_and_broken_files_named(build: Build, edition: Edition) -> None:
    folder = edition.folder
    summary.write(folder / "old", msgspec.structs.replace(build(), model="old", edition_digest="other"))
    summary.write(folder / "new", msgspec.structs.replace(build(), model="new"))
    assert "old" not in (folder / "summary.csv").read_text()
    (folder / "old" / "details.json").write_text("{")
    with pytest.raises(RecordError, match=r"old/details.json can't be read"):
        summary.write(folder / "new", build())


def test_the_table(build: Build) -> None:
    out = io.StringIO()
    summary.show(Console(file=out, width=100), build())
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "raw accuracy, % Featherweight (plain) Featherweight (completion)" in lines
    assert "even 50 50" in lines
    assert "all questions 37.5 37.5" in lines
    assert "chance-corrected 16.7 16.7" in lines
    assert "parse errors (wrong too) 2 2" in lines
    assert "choice-text 1 (1) 1 (1)" in lines
    assert not any(line.startswith("first-character") for line in lines), "no reply was read by it"
    assert "not balanced" not in out.getvalue()


def test_the_note_on_a_hundred_questions(build: Build) -> None:
    found = build()
    hundred = {slug: msgspec.structs.replace(each, questions=100) for slug, each in found.formats.items()}
    line = summary.note([msgspec.structs.replace(found, formats=hundred)])
    assert line.startswith("100 questions show a score to about ±9 points at 30% and ±10 at 50% (95%)")
    assert "one question is 25 points of its category" in line
    assert summary.note([]) == ""


def test_unbalanced_letters_of_somebodys_own_file_are_told(build: Build) -> None:
    found = build()
    each = msgspec.structs.replace(
        found.formats["featherweight-plain"], answer_positions={"A": 5, "B": 1, "C": 1, "D": 1}
    )
    out = io.StringIO()
    summary.show(
        Console(file=out, width=100), msgspec.structs.replace(found, formats={"featherweight-plain": each})
    )
    assert "right answers are not balanced (A 5, B 1, C 1, D 1)" in out.getvalue()
