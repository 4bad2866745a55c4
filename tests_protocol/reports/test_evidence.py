"""Which runs a board may rank: scores, verdicts and outputs are held against each other."""

import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from nanolm.cli import cli
from nanolm.editions.edition import Edition
from nanolm.errors import ScoreError
from nanolm.reports import reread
from nanolm.reports.board import Built, build
from nanolm.reports.items import items_of
from nanolm.reports.run_folder import RunFolder
from nanolm.scoring import score_entry
from nanolm.verdicts import versions

WriteRun = Callable[..., Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, write_run: WriteRun) -> Path:
    """A run that is right now and then, to be copied."""
    return write_run(tmp_path_factory.mktemp("written"), "one", 0.5)


@pytest.fixture
def one(tmp_path: Path, written: Path) -> Path:
    """A copy of it below `tmp_path`, to be spoilt."""
    return Path(shutil.copytree(written, tmp_path / "mini" / "one"))


def _build(tmp_path: Path, mini: Edition) -> Built:
    return build(tmp_path / "mini", tmp_path / "site", mini, items_of(mini))


def _change(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "score.json"
    score = json.loads(path.read_bytes())
    change(score)
    path.write_bytes(json.dumps(score).encode())


def _arc_easy(score: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = score["benchmarks"]["arc-easy-mini"]
    return found


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("index", lambda score: score["index"].update(value=95.0, low=94.0, high=96.0)),
        ("raw index", lambda score: score.update(raw_index=95.0)),
        ("low end of the index", lambda score: score["index"].update(low=score["index"]["value"] - 0.01)),
        ("high end of the index", lambda score: score["index"].update(high=None)),
        ("low end of the category coding", lambda score: score["categories"]["coding"].update(low=0.45)),
        ("high end of the skill on arc-easy-mini", lambda score: _arc_easy(score).update(high=0.999)),
        ("low end of the raw accuracy on arc-easy-mini", lambda score: _arc_easy(score).update(raw_low=0.45)),
        ("items of arc-easy-mini", lambda score: _arc_easy(score).update(items=9)),
        ("truncated share on arc-easy-mini", lambda score: _arc_easy(score).update(truncated_share=0.5)),
        ("wrong on arc-easy-mini", lambda score: _arc_easy(score)["reasons"].update(wrong=77)),
        ("category knowledge", lambda score: score["categories"]["knowledge"].update(value=0.9)),
        ("skill on arc-easy-mini", lambda score: score["benchmarks"]["arc-easy-mini"].update(skill=0.9)),
        ("raw accuracy on arc-easy-mini", lambda score: score["benchmarks"]["arc-easy-mini"].update(raw=0.9)),
    ],
)
def test_a_score_that_is_not_its_verdicts_is_refused(
    tmp_path: Path,
    mini: Edition,
    one: Path,
    what: str,
    change: Callable[[dict[str, Any]], None],
) -> None:
    _change(one, change)
    with pytest.raises(ScoreError, match=f"one.*not of one judging: {what} "):
        _build(tmp_path, mini)
    assert not (tmp_path / "site").exists()


def test_a_chance_level_of_its_own_is_refused(tmp_path: Path, mini: Edition, one: Path) -> None:
    _change(one, lambda score: score["benchmarks"]["arc-easy-mini"].update(chance=0.01))
    with pytest.raises(ScoreError, match=r"chance level 0\.010000 on arc-easy-mini, edition mini froze"):
        _build(tmp_path, mini)


def _whole_but_for(kept: int | None) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        lines = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "verdicts.jsonl").write_bytes(b"".join(lines[:kept]))

    return cut


def _alone(folder: Path) -> None:
    for name in ("outputs.jsonl", "verdicts.jsonl", "run.json"):
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_alone, "holds no outputs and no verdicts.jsonl"),
        (lambda folder: (folder / "outputs.jsonl").unlink(), "holds no outputs."),
        (lambda folder: (folder / "verdicts.jsonl").unlink(), "holds no verdicts.jsonl"),
        (_whole_but_for(0), r"lacks verdicts: .*arc-easy-mini 0 of"),
        (_whole_but_for(-3), r"lacks verdicts: \S+ \d+ of \d+ \("),
    ],
)
def test_what_nothing_can_check_is_not_ranked(
    tmp_path: Path,
    write_run: WriteRun,
    pass_checks: Any,
    spoil: Callable[[Path], None],
    why: str,
) -> None:
    write_run(tmp_path, "good", 0.6)
    spoil(write_run(tmp_path, "bad", 0.9))
    pass_checks(tmp_path / "mini")
    done = CliRunner().invoke(
        cli, ["board", str(tmp_path / "mini"), "-o", str(tmp_path / "site")], catch_exceptions=False
    )
    assert re.search(rf"^bad is not ranked\. Nothing to check its score by: .*{why}", done.output, re.M)
    board = json.loads((tmp_path / "site" / "board.json").read_bytes())
    assert [(each["entry"], each["rank"]) for each in board["entries"]] == [("good", 1), ("bad", None)]
    assert board["entries"][1]["marks"] == ["unverified"]
    assert "Nothing to check its score by" in (tmp_path / "site" / "board.html").read_text()


def test_a_part_that_calls_itself_complete_is_not_ranked(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    write_run(tmp_path, "half", limit=3, changes={"complete": True, "publishable": True})
    pass_checks(tmp_path / "mini")
    assert _build(tmp_path, mini).ranked == 0


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def _score_again(folder: Path, mini: Edition) -> None:
    """What a careful hand does: make score.json say what the changed verdicts come to."""
    path = folder / "score.json"
    told = json.loads(path.read_bytes())
    path.write_bytes(json.dumps({**told, "complete": False}).encode())
    results = {
        slug: msgspec.structs.replace(
            result, mean_output_tokens=told["benchmarks"][slug]["mean_output_tokens"]
        )
        for slug, result in RunFolder(folder).results(mini).items()
    }
    scores = msgspec.to_builtins(score_entry(mini, results))
    path.write_bytes(json.dumps({**told, **scores}).encode())


@pytest.mark.parametrize(
    ("benchmark", "change", "why"),
    [
        ("arc-easy-mini", {"correct": True, "reason": None}, "the output gives (wrong|unparseable|truncated) by"),
        ("hellaswag-pro-mini", {"correct": True, "reason": None}, "the output gives"),  # hidden: never shown
        ("clinc150-mini", {"correct": True, "reason": None, "answer": "x"}, "the output gives"),
        ("gsm8k-platinum-mini", {"correct": True, "reason": None}, "the output gives"),
        ("toolalpaca-mini", {"correct": True, "reason": None}, "the output gives"),
        ("math-500-mini", {"answer": "77"}, "the output gives wrong by"),
        ("evoeval-mini", {"rule": "another"}, "the output gives wrong by"),
        ("arc-easy-mini", {"correct": True}, "correct True with the reason"),
    ],
)
def test_a_verdict_that_its_output_does_not_give_is_refused(
    tmp_path: Path, mini: Edition, one: Path, benchmark: str, change: dict[str, Any], why: str
) -> None:
    path = one / "verdicts.jsonl"
    lines = _lines(path)
    wrong = "wrong" if benchmark in ("math-500-mini", "evoeval-mini") else None
    line = next(
        line
        for line in lines
        if line["benchmark"] == benchmark and line.get("reason") and wrong in (None, line["reason"])
    )
    line.update(change)
    _write_lines(path, lines)
    _score_again(one, mini)
    item = f"{benchmark} {line['item']} sample 0"
    with pytest.raises(ScoreError, match=rf"verdicts\.jsonl is not what the outputs beside it give: {item}: {why}"):
        _build(tmp_path, mini)
    assert not (tmp_path / "site").exists()


def test_a_math_answer_that_equals_the_gold_needs_no_judge(
    tmp_path: Path, mini: Edition, one: Path
) -> None:
    lines = _lines(one / "verdicts.jsonl")
    line = next(line for line in lines if line["benchmark"] == "math-500-mini" and line["correct"])
    line.update(correct=False, reason="wrong")
    _write_lines(one / "verdicts.jsonl", lines)
    _score_again(one, mini)
    with pytest.raises(ScoreError, match="the output gives correct by .* the verdict says wrong by"):
        _build(tmp_path, mini)


def test_an_output_changed_by_hand_is_refused(tmp_path: Path, mini: Edition, one: Path) -> None:
    outputs = _lines(one / "outputs.jsonl")
    next(one for one in outputs if one["benchmark"] == "arc-easy-mini")["text"] = "I don't know."
    _write_lines(one / "outputs.jsonl", outputs)
    with pytest.raises(ScoreError, match="the output gives unparseable by"):
        _build(tmp_path, mini)


def test_tokens_are_those_of_the_outputs(tmp_path: Path, mini: Edition, one: Path) -> None:
    _change(one, lambda score: _arc_easy(score).update(mean_output_tokens=1.0))
    with pytest.raises(ScoreError, match=r"says 1\.000 mean output tokens on arc-easy-mini, the outputs have"):
        _build(tmp_path, mini)


def test_outputs_that_verdicts_are_on_must_be_there(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    write_run(tmp_path, "good", 0.6)
    folder = write_run(tmp_path, "bad", 0.9)
    _write_lines(folder / "outputs.jsonl", _lines(folder / "outputs.jsonl")[:100])
    pass_checks(tmp_path / "mini")
    built = _build(tmp_path, mini)
    note = "its record holds 100 of the 126 outputs that verdicts are on"
    assert [name for name in built.notes if note in name] == [f"bad is not ranked. Nothing to check all of its score by: {note}."]
    board = json.loads((tmp_path / "site" / "board.json").read_bytes())
    assert {each["entry"]: each["rank"] for each in board["entries"]} == {"good": 1, "bad": None}


def test_the_page_and_the_command_say_which_evidence_was_checked(tmp_path: Path, write_run: WriteRun) -> None:
    write_run(tmp_path, "one", 0.6)
    write_run(tmp_path, "part", 0.6, limit=3)
    done = CliRunner().invoke(
        cli, ["board", str(tmp_path / "mini"), "-o", str(tmp_path / "site")], catch_exceptions=False
    )
    page = (tmp_path / "site" / "board.html").read_text()
    for said in (
        "The score of 1 complete run, intervals included, was computed again from the verdicts and found the same.",
        "162 of 162 outputs were read again",
        "of them are answers in mathematics or programs: that they were read so is checked, not that they",
    ):
        assert said in done.output
        assert said in html.unescape(page)


def test_a_large_benchmark_is_read_again_in_part_by_a_draw_of_its_own(
    tmp_path: Path, mini: Edition, write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread, "MOST", 6)
    write_run(tmp_path, "one", 0.6, samples=4)

    def drawn() -> str:
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        return _build(tmp_path, mini).evidence[1]

    first = drawn()
    read, of = (int(word) for word in re.findall(r"\d+", first)[:2])
    assert of == 504
    assert 30 < read < 120  # 12 benchmarks, 6 of each on average
    assert drawn() == first


def test_what_can_not_be_read_again_is_told(
    tmp_path: Path, mini: Edition, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def told(items: Callable[[str], Any]) -> str:
        built = build(tmp_path / "mini", tmp_path / "site", mini, items)
        return " ".join(built.evidence)

    there = items_of(mini)
    assert "Outputs on clinc150-mini were not read again: their items are not at hand" in told(
        lambda slug: None if slug == "clinc150-mini" else there(slug)
    )
    (one / "run.json").unlink()
    assert "Outputs of one were not read again: run.json has no entry." in told(there)
    with monkeypatch.context() as patch:
        patch.setattr(versions, "other_rules", lambda extractors: ["letter rules: found version 3, expected 1"])
        assert "No output was read again: letter rules: found version 3, expected 1." in told(there)
