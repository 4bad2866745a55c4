"""What lies about in real folders: every verb answers with one clear line, and loses nothing."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanolm import cli, editions

MINI = editions.load("mini")
Say = Callable[..., str]


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """`call("rescore", …)`: runs the command; its exit status, standard output and standard error."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nanolm", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.out, said.err

    return call


@pytest.fixture
def say(call: Callable[..., tuple[int, str, str]]) -> Say:
    """`say("rescore", …)`: runs the command, which must fail, and gives the one line it says."""

    def say(*words: object) -> str:
        status, _, errors = call(*words)
        assert status == 1
        assert len(errors.splitlines()) == 1, errors
        assert errors.startswith("nanolm: ")
        return errors.strip()

    return say


@pytest.fixture
def run(call: Callable[..., tuple[int, str, str]]) -> Say:
    """`run("rescore", …)`: runs the command, which must work, and gives all it says."""

    def run(*words: object) -> str:
        status, out, errors = call(*words)
        assert status == 0, errors
        return out + errors

    return run


@pytest.fixture
def reports(
    tmp_path: Path, write_record: Callable[..., Path], replies: dict[str, str], run: Say
) -> Path:
    """A whole record of two entries with verdicts."""
    for name in ("one", "two"):
        write_record(tmp_path / "reports", replies, name)
    run("rescore", "--all", "--edition=mini", f"--reports-dir={tmp_path / 'reports'}")
    return tmp_path / "reports"


def reading(reports: Path, out: Path) -> list[tuple[object, ...]]:
    """A call of every verb that reads runs."""
    where = f"--reports-dir={reports}"
    return [
        ("compare", "one", "two", where),
        ("board", reports / "mini", "-o", out / "site"),
        ("review", "one", "two", where, "-o", out / "review.csv"),
        ("export", "one", where, "-o", out / "data"),
    ]


def spoil(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize("made", [False, True])
def test_no_folder_or_an_empty_one(say: Say, tmp_path: Path, made: bool) -> None:
    reports = tmp_path / "reports"
    if made:
        (reports / "mini").mkdir(parents=True)
    missing = "no run in" if made else "there is no folder"
    for words in reading(reports, tmp_path):
        assert f"{missing} {reports}" in (said := say(*words))
        assert "/score.json, which `pytest" in said
    where = f"--reports-dir={reports}"
    assert f"no record of oracle in {reports}/mini. Expected is " in say("rescore", "oracle", "--edition=mini", where)
    assert ("no record in" if made else missing) in say("rescore", "oracle", where)
    assert "entries with a record in" in say("rescore", "--all", "--edition=mini", where)
    assert "no run of 'oracle'" in say("check", "-e", "mini", "--no-run", where)


@pytest.mark.parametrize("is_file", [False, True])
def test_the_folder_looked_in_is_named_in_full(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool
) -> None:
    """From another folder than that of the runs, a relative path leads nowhere."""
    monkeypatch.chdir(tmp_path)
    missing = f"there is no folder {tmp_path}/reports; expected {tmp_path}/reports/"
    if is_file:
        (tmp_path / "reports").write_text("")
        missing = f"{tmp_path}/reports is a file; expected {tmp_path}/reports/"
    verbs: list[tuple[str, ...]] = [
        ("compare", "one", "two"), ("compare", "one#a", "two#a"), ("review", "one"), ("groups", "one"),
        ("export", "one", "-o", "x"), ("rescore", "one"), ("rescore", "--all"), ("board",),
    ]  # fmt: skip
    for words in verbs:
        assert missing in (said := say(*words))
        assert ("name the folder" if words == ("board",) else "--reports-dir") in said
    assert f"with a record in {tmp_path}/reports: none" in say("rescore", "--all", "--edition=mini")
    assert f"no run of 'oracle' with a score in {tmp_path}/reports/mini" in say("check", "-e", "mini", "--no-run")


def test_an_empty_edition_is_refused(say: Say, reports: Path, tmp_path: Path) -> None:
    where = f"--reports-dir={reports}"
    for words in [*reading(reports, tmp_path), ("groups", "one", where), ("rescore", "one", where)]:
        assert "the edition's name is empty; expected one of" in say(*words, "--edition=")


def test_the_folder_above_names_the_editions_below(say: Say, reports: Path, tmp_path: Path) -> None:
    assert f"({reports / 'mini'})" in say("board", reports, "-o", tmp_path / "site")


def test_half_a_record_keeps_the_whole_score_and_its_verdicts(run: Say, reports: Path) -> None:
    folder = reports / "mini" / "one"
    record = folder / "outputs.jsonl"
    whole = record.read_bytes()
    before = {name: (folder / name).read_bytes() for name in ("score.json", "verdicts.jsonl")}
    record.write_bytes(whole[: len(whole) // 2])  # its last line is torn, too
    options = ("--edition=mini", f"--reports-dir={reports}")
    said = run("rescore", "one", *options)
    assert "outputs are missing" in said
    assert "the record holds less than score.json counts" in said
    assert {name: (folder / name).read_bytes() for name in before} == before
    partial = json.loads((folder / "score.partial.json").read_text())
    assert not partial["complete"]
    lines = (folder / "verdicts.partial.jsonl").read_text().splitlines()
    assert 0 < len(lines) < len(before["verdicts.jsonl"].splitlines())
    record.write_bytes(whole)
    assert "missing" not in run("rescore", "one", *options)
    assert not list(folder.glob("*.partial.*"))


def test_a_corrupt_line_in_the_middle_of_a_record(say: Say, run: Say, reports: Path, tmp_path: Path) -> None:
    record = reports / "mini" / "one" / "outputs.jsonl"
    spoil(record, 50, b'{"benchmark": "x", oops')
    options = ("--edition=mini", f"--reports-dir={reports}")
    for words in [("rescore", "one", *options), *reading(reports, tmp_path)[1:]]:
        assert f"{record}, line 50: not an output" in say(*words)
    # the other entries are judged all the same, and the exit status tells
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["nanolm", "rescore", "--all", *options])
        (reports / "mini" / "two" / "score.json").unlink()
        cli.main()
    assert ended.value.code == 1
    assert (reports / "mini" / "two" / "score.json").exists()


def test_a_corrupt_line_of_verdicts_is_mended_by_a_rescore(
    say: Say, run: Say, reports: Path, tmp_path: Path
) -> None:
    path = reports / "mini" / "one" / "verdicts.jsonl"
    before = path.read_bytes()
    spoil(path, 50, b"\xff\xfe oops")
    for words in reading(reports, tmp_path):
        assert f"{path}, line 50" in (said := say(*words))
        assert "nanolm rescore" in said
    assert "1 verdict changed" in run("rescore", "one", "--edition=mini", f"--reports-dir={reports}")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "advice"), [("score.json", "rescore` on this entry writes it anew"), ("run.json", "move it away")]
)
def test_a_broken_file_is_named_with_what_to_do(
    say: Say, reports: Path, tmp_path: Path, name: str, advice: str
) -> None:
    path = reports / "mini" / "one" / name
    path.write_text("{oops")
    for words in reading(reports, tmp_path):
        assert f"{path} can't be read" in (said := say(*words))
        assert advice in said


def test_an_unknown_entry_names_close_ones(say: Say, reports: Path, tmp_path: Path) -> None:
    where = f"--reports-dir={reports}"
    for words in (
        ("compare", "one", "twoo", where),
        ("review", "twoo", where, "-o", tmp_path / "x.csv"),
        ("export", "twoo", where, "-o", tmp_path / "x"),
    ):
        assert "unknown run 'twoo'; did you mean two?" in say(*words)
    for name, meant in (("orakle", "oracle"), ("twoo", "two")):
        for edition in (["--edition=mini"], []):
            said = say("rescore", name, where, *edition)
            assert f"unknown entry {name!r}; did you mean {meant}?" in said
            assert f"With a record in {reports / 'mini'}: one, two" in said
    assert "no record of oracle" in (said := say("rescore", "oracle", "--edition=mini", where))
    assert said.endswith("Recorded are one, two")


def test_an_output_of_an_item_that_is_not_asked_names_the_file(say: Say, reports: Path) -> None:
    path = reports / "mini" / "one" / "outputs.jsonl"
    path.write_text(path.read_text().replace('"item":"0003"', '"item":"nope"'))
    said = say("rescore", "one", "--edition=mini", f"--reports-dir={reports}")
    assert f"{path}: found an output on item 'nope'" in said


def test_another_state_of_the_edition_is_refused_by_all(say: Say, reports: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = reports / "mini" / name / "score.json"
        path.write_bytes(path.read_bytes().replace(MINI.digest.encode(), b"f" * 16))
    for words in reading(reports, tmp_path):
        assert f"belong to edition mini (ffffffffffffffff), the edition at hand is mini ({MINI.digest})" in say(
            *words
        )
    for words in reading(reports, tmp_path)[:3]:
        assert "nano-lm-v1" in say(*words, "--edition=nano-lm-v1")


def test_a_run_that_stands_twice(say: Say, reports: Path, tmp_path: Path) -> None:
    where = f"--reports-dir={reports}"
    assert "named twice (one)" in say("compare", "one", "one", where)
    one = reports / "mini" / "one"
    assert f"named twice (one and {one})" in say("review", "one", one, where, "-o", tmp_path / "x.csv")
    shutil.copytree(one, reports / "mini" / "copy")
    said = say("board", reports / "mini", "-o", tmp_path / "site")
    assert f"{reports / 'mini' / 'copy'} and {one} are both runs of 'one'" in said


def test_places_that_can_not_be_written(say: Say, reports: Path, tmp_path: Path) -> None:
    where, file = f"--reports-dir={reports}", tmp_path / "file"
    file.write_text("")
    for words in (
        ("board", reports / "mini", "-o", file),
        ("export", "one", where, "-o", file),
        ("review", "one", where, "-o", file / "x.csv"),
        ("review", "one", where, "-o", tmp_path / "no" / "x.csv"),
    ):
        assert "check the path" in say(*words)
    assert "expected a name that ends in .html" in say("review", "one", where, "-o", tmp_path / "x.pdf")
    patch = tmp_path / "patch"
    patch.mkdir()
    (patch / "edition.toml").write_text(
        'name = "patch"\ntitle = "p"\nversion = "1"\nsummary = ""\ninherits = "mini"\n'
    )
    (reports / "patch").write_text("a file where a folder should be")
    said = say("rescore", "one", f"--edition={patch}", where)
    assert "can't write" in said
    assert "the record is untouched" in said


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xe5\xff\x00", "no text in UTF-8"),
        (b"", "no columns benchmark and verdict"),
        (b"benchmark,verdict\na,my fault\n", "row 2: verdict 'my fault'; expected one of model"),
        (b"benchmark,verdict\na,\n", "holds no verdict yet"),
    ],
)
def test_files_that_are_no_review(say: Say, tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "review.csv"
    path.write_bytes(content)
    assert expected in say("review", "--read", path)
    assert "can't be read" in say("review", "--read", tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfbenchmark;verdict\r\na;model\r\na;Extractor's fault\r\n",
        b"benchmark\tverdict\na\tmodel\na\textractor\n",
        "benchmark,verdict\na,model’s fault\na,EXTRACTOR\n".encode(),
    ],
)
def test_a_review_as_spreadsheets_save_it(run: Say, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "review.csv"
    path.write_bytes(content)
    shares = json.loads(run("review", "--read", path, "--json"))
    counts = {share["fault"]: share["count"] for share in shares if share["benchmark"] == "a"}
    assert counts == {"model": 1, "extractor": 1, "gold": 0, "unclear": 0}


def test_names_of_all_kinds(run: Say, tmp_path: Path, write_record: Callable[..., Path]) -> None:
    names = ["a b", "[x]*", "ünïcode-模型", "-dash", "quote\"'<b>"]
    reports = tmp_path / "reports"
    for name in names:
        write_record(reports, {"arc-easy-mini": "Answer: {gold}"}, name)
    where = f"--reports-dir={reports}"
    run("rescore", "--all", "--edition=mini", where)
    for name in names:
        assert f"{name}: 10 outputs judged" in run("rescore", "--edition=mini", where, "--", name)
        assert f"{name} minus" in run("compare", where, "--", name, next(n for n in names if n != name))
    run("review", where, "-o", tmp_path / "review.html", "--", *names)
    assert len(json.loads(run("export", where, "-o", tmp_path / "data", "--json", "--", *names))) == 5
    assert len(list((tmp_path / "data").glob("*.parquet"))) == 5
    assert json.loads(run("board", reports / "mini", "-o", tmp_path / "site", "--json"))["entries"] == 5
    page = (tmp_path / "site" / "board.html").read_text()
    assert "<b>" not in page.replace("<b>mini</b>", "").split("<h2")[1]


def test_a_folder_in_the_place_of_a_record(say: Say, reports: Path, tmp_path: Path) -> None:
    path = reports / "mini" / "one" / "outputs.jsonl"
    path.unlink()
    path.mkdir()
    for words in [("rescore", "one", "--edition=mini", f"--reports-dir={reports}"), *reading(reports, tmp_path)[1:]]:
        assert f"{path} is a folder; expected a record's file: move it away" in say(*words)


def test_two_formulations_of_an_unknown_edition(say: Say, reports: Path) -> None:
    two = ("compare", "one#arc-easy-mini", "two#arc-easy-mini", f"--reports-dir={reports}")
    assert "unknown edition 'minni'; did you mean mini?" in say(*two, "--edition=minni")
    assert f"there is no folder {reports}/nano-lm-v1" in say(*two, "--edition=nano-lm-v1")


def test_names_too_long_for_the_system_are_one_line(say: Say, reports: Path) -> None:
    where = f"--reports-dir={reports}"
    for name in ("x" * 300, "x" * 5000):
        for words in (("compare", name, "one"), ("export", name, "-o", "x"), ("rescore", name), ("card", "check", name)):
            assert name in say(*words, *([] if words[0] == "card" else [where]))
