"""The board: who is ranked, what is refused, what never gets onto a page."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from nanolm.cli import cli
from nanolm.editions import load
from nanolm.editions.edition import Edition
from nanolm.errors import RecordError, ScoreError, UsageError
from nanolm.reports.board import Built, build
from nanolm.reports.card import _conventions
from nanolm.reports.folders import edition_folder
from nanolm.reports.items import items_of

WriteRun = Callable[..., Path]
UNOFFICIAL = ("unofficial entry: derived from a local folder",)


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> Path:
    """A board of four runs; the module's tests only read it."""
    folder = tmp_path_factory.mktemp("site")
    reports = folder / "reports"
    write_run(reports, "strong", 0.8, samples=4, think=True, parameters=596_049_920)
    write_run(reports, "weak", 0.3)
    write_run(reports, "local", 0.9, because=UNOFFICIAL)
    write_run(reports, "half", 0.9, limit=3, because=("partial run (--limit=3)",))
    pass_checks(reports / "mini")
    built = build(reports / "mini", folder / "site", mini, items_of(mini))
    assert (built.entries, built.ranked, built.items) == (4, 2, 126)
    return folder / "site"


def test_only_publishable_complete_runs_are_ranked(site: Path, mini: Edition) -> None:
    board = json.loads((site / "board.json").read_bytes())
    ranks = {entry["entry"]: entry["rank"] for entry in board["entries"]}
    assert ranks == {"strong": 1, "weak": 2, "half": None, "local": None}
    assert [entry["entry"] for entry in board["entries"]][:2] == ["strong", "weak"]
    marks = {entry["entry"]: entry["marks"] for entry in board["entries"]}
    assert marks["strong"] == []
    assert marks["local"] == ["not publishable"]
    assert marks["half"] == ["partial", "not publishable"]
    assert board["edition_digest"] == mini.digest


def test_board_csv_has_a_line_per_entry_and_all_benchmarks(site: Path, mini: Edition) -> None:
    lines = list(csv.DictReader(io.StringIO((site / "board.csv").read_text())))
    assert len(lines) == 4
    assert lines[0]["entry"] == "strong"
    assert all(f"{slug} skill" in lines[0] for slug in mini.benchmarks)
    assert float(lines[0]["index"]) > float(lines[1]["index"])


def test_first_page_is_small_and_holds_everything_it_needs(site: Path) -> None:
    page = (site / "board.html").read_text()
    whole = len(page.encode()) + sum(
        (site / "static" / name).stat().st_size for name in ("site.css", "theme.js", "board.js")
    )
    assert whole < 500_000
    assert "Not ranked" in page
    for link in re.findall(r'(?:href|src)="([^"#]+)', page):
        assert not link.startswith(("http:", "https:", "//")), "the board works offline"
        assert (site / link).exists() or (site / link.split("#")[0]).exists(), link


def test_entry_page_holds_what_section_9_asks_for(site: Path) -> None:
    page = (site / "entries" / "strong.html").read_text()
    for text in (
        "own/strong",
        "0123456789abcdef",
        "596,049,920",
        "32,768 tokens",
        "apache-2.0",
        "vllm 0.31.0",
        "model card",
        "we suggest a temperature of 0.7",
        'href="https://example.org/card"',
        "Mean output tokens",
        "Truncated",
    ):
        assert text in page, text


def test_card_is_markdown_with_all_benchmarks(site: Path, mini: Edition) -> None:
    card = (site / "cards" / "strong.md").read_text()
    assert all(spec.title in card for spec in mini.benchmarks.values())
    assert "**Index " in card
    assert "> **Not publishable: unofficial entry" in (site / "cards" / "local.md").read_text()


def test_an_edition_of_raw_accuracies_has_no_index_and_no_ranks(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    """The headline is no part of the digest: the same runs, shown the other way."""
    write_run(tmp_path, "strong", 0.8)
    write_run(tmp_path, "weak", 0.3)
    pass_checks(tmp_path / "mini")
    shown = {}
    for headline in ("skill", "raw"):
        edition = msgspec.structs.replace(mini, headline=headline)
        built = build(tmp_path / "mini", tmp_path / headline, edition, items_of(edition))
        pages = ("board.html", "entries/strong.html", "cards/strong.md")
        shown[headline] = [built.ranked, *((tmp_path / headline / page).read_text("utf-8") for page in pages)]
        assert all("95% interval" in text or " to " in text for text in shown[headline][1:])
    for place, word in ((1, ">Ranking<"), (1, "index points"), (2, "raw index"), (3, "**Index ")):
        assert word in shown["skill"][place]
        assert word not in shown["raw"][place]
    assert (shown["skill"][0], shown["raw"][0]) == (2, 0)
    assert 'id="matrix" data-measure="raw"' in shown["raw"][1]


def test_a_card_states_the_conventions_of_log_likelihoods(mini: Edition) -> None:
    """Prompt, normalisation and clip: what somebody else has to do alike."""
    edition = load("slm-specs")
    every: Any = SimpleNamespace(benchmarks=edition.benchmarks)
    lines = _conventions(edition, every)
    assert [line.split(":")[0] for line in lines if line.startswith("- ")] == [
        f"- {spec.title}" for spec in edition.benchmarks.values()
    ]
    (letter,) = [line for line in lines if line.startswith("- ARC-Easy, by letter")]
    assert letter.endswith(
        "log-likelihood of `\\n{letter}` behind `{question}\\n{options}`, compared by its sum (acc); of the context "
        "the last 256 tokens"
    )
    (normed,) = [line for line in lines if line.startswith("- PIQA, per character")]
    assert normed.endswith("compared by its sum by the option's characters (acc_norm)")
    assert _conventions(mini, SimpleNamespace(benchmarks=mini.benchmarks)) == []  # type: ignore[arg-type]


def test_no_text_of_a_model_becomes_markup(site: Path) -> None:
    for path in site.rglob("*.js"):
        if path.parent.name == "static":
            continue
        text = path.read_text("ascii")
        assert "<" not in text, f"{path} could end its own script element"
        assert text.startswith(("nanolm(", "window.nanolmSite"))
    texts = "".join(path.read_text() for path in (site / "data").rglob("strong-0.js"))
    assert "\\u003c/script>" in texts
    assert "\\ud835" in texts  # the lone surrogate survives


def _value(path: Path) -> Any:
    text = path.read_text()
    return json.loads(text[text.index(",") + 1 : text.rindex(")")])


def test_data_of_an_item_is_the_record(site: Path, tmp_path: Path) -> None:
    index = _value(site / "data" / "gsm8k-platinum-mini" / "index.js")
    assert len(index["ids"]) == 10
    assert len(index["verdicts"]["strong"][0]) == 4
    assert index["verdicts"]["half"][9] == "-"
    outputs = _value(site / "data" / "gsm8k-platinum-mini" / "strong-0.js")
    record = site.parent / "reports" / "mini" / "strong" / "outputs.jsonl"
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for line in lines:
        if line["benchmark"] == "gsm8k-platinum-mini":
            shown = outputs[index["ids"].index(line["item"])][str(line["sample"])]
            assert "".join(shown["parts"]) == line["text"]
            if shown["answer"] is not None:
                assert shown["parts"][2] == shown["answer"]
    items = _value(site / "data" / "gsm8k-platinum-mini" / "items-0.js")
    assert "Put your final answer" in items[0]["prompt"]


def test_runs_of_two_editions_are_refused(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    write_run(tmp_path, "one")
    write_run(tmp_path, "two", changes={"edition_digest": "0" * 16})
    pass_checks(tmp_path / "mini")
    with pytest.raises(ScoreError, match=r"different editions.*one.*two"):
        build(tmp_path / "mini", tmp_path / "site", mini, items_of(mini))


def test_runs_of_another_state_of_the_edition_are_refused(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    write_run(tmp_path, "one", changes={"edition_digest": "0" * 16})
    with pytest.raises(ScoreError, match="the edition at hand is mini"):
        build(tmp_path / "mini", tmp_path / "site", mini, items_of(mini))


def _build(tmp_path: Path, mini: Edition) -> Built:
    return build(tmp_path / "mini", tmp_path / "site", mini, lambda slug: None)


def test_no_board_while_a_sanity_check_fails(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    write_run(tmp_path, "one")
    pass_checks(tmp_path / "mini", ok=False)
    with pytest.raises(ScoreError, match=r"sanity checks.*oracle index: 98\.5"):
        _build(tmp_path, mini)


def test_no_board_with_an_oracle_that_is_not_perfect(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    write_run(tmp_path, "oracle", 0.9)
    with pytest.raises(ScoreError, match="oracle scores"):
        _build(tmp_path, mini)


def test_without_sanity_checks_nothing_is_ranked(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one")
    assert _build(tmp_path, mini).ranked == 0
    assert "Sanity checks have not been run" in (tmp_path / "site" / "board.html").read_text()


def test_a_superseded_entry_stays_marked(
    tmp_path: Path, mini: Edition, write_run: WriteRun, pass_checks: Any
) -> None:
    write_run(tmp_path, "old", run={"superseded_by": "new"})
    write_run(tmp_path, "new")
    pass_checks(tmp_path / "mini")
    assert _build(tmp_path, mini).ranked == 1
    board = json.loads((tmp_path / "site" / "board.json").read_bytes())
    assert {entry["entry"]: entry["marks"] for entry in board["entries"]}["old"] == ["superseded"]


def test_titles_come_from_the_edition_s_entries(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "smollm2-135m-instruct-q4")
    write_run(tmp_path, "random")
    _build(tmp_path, mini)
    titles = {
        row["entry"]: row["title"]
        for row in json.loads((tmp_path / "site" / "board.json").read_bytes())["entries"]
    }
    assert titles["random"] == "Uniform random guessing"
    assert titles["smollm2-135m-instruct-q4"].startswith("SmolLM2")


def test_items_that_must_not_be_redistributed_need_private(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    write_run(tmp_path, "one")
    hidden = msgspec.structs.replace(mini.benchmarks["hellaswag-pro-mini"], redistribute=False)
    edition = msgspec.structs.replace(mini, benchmarks={**mini.benchmarks, "hellaswag-pro-mini": hidden})
    built = build(tmp_path / "mini", tmp_path / "site", edition, items_of(edition))
    assert built.left_out == ("hellaswag-pro-mini",)
    assert not (tmp_path / "site" / "data" / "hellaswag-pro-mini").exists()
    assert not [p for p in tmp_path.joinpath("site").rglob("*") if "hellaswag" in p.name]
    built = build(tmp_path / "mini", tmp_path / "site", edition, items_of(edition), private=True)
    assert built.left_out == ()
    assert (tmp_path / "site" / "data" / "hellaswag-pro-mini" / "index.js").exists()
    assert "Do not publish this folder" in (tmp_path / "site" / "board.html").read_text()


def test_a_folder_that_is_no_board_is_not_touched(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "precious.txt").write_text("mine")
    with pytest.raises(ScoreError, match="not empty and holds no board"):
        _build(tmp_path, mini)
    assert (tmp_path / "site" / "precious.txt").exists()


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_failed_board_leaves_the_earlier_one_and_nothing_new(
    tmp_path: Path, mini: Edition, write_run: WriteRun
) -> None:
    run = write_run(tmp_path, "one")
    _build(tmp_path, mini)
    (tmp_path / "site" / "CNAME").write_text("example.org")
    before, beside = _files(tmp_path / "site"), sorted(path.name for path in tmp_path.iterdir())
    whole = (run / "outputs.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (run / "outputs.jsonl").write_bytes(lines[0] + b"{nonsense\n" + b"".join(lines[1:]))
    with pytest.raises(RecordError, match=r"outputs\.jsonl"):
        _build(tmp_path, mini)
    assert _files(tmp_path / "site") == before
    with pytest.raises(RecordError, match=r"outputs\.jsonl"):
        build(tmp_path / "mini", tmp_path / "far" / "away" / "site", mini, lambda slug: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == beside
    (run / "outputs.jsonl").write_bytes(whole)
    write_run(tmp_path, "two")
    assert _build(tmp_path, mini).entries == 2
    after = _files(tmp_path / "site")
    assert after["CNAME"] == b"example.org"
    assert "entries/two.html" in after
    (tmp_path / "mini" / "two").rename(tmp_path / "gone")
    _build(tmp_path, mini)
    assert _files(tmp_path / "site") == before, "pages of an entry that is gone go too"


def test_a_move_that_fails_is_undone(
    tmp_path: Path, mini: Edition, write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, "one")
    _build(tmp_path, mini)
    before = _files(tmp_path / "site")
    write_run(tmp_path, "two")
    move = shutil.move

    def fails(source: Path, to: Path) -> Any:
        if source.parent.name == "new" and to.name == "entries":
            raise OSError("disk full")
        return move(source, to)

    monkeypatch.setattr(shutil, "move", fails)
    with pytest.raises(OSError, match="disk full"):
        _build(tmp_path, mini)
    assert _files(tmp_path / "site") == before


def test_a_file_is_no_place_for_a_board(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one")
    (tmp_path / "site").write_text("mine")
    with pytest.raises(ScoreError, match="is a file"):
        _build(tmp_path, mini)


def test_broken_files_are_named(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    folder = write_run(tmp_path, "one")
    verdicts = folder / "verdicts.jsonl"
    lines = verdicts.read_bytes().splitlines(keepends=True)
    verdicts.write_bytes(lines[0] + b'{"benchmark": 7}\n' + lines[1])
    with pytest.raises(RecordError, match=r"verdicts\.jsonl, line 2"):
        _build(tmp_path, mini)
    (folder / "score.json").write_text("{")
    with pytest.raises(RecordError, match=r"score\.json can't be read"):
        _build(tmp_path, mini)


def test_a_cut_last_line_is_left_out(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    folder = write_run(tmp_path, "one")
    with (folder / "outputs.jsonl").open("ab") as file:
        file.write(b'{"benchmark": "gsm8k')
    assert _build(tmp_path, mini).items == 126


def test_compressed_records_are_read(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    from nanolm.records.frames import zstd

    folder = write_run(tmp_path, "one")
    data = (folder / "outputs.jsonl").read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    compress = zstd.compress
    (folder / "outputs.jsonl.zst").write_bytes(compress(data[:half]) + compress(data[half:]))
    (folder / "outputs.jsonl").unlink()
    assert _build(tmp_path, mini).items == 126
    shown = _value(tmp_path / "site" / "data" / "clinc150-mini" / "one-0.js")
    assert all(shown)


def test_the_edition_folder_is_found_or_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no run in {tmp_path}; expected {tmp_path}/<edition>"):
        edition_folder(None, tmp_path)
    for edition in ("mini", "nano-lm-v1"):
        (tmp_path / edition / "entry").mkdir(parents=True)
        (tmp_path / edition / "entry" / "score.json").touch()
    with pytest.raises(UsageError, match=r"mini, .*nano-lm-v1"):
        edition_folder(None, tmp_path)


def test_the_command(tmp_path: Path, write_run: WriteRun, pass_checks: Any) -> None:
    write_run(tmp_path, "one")
    pass_checks(tmp_path / "mini")
    done = CliRunner().invoke(
        cli, ["board", str(tmp_path / "mini"), "-o", str(tmp_path / "site"), "--json"], catch_exceptions=False
    )
    assert json.loads(done.output)["ranked"] == 1


def test_entries_of_one_title_are_told_apart(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one", title="Same", think=True)
    write_run(tmp_path, "two", title="Same")
    write_run(tmp_path, "three", title="Same")
    write_run(tmp_path, "other", title="Other")
    build(tmp_path / "mini", tmp_path / "site", mini, lambda slug: None)
    data = (tmp_path / "site" / "data" / "site.js").read_text()
    titles = json.loads(data.removeprefix("window.nanolmSite = ").rstrip(";\n"))["entries"]
    assert {name: each["title"] for name, each in titles.items()} == {
        "one": "Same (think)",
        "two": "Same (two)",
        "three": "Same (three)",
        "other": "Other",
    }


def test_odd_names_get_files_of_their_own(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    names = ["a b", "a_b", "items", "index", "m\u00fcnchen #1 \u6a21\u578b", "[x]"]
    for name in names:
        write_run(tmp_path, name)
    site = tmp_path / "site"
    built = build(tmp_path / "mini", site, mini, items_of(mini))
    pages = sorted(path.stem for path in (site / "entries").glob("*.html"))
    assert len(pages) == len(names) == built.entries
    assert "a_b" in pages
    assert not {"items", "index"} & set(pages)
    for page in pages:
        assert re.fullmatch(r"[A-Za-z0-9._-]+", page)
        assert (site / "data" / "arc-easy-mini" / f"{page}-0.js").exists()
    assert "prompt" in (site / "data" / "arc-easy-mini" / "items-0.js").read_text()


def _change(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    score = json.loads((folder / "score.json").read_bytes())
    change(score)
    (folder / "score.json").write_text(json.dumps(score))


def test_a_record_without_a_score_is_named(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one")
    (write_run(tmp_path, "random") / "score.json").unlink()
    note = "random has no score.json; `nanolm rescore` writes it"
    assert _build(tmp_path, mini).notes == (note,)
    assert note in (tmp_path / "site" / "board.html").read_text()
    (tmp_path / "mini" / "one" / "score.json").unlink()
    with pytest.raises(RecordError, match=f"no run in .*{note}"):
        _build(tmp_path, mini)


def test_two_runs_of_a_name_say_their_editions(tmp_path: Path, mini: Edition, write_run: WriteRun) -> None:
    write_run(tmp_path, "one")
    other = write_run(tmp_path / "far", "one", changes={"edition": "other", "edition_digest": "0" * 16})
    other.rename(tmp_path / "mini" / "two")
    with pytest.raises(RecordError, match=rf"of the editions mini \({mini.digest}\) and other \(0000"):
        _build(tmp_path, mini)
    _change(tmp_path / "mini" / "two", lambda score: score.update(edition="mini", edition_digest=mini.digest))
    with pytest.raises(RecordError, match="expected one: move a copy elsewhere"):
        _build(tmp_path, mini)


def test_the_reports_folder_is_an_option_as_with_the_other_commands(
    tmp_path: Path, write_run: WriteRun, pass_checks: Any
) -> None:
    reports = tmp_path / "elsewhere"
    write_run(reports, "one", 0.5)
    pass_checks(reports / "mini")

    def board(*words: str) -> dict[str, Any]:
        more = ["--reports-dir", str(reports), "-o", str(tmp_path / "site"), "--json"]
        done = CliRunner().invoke(cli, ["board", *words, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return dict(json.loads(done.stdout))

    assert board()["entries"] == 1
    assert board(str(reports / "mini"))["entries"] == 1
    other = reports / "nano-lm-v1" / "one"
    other.mkdir(parents=True)
    (other / "score.json").write_text("{}")
    with pytest.raises(UsageError, match="Name one folder of"):
        board()
    assert board("--edition", "mini")["entries"] == 1
