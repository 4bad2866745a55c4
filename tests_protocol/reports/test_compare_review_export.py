"""The verbs that read runs: compare, review, export."""

import csv
import html
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli import cli
from nanolm.cli.compare import command as compare_command
from nanolm.editions.edition import Edition
from nanolm.editions.read import load
from nanolm.errors import NanoLMError, UsageError
from nanolm.reports import review
from nanolm.reports.folders import find
from nanolm.reports.run_folder import RunFolder

WriteRun = Callable[..., Path]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, write_run: WriteRun) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    write_run(folder, "strong", 0.9, samples=4)
    write_run(folder, "weak", 0.3)
    return folder


def run(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_compare_shows_a_clear_difference(reports: Path) -> None:
    found = json.loads(run("compare", "strong", "weak", "--reports-dir", reports, "--json"))
    (one,) = found["comparisons"]
    assert one["index"]["shown"]
    assert one["index"]["low"] > 0
    assert len(one["benchmarks"]) == 12
    text = run("compare", "strong", "weak", "--reports-dir", reports, "--items")
    assert "strong minus weak" in text
    assert "does better" in text
    assert max(map(len, text.splitlines())) <= 400


def test_compare_with_itself_or_with_nothing_is_refused(reports: Path) -> None:
    for arguments, message in (
        (["strong"], "needs two entries"),
        (["strong", "strong"], "named twice"),
        (["strong", "wek"], "did you mean weak"),
    ):
        with pytest.raises(UsageError, match=message):
            run("compare", *arguments, "--reports-dir", reports)


def set_reason(folder: Path, benchmark: str, keep: int) -> None:
    """Make a benchmark's verdicts ones on programs that were not run, but for the first `keep`."""
    path = folder / "verdicts.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in [line for line in lines if line["benchmark"] == benchmark][keep:]:
        line.update(correct=False, reason="error", detail="not run: no sandbox")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    score = json.loads((folder / "score.json").read_text("utf-8"))
    (folder / "score.json").write_text(json.dumps({**score, "complete": False}), "utf-8")


def test_what_was_not_measured_is_left_out_and_not_wrong(tmp_path: Path, write_run: WriteRun) -> None:
    strong = write_run(tmp_path, "strong", 0.9)
    write_run(tmp_path, "weak", 0.3)
    set_reason(strong, "mbpp-plus-mini", keep=1)
    found = json.loads(run("compare", "weak", "strong", "--reports-dir", tmp_path, "--json"))
    (one,) = found["comparisons"]
    assert one["index"] is None
    assert "mbpp-plus-mini" not in one["benchmarks"]
    assert "evoeval-mini" in one["benchmarks"]
    assert "coding" not in one["categories"]
    assert len(one["categories"]) == 5
    assert "mbpp-plus-mini" not in {line["benchmark"] for line in found["useful_middle"]}
    (left,) = found["left_out"]
    assert (left["entry"], left["benchmark"]) == ("strong", "mbpp-plus-mini")
    assert left["errors"] == left["of"] - 1 > 0
    text = run("compare", "weak", "strong", "--reports-dir", tmp_path)
    assert "Left out: mbpp-plus-mini, not measured for strong" in text
    assert "Index" not in text.replace("no index", "")
    with pytest.raises(NanoLMError, match="nothing to compare: mbpp-plus-mini"):
        run("compare", "strong#mbpp-plus-mini", "weak#mbpp-plus-mini", "--reports-dir", tmp_path)


def test_samples_that_are_missing_are_not_wrong(tmp_path: Path, write_run: WriteRun) -> None:
    strong = write_run(tmp_path, "strong", 0.9, samples=4, changes={"complete": False})
    write_run(tmp_path, "weak", 0.3)
    path = strong / "verdicts.jsonl"
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    found = json.loads(run("compare", "strong", "weak", "--reports-dir", tmp_path, "--json"))
    (left,) = found["left_out"]
    assert (left["missing"], left["errors"]) == (1, 0)
    assert left["benchmark"] not in found["comparisons"][0]["benchmarks"]


def test_nothing_measured_is_no_comparison(tmp_path: Path, write_run: WriteRun) -> None:
    strong = write_run(tmp_path, "strong", 0.9)
    write_run(tmp_path, "weak", 0.3)
    for slug in json.loads((strong / "score.json").read_text("utf-8"))["benchmarks"]:
        set_reason(strong, slug, keep=0)
    with pytest.raises(NanoLMError, match="no benchmark is left to compare"):
        run("compare", "strong", "weak", "--reports-dir", tmp_path)


def test_a_run_folder_can_be_named(reports: Path) -> None:
    assert find(str(reports / "mini" / "weak"), Path("nowhere")) == reports / "mini" / "weak"


def test_review_draws_the_same_failures_and_larger_samples_hold_smaller_ones(reports: Path) -> None:
    runs = [RunFolder(reports / "mini" / name) for name in ("strong", "weak")]
    small = {(folder.name, key) for folder, key in review.draw(runs, 2, seed=1)}
    large = {(folder.name, key) for folder, key in review.draw(runs, 4, seed=1)}
    assert small == {(folder.name, key) for folder, key in review.draw(runs, 2, seed=1)}
    assert small < large
    assert small != {(folder.name, key) for folder, key in review.draw(runs, 2, seed=2)}
    assert len(small) == 24
    correct = {(r.name, line.key) for r in runs for line in r.verdicts() if line.correct}
    assert not large & correct


def test_review_as_csv_goes_out_and_comes_back(reports: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "review.csv"
    run("review", "strong", "weak", "--reports-dir", reports, "-n", 3, "-o", drawn)
    lines = list(csv.DictReader(io.StringIO(drawn.read_text(), newline="")))
    assert len(lines) == 36
    assert all(line["prompt"] and line["output"] and line["reason"] for line in lines)
    assert not any(line["output"].startswith(("=", "+", "-", "@")) for line in lines)
    for place, line in enumerate(lines):
        line["verdict"] = ("Model", "extractor", "model's fault", "")[place % 4]
    with drawn.open("w", newline="") as file:
        writer = csv.DictWriter(file, review.COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    shares = json.loads(run("review", "--read", drawn, "--json"))
    over_all = {one["fault"]: one for one in shares if one["benchmark"] == "all"}
    assert over_all["model"]["count"] == 18
    assert over_all["extractor"]["count"] == 9
    assert over_all["model"]["reviewed"] == 27
    assert over_all["model"]["share"]["low"] < 18 / 27 < over_all["model"]["share"]["high"]
    assert "model" in run("review", "--read", drawn)


def test_review_refuses_words_that_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    path.write_text("benchmark,verdict\na,model\na,nobody\n")
    with pytest.raises(UsageError, match="row 3: verdict 'nobody'"):
        review.read_back(path)
    path.write_text("benchmark,verdict\na,\n")
    with pytest.raises(UsageError, match="no verdict yet"):
        review.read_back(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="no columns"):
        review.read_back(path)


def test_review_page_escapes_what_models_wrote(reports: Path, tmp_path: Path) -> None:
    page = tmp_path / "review.html"
    run("review", "weak", "--reports-dir", reports, "-n", 9, "-o", page)
    text = page.read_text()
    assert text.count("<script>") == 1
    assert "<img" not in text
    assert "&lt;/script&gt;" in text


def test_export_holds_every_output_with_its_verdict(reports: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    written = json.loads(run("export", "strong", "--reports-dir", reports, "-o", tmp_path, "--json"))
    table = parquet.read_table(written[0]["file"]).to_pylist()
    assert len(table) == written[0]["rows"] == 126 * 4
    runs = RunFolder(reports / "mini" / "strong")
    verdicts = {line.key: line for line in runs.verdicts()}
    for row in table:
        line = verdicts[row["benchmark"], row["item"], row["sample"]]
        assert row["correct"] == line.correct
        if row["span_start"] is not None and row["benchmark"] == "arc-easy-mini":
            assert row["text"][row["span_start"] : row["span_end"]] == row["answer"]
    card = Path(written[0]["card"]).read_text()
    assert "504 rows" in card
    assert "| `finish_reason` | string |" in card


def test_the_data_card_explains_every_column(reports: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    written = json.loads(run("export", "strong", "--reports-dir", reports, "-o", tmp_path, "--json"))
    rows = [line.split(" | ") for line in Path(written[0]["card"]).read_text().splitlines() if line[:3] == "| `"]
    told = {cells[0].strip("| `"): cells[2].strip(" |") for cells in rows}
    assert list(told) == parquet.read_schema(written[0]["file"]).names
    assert all(len(text) > 10 for text in told.values())


def test_two_formulations_of_the_same_questions(
    write_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RUN#BENCHMARK: the run that has the benchmark is found; names that are none are told."""
    write_run(tmp_path, "one", 0.9)
    write_run(tmp_path, "two", 0.4)
    options = f"--reports-dir={tmp_path}"
    done = CliRunner().invoke(
        compare_command, ["one#arc-easy-mini", "two#arc-easy-mini", options, "--json"], catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert found["items"] == 10
    assert found["names"] == ["one#arc-easy-mini", "two#arc-easy-mini"]
    assert found["difference"]["value"] == pytest.approx(found["first"]["value"] - found["second"]["value"])
    for wrong, words in (
        (["one#arc-easy-mini", "two#arc-esy-mini"], "arc-easy-mini"),
        (["one#arc-easy-mini", "two"], "expected two of the form RUN#BENCHMARK"),
        (["one#arc-easy-mini", "two#banking77-mini"], "have no item in common"),
    ):
        with pytest.raises(NanoLMError, match=words):
            CliRunner().invoke(compare_command, [*wrong, options], catch_exceptions=False)


def test_an_edition_of_raw_accuracies_has_no_index_row(
    tmp_path: Path, write_run: WriteRun, mini: Edition
) -> None:
    write_run(tmp_path / "reports", "one", 0.9)
    write_run(tmp_path / "reports", "two", 0.4)
    raw = tmp_path / "raw"
    shutil.copytree(mini.folder, raw)
    told = (raw / "edition.toml").read_text()
    (raw / "edition.toml").write_text(told.replace('name = "mini"', 'name = "raw"\nheadline = "raw"', 1))
    shutil.copytree(tmp_path / "reports" / "mini", tmp_path / "reports" / "raw")
    for path in (tmp_path / "reports" / "raw").glob("*/score.json"):
        path.write_text(path.read_text().replace('"mini"', '"raw"', 1).replace(mini.digest, load(str(raw)).digest))
    words = ("compare", "one", "two", f"--reports-dir={tmp_path / 'reports'}")
    scaled = run(*words, "--edition=mini")
    assert re.search(r"^ *Index ", scaled, re.M)
    assert "skill for the index" in " ".join(scaled.split())
    text = run(*words, f"--edition={raw}")
    assert "ndex" not in text
    assert "Paired bootstrap on the same items; raw accuracy." in " ".join(text.split())
    assert mini.categories[1].title not in text
    (told_of,) = json.loads(run(*words, f"--edition={raw}", "--json"))["comparisons"]
    assert (told_of["index"], told_of["categories"]) == (None, {})
    assert len(told_of["benchmarks"]) == 12


def keep(folder: Path, lines: int, *names: str) -> None:
    for name in names:
        path = folder / name
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


@pytest.fixture
def half(tmp_path: Path, write_run: WriteRun) -> Path:
    """A whole run, one of the first three items of each benchmark, and one of a single output."""
    write_run(tmp_path, "whole", 0.5)
    write_run(tmp_path, "half", 0.5, limit=3)
    folder = write_run(tmp_path, "single", 0.5, changes={"complete": False})
    keep(folder, 1, "outputs.jsonl", "verdicts.jsonl")
    return tmp_path


def test_a_part_says_how_many_of_how_many(half: Path, tmp_path: Path) -> None:
    where = f"--reports-dir={half}"
    of_half = "36 of 126 verdicts (mmlu-cf-mini 3 of 12, arc-easy-mini 3 of 10, "
    text = run("compare", "whole", "half", where)
    assert f"half is partial: {of_half}" in text
    assert "and 9 more benchmarks)." in text
    assert "whole is partial" not in text
    told = json.loads(run("compare", "whole", "half", where, "--json"))
    assert [(one["entry"], one["found"], one["of"]) for one in told["partial"]] == [("half", 36, 126)]
    text = run("review", "whole", "half", where, "-o", tmp_path / "x.csv")
    assert f"half is partial: drawn from {of_half}" in text
    run("board", half / "mini", "-o", tmp_path / "site")
    assert of_half in html.unescape((tmp_path / "site" / "board.html").read_text())
    pytest.importorskip("pyarrow.parquet")
    text = run("export", "whole", "half", "single", where, "-o", tmp_path / "data")
    assert "whole.parquet: 126 rows; data card" in text
    assert "half.parquet: 36 rows, partial: 36 of 126 outputs (mmlu-cf-mini 3 of 12, " in text
    assert "; 36 of 126 verdicts (" in text
    assert "single.parquet: 1 row, partial: 1 of 126 outputs" in text
    card = (tmp_path / "data" / "half.md").read_text()
    assert "- Extent: **partial**: 36 of 126 outputs" in card
    whole = (tmp_path / "data" / "whole.md").read_text()
    assert "- Extent: all 126 outputs of the edition, each with its verdict" in whole
    told = json.loads(run("export", "half", where, "-o", tmp_path / "data", "--json"))
    assert (told[0]["partial"], told[0]["outputs"], told[0]["verdicts"], told[0]["of"]) == (True, 36, 36, 126)


def test_outputs_without_all_their_verdicts_are_told(half: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    keep(half / "mini" / "whole", 100, "verdicts.jsonl")
    where = f"--reports-dir={half}"
    text = run("export", "whole", where, "-o", tmp_path / "data")
    assert "126 rows, partial: 100 of 126 verdicts (" in text
    with pytest.raises(NanoLMError, match=r"verdicts\.jsonl holds 100 of 126 verdicts.*nanolm rescore"):
        run("compare", "whole", "half", where)


def test_nothing_judged_is_told_by_every_verb(half: Path, tmp_path: Path) -> None:
    where = f"--reports-dir={half}"
    keep(half / "mini" / "half", 0, "verdicts.jsonl")
    with pytest.raises(NanoLMError, match="nothing to compare: half has 0 of 126 verdicts"):
        run("compare", "whole", "half", where)
    with pytest.raises(NanoLMError, match="holds 0 of 126 verdicts.*nothing to draw from"):
        run("review", "half", where, "-o", tmp_path / "x.csv")
    text = run("board", half / "mini", "-o", tmp_path / "site")
    assert "half is not ranked. Nothing to check its score by: verdicts.jsonl holds no verdict (0 of 126)" in text
    pytest.importorskip("pyarrow.parquet")
    assert "36 of 126 outputs" in (text := run("export", "half", where, "-o", tmp_path / "data"))
    assert "; 0 of 126 verdicts (" in text
    before = (tmp_path / "data" / "half.parquet").read_bytes()
    keep(half / "mini" / "half", 0, "outputs.jsonl")
    with pytest.raises(NanoLMError, match="holds no output: there is nothing to export"):
        run("export", "half", where, "-o", tmp_path / "data")
    assert (tmp_path / "data" / "half.parquet").read_bytes() == before
    assert not list((tmp_path / "data").glob("*.part"))
