"""`nanolm rescore`: a record judged again gives the same bytes; a changed rule shows in the diff."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from nanolm import editions
from nanolm.cli.rescore import command
from nanolm.editions import load_items
from nanolm.entries import resolve
from nanolm.errors import NanoLMError
from nanolm.records import Record
from nanolm.reports.rescore import rescore_entry
from nanolm.schema import Decoding, Output, Verdict
from nanolm.verdicts import file
from nanolm.verdicts.judge import Judge

MINI = editions.load("mini")


def rescore(reports: Path, *options: str, edition: tuple[str, ...] = ("--edition=mini",)) -> str:
    done = CliRunner().invoke(
        command, [*options, *edition, f"--reports-dir={reports}"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))


def test_a_second_rescore_gives_the_same_bytes(tmp_path: Path, write_record: Callable[..., Path]) -> None:
    folder = write_record(
        tmp_path, {"gsm8k-platinum-mini": "\\boxed{{gold}}", "arc-easy-mini": "Answer: {gold}"}
    )
    assert "no verdicts were there before" in rescore(tmp_path, "oracle")
    first = (folder / "verdicts.jsonl").read_bytes()
    score = json.loads((folder / "score.json").read_text())
    assert score["benchmarks"]["gsm8k-platinum-mini"]["raw"] == 1.0
    assert "banking77-mini" not in score["benchmarks"]
    assert (score["complete"], score["publishable"]) == (False, False)
    assert "outputs are missing" in " ".join(score["not_publishable_because"])
    assert "0 verdicts changed" in rescore(tmp_path, "--all")
    assert (folder / "verdicts.jsonl").read_bytes() == first


def test_a_record_of_a_part_is_scored_over_that_part(
    tmp_path: Path, write_record: Callable[..., Path], replies: dict[str, str]
) -> None:
    """What was never asked is not wrong, and a part of an edition has no index."""
    folder = write_record(tmp_path, replies)
    kept: dict[str, int] = {}
    lines = []
    for line in (folder / "outputs.jsonl").read_text().splitlines(keepends=True):
        slug = json.loads(line)["benchmark"]
        kept[slug] = kept.get(slug, 0) + 1
        lines += [line] if kept[slug] <= 2 else []
    (folder / "outputs.jsonl").write_text("".join(lines))
    found = json.loads(rescore(tmp_path, "oracle", "--json"))
    missing = sum(kept.values()) - len(lines)
    assert (found["outputs"], found["missing"], found["index"]) == (len(lines), missing, None)
    score = json.loads((folder / "score.json").read_text())
    assert {one["items"] for one in score["benchmarks"].values()} == {2}
    assert score["benchmarks"]["arc-easy-mini"]["raw"] == 1.0
    assert (score["index"], score["raw_index"], score["complete"]) == (None, None, False)
    assert any(why.startswith(f"incomplete: {missing} outputs") for why in score["not_publishable_because"])
    assert any("partial: scored over the" in why for why in score["not_publishable_because"])
    (folder / "outputs.jsonl").write_text("")
    assert "none" in rescore(tmp_path, "oracle")
    assert json.loads((folder / "score.json").read_text())["benchmarks"] == {}


@pytest.mark.parametrize("headline", ["skill", "raw"])
def test_raw_accuracies_of_a_part_have_intervals_where_they_are_the_result(
    tmp_path: Path, write_record: Callable[..., Path], headline: str
) -> None:
    """As the run itself writes them."""
    folder = write_record(tmp_path, {"arc-easy-mini": "Answer: {gold}"})
    edition = msgspec.structs.replace(MINI, headline=headline)
    who = resolve("oracle", edition)
    judge = Judge.of(who, edition.extractors, strict=False)
    found = rescore_entry(edition, who, judge, folder, folder)
    judge.close()
    assert found.missing
    (line,) = found.score.benchmarks.values()
    assert (line.raw_low is not None) is (headline == "raw")


@pytest.mark.parametrize(("field", "was"), [("prompt_digest", "f" * 16), ("entry", "another")])
def test_outputs_made_under_other_conditions_are_refused(
    tmp_path: Path, write_record: Callable[..., Path], field: str, was: str
) -> None:
    """As in a run: what was asked otherwise, or of another model, is no output of this entry."""
    folder = write_record(tmp_path, {"arc-easy-mini": "Answer: {gold}"})
    rescore(tmp_path, "oracle")
    lines = (folder / "outputs.jsonl").read_text().splitlines()
    changed = json.loads(lines[3])
    changed[field] = was
    lines[3] = json.dumps(changed)
    (folder / "outputs.jsonl").write_text("\n".join(lines) + "\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(
        NanoLMError,
        match=rf"outputs.jsonl: .*arc-easy-mini {changed['item']} .*{field} '{was}' in the record",
    ):
        rescore(tmp_path, "oracle")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_changed_rule_is_listed_with_both_rules(
    write_record: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(tmp_path, {"gsm8k-platinum-mini": "It is {gold}."})
    rescore(tmp_path, "oracle")
    from nanolm.answers import number
    from nanolm.schema import Answer

    monkeypatch.setattr(number, "extract", lambda reply, item: Answer(None, "strict", None, "unparseable"))
    found = json.loads(rescore(tmp_path, "oracle", "--json", "--diff"))
    assert found["changed"] == found["outputs"] > 0
    change = found["changes"][0]
    assert (change["before"]["correct"], change["after"]["correct"]) == (True, False)
    assert change["before"]["rule"] != change["after"]["rule"] == "strict"


def test_code_that_can_not_be_run_here_keeps_its_verdict(
    tmp_path: Path, write_record: Callable[..., Path]
) -> None:
    folder = write_record(tmp_path, {"mbpp-plus-mini": "```python\nx = 1\n```"})
    assert "code verdicts taken over" not in rescore(tmp_path, "oracle")
    lines = list(file.read(folder / file.FILE))
    assert {line.reason for line in lines} == {"error"}
    ran = [msgspec.structs.replace(line, reason="wrong", detail="base fail in 0.10 s") for line in lines]
    file.write(folder / file.FILE, ran)
    said = rescore(tmp_path, "oracle")
    assert f"{len(ran)} code verdicts taken over" in said
    assert list(file.read(folder / file.FILE)) == ran


def test_the_entry_is_the_one_that_the_run_wrote_down(
    tmp_path: Path, write_record: Callable[..., Path]
) -> None:
    write_record(tmp_path, {"gsm8k-platinum-mini": "\\boxed{{gold}}"}, name="my-own-model")
    assert "my-own-model: " in rescore(tmp_path, "my-own-model")
    score = json.loads((tmp_path / "mini" / "my-own-model" / "score.json").read_text())
    assert score["entry"] == "my-own-model"


def test_without_a_record_or_a_name_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NanoLMError, match=r"no record of constant.*pytest tests_benchmarks --entry=constant"):
        rescore(tmp_path, "constant")
    with pytest.raises(NanoLMError, match=r"use --all; entries with a record in .*: none"):
        rescore(tmp_path)


def test_a_missing_record_is_said_before_missing_data(
    tmp_path: Path, write_record: Callable[..., Path]
) -> None:
    """No data of nano-lm-v1 are in this cache: what rescoring lacks first is a record."""
    folder = tmp_path / "nano-lm-v1"
    (folder / "some-model").mkdir(parents=True)
    (folder / "some-model" / "outputs.jsonl").write_bytes(b"")
    for edition in ((), ("--edition=nano-lm-v1",)):
        for name in ("oracle", "constant"):
            with pytest.raises(NanoLMError) as error:
                rescore(tmp_path, name, edition=edition)
            assert str(error.value).startswith(f"no record of {name} in {folder.absolute()}. Expected is ")
            assert "missing data" not in str(error.value)
    write_record(tmp_path, {"gsm8k-platinum-mini": "0"})
    with pytest.raises(NanoLMError, match=r"no record of oracle in .*\. It has one of mini: say --edition"):
        rescore(tmp_path, "oracle", edition=("--edition=nano-lm-v1",))


def test_the_edition_is_the_only_one_with_a_record(tmp_path: Path, write_record: Callable[..., Path]) -> None:
    folder = write_record(tmp_path, {"gsm8k-platinum-mini": "\\boxed{{gold}}"})
    write_record(tmp_path, {"gsm8k-platinum-mini": "0"}, name="other")
    assert "oracle: " in rescore(tmp_path, "oracle", edition=())
    assert json.loads((folder / "score.json").read_text())["edition"] == "mini"
    assert "other: " in rescore(tmp_path, "--all", edition=())
    # a second edition that only one of them has a record of
    (tmp_path / "nano-lm-v1" / "oracle").mkdir(parents=True)
    (tmp_path / "nano-lm-v1" / "oracle" / "outputs.jsonl").write_bytes(b"")
    assert "other: " in rescore(tmp_path, "other", edition=())
    assert "oracle: " in rescore(tmp_path, "oracle", "other", edition=())
    for names in (["oracle"], ["--all"]):
        with pytest.raises(NanoLMError, match=r"several editions \(mini, nano-lm-v1\); say which with --edition"):
            rescore(tmp_path, *names, edition=())
    with pytest.raises(NanoLMError, match="did you mean other"):
        rescore(tmp_path, "othr", edition=())


def test_without_an_edition_and_a_record_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NanoLMError, match="no record in .*pytest tests_benchmarks"):
        rescore(tmp_path, "oracle", edition=())
    with pytest.raises(NanoLMError, match="use --all"):
        rescore(tmp_path, edition=())
    for edition, name in (("their-own", "one"), ("mini", "two")):
        (tmp_path / edition / name).mkdir(parents=True)
        (tmp_path / edition / name / "outputs.jsonl").write_bytes(b"")
    with pytest.raises(NanoLMError, match=r"edition 'their-own', which is not one of nanolm's own"):
        rescore(tmp_path, "one", edition=())
    with pytest.raises(NanoLMError, match="one and two have no edition in common"):
        rescore(tmp_path, "one", "two", edition=())


def test_a_judge_of_an_entry_strips_its_own_marks() -> None:
    entry = msgspec.structs.replace(resolve("oracle", MINI), end_markers=("<|stop|>",))
    item = load_items(MINI, "arc-easy-mini").items[0]
    with Judge.of(entry, MINI.extractors) as judge:
        output = Output(
            benchmark=item.benchmark,
            item=item.id,
            sample=0,
            seed=0,
            entry="",
            prompt_digest="",
            rendered_digest="",
            decoding=Decoding(),
            max_tokens=1,
            text=f"{item.gold}<|stop|>",
            finish_reason="stop",
        )
        verdict = judge.verdict(item, output)
    assert verdict == Verdict(correct=True, reason=None, answer=item.gold, rule=verdict.rule, span=(0, 1))
