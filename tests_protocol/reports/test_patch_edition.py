"""A patch edition (§10) as it is made: a folder that inherits, a changed rule, every output rescored."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm import cli, editions, rules
from nanolm.answers import number
from nanolm.errors import EditionError, NanoLMError
from nanolm.schema import Answer, Item

SLUG = "gsm8k-platinum-mini"
MINI = editions.load("mini")


def nanolm(*words: object) -> str:
    done = CliRunner().invoke(cli.cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def error(*words: object) -> str:
    with pytest.raises(NanoLMError) as caught:
        CliRunner().invoke(cli.cli, [str(word) for word in words], catch_exceptions=False)
    return str(caught.value)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def reports(tmp_path: Path, write_record: Callable[..., Path], replies: dict[str, str]) -> Path:
    """Two entries on mini, judged by the rules as they are: `boxed` boxes its numbers, `loose` does not."""
    reports = tmp_path / "reports"
    write_record(reports, {**replies, SLUG: "So it is \\boxed{{gold}}."}, "boxed")
    write_record(reports, {**replies, SLUG: "So it is {gold}."}, "loose")
    nanolm("rescore", "--all", "--edition=mini", f"--reports-dir={reports}")
    return reports


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """The edition folder mini-1.0.1."""
    folder = tmp_path / "mini-1.0.1"
    folder.mkdir()
    (folder / "edition.toml").write_text(
        'name = "mini-1.0.1"\ntitle = "mini 1.0.1"\nversion = "1.0.1"\nsummary = "A number must be boxed."\n'
        'inherits = "mini"\nextractors = { number = "2" }\n'
    )
    return folder


@pytest.fixture
def changed_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The change that the patch edition is for: the last number of a reply counts no longer."""
    before = number.extract

    def extract(reply: str, item: Item) -> Answer:
        found = before(reply, item)
        return found if found.rule == "box" else Answer(None, "box-only", None, "unparseable")

    assert before("\\boxed{3}", editions.load_items(MINI, SLUG).items[0]).rule == "box"
    monkeypatch.setattr(number, "extract", extract)
    monkeypatch.setitem(rules.VERSIONS, "number", "2")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_changed_rule_is_refused_under_the_old_edition(reports: Path, changed_rule: None) -> None:
    before = contents(reports / "mini" / "loose")
    said = error("rescore", "loose", "--edition=mini", f"--reports-dir={reports}")
    assert "verdicts of mini depend on versions of nanolm's own rules" in said
    assert "number rules: found version 2, expected 1" in said
    assert contents(reports / "mini" / "loose") == before


def test_a_patch_edition_is_refused_without_its_rules(reports: Path, patch: Path) -> None:
    said = error("rescore", "loose", f"--edition={patch}", f"--reports-dir={reports}")
    assert "number rules: found version 1, expected 2" in said
    assert not (reports / "mini-1.0.1").exists()


def test_the_difference_shows_what_is_untouched(patch: Path) -> None:
    said = nanolm("edition", "diff", "mini", patch)
    digest = editions.load("mini")
    assert "extractors.number: None -> '2'" in said
    assert (
        f"Untouched: items and prompts ({sum(s.items for s in digest.benchmarks.values())} in 12 of 12"
        in said
    )
    assert "Untouched: budget (256)" in said
    assert "Untouched: chance levels" in said
    assert "A patch edition: every stored output is rescored" in said


def test_the_stored_outputs_are_rescored_and_the_parent_stays(
    reports: Path, patch: Path, changed_rule: None
) -> None:
    parent = {name: contents(reports / "mini" / name) for name in ("boxed", "loose")}
    options = [f"--edition={patch}", f"--reports-dir={reports}"]
    said = nanolm("rescore", "--all", "--diff", *options)
    items = len(editions.load_items(MINI, SLUG).items)
    assert "boxed: 126 outputs judged" in said
    assert f"{items} verdicts changed" in said
    listed = [line for line in said.splitlines() if line.startswith("  ")]
    assert len(listed) == items
    assert all(line.startswith(f"  {SLUG}/") and "correct by last-number" in line for line in listed), listed[
        0
    ]
    assert all("-> unparseable by box-only" in line for line in listed)
    assert {name: contents(reports / "mini" / name) for name in parent} == parent
    target = reports / "mini-1.0.1"
    new = (target / "loose" / "verdicts.jsonl").read_bytes()
    assert (target / "boxed" / "verdicts.jsonl").read_bytes() == parent["boxed"]["verdicts.jsonl"]
    assert not list(target.glob("*/outputs*"))
    told = json.loads((target / "loose" / "rescore.json").read_text())
    assert (told["record"], told["rules"]["number"]) == ("../../mini/loose", "2")
    assert (told["edition"]["name"], told["changed"], told["missing"]) == ("mini-1.0.1", items, 0)
    # once more: nothing changes, unless the parent's verdicts are asked for
    assert "loose: 126 outputs judged" in (again := nanolm("rescore", "loose", "--diff", *options))
    assert "0 verdicts changed" in again
    assert (target / "loose" / "verdicts.jsonl").read_bytes() == new
    against = json.loads(nanolm("rescore", "loose", "--diff", "--json", "--against=mini", *options))
    assert against["changed"] == len(against["changes"]) == items
    assert "no verdicts.jsonl to compare with" in error("rescore", "loose", "--against=nope", *options)


def test_everything_that_shows_outputs_finds_the_parent_s(
    reports: Path, patch: Path, changed_rule: None, tmp_path: Path
) -> None:
    options = [f"--edition={patch}", f"--reports-dir={reports}"]
    nanolm("rescore", "--all", *options)
    runs = reports / "mini-1.0.1"
    # the patch edition is no edition of the package: its folder must be named
    assert "name its folder with --edition" in error("board", runs, "-o", tmp_path / "site")
    built = json.loads(nanolm("board", runs, "-o", tmp_path / "site", f"--edition={patch}", "--json"))
    assert (built["entries"], built["without_outputs"]) == (2, [])
    data = (tmp_path / "site" / "data" / SLUG / "loose-0.js").read_text()
    gold = editions.load_items(MINI, SLUG).items[0].gold
    assert f"So it is {gold}." in data
    assert "box-only" in data
    page = (tmp_path / "site" / "entries" / "loose.html").read_text()
    assert "rescore.json" in page
    assert "mini 1.0.1" in page
    said = json.loads(nanolm("compare", "boxed", "loose", "--json", *options))
    assert said["comparisons"][0]["benchmarks"][SLUG]["raw"]["value"] == 1.0
    assert "has runs of several editions" in error("compare", "boxed", "loose", f"--reports-dir={reports}")
    nanolm("review", "loose", "--benchmark", SLUG, "-o", tmp_path / "review.csv", *options)
    assert f"So it is {gold}." in (tmp_path / "review.csv").read_text()
    written = json.loads(nanolm("export", "loose", "-o", tmp_path / "data", "--json", *options))
    assert written[0]["rows"] == 126


def test_editions_are_never_mixed(reports: Path, patch: Path, changed_rule: None, tmp_path: Path) -> None:
    nanolm("rescore", "--all", f"--edition={patch}", f"--reports-dir={reports}")
    shutil.rmtree(reports / "mini-1.0.1" / "loose")
    shutil.copytree(reports / "mini" / "loose", reports / "mini-1.0.1" / "loose")
    said = error("board", reports / "mini-1.0.1", "-o", tmp_path / "site", f"--edition={patch}")
    assert "these runs belong to different editions" in said
    assert not (tmp_path / "site").exists()
    said = error(
        "compare", reports / "mini" / "boxed", reports / "mini-1.0.1" / "boxed", f"--edition={patch}"
    )
    assert "different editions" in said


def test_a_patch_of_a_patch_finds_the_record_two_editions_back(
    reports: Path, patch: Path, changed_rule: None
) -> None:
    second = patch.parent / "mini-1.0.2"
    second.mkdir()
    text = (patch / "edition.toml").read_text().replace("1.0.1", "1.0.2")
    (second / "edition.toml").write_text(text.replace('"mini"', '"../mini-1.0.1"'))
    assert editions.load(second).ancestors == ("mini-1.0.1", "mini")
    said = nanolm("rescore", "loose", f"--edition={second}", f"--reports-dir={reports}")
    assert "loose: 126 outputs judged" in said
    assert (reports / "mini-1.0.2" / "loose" / "score.json").exists()
    (second / "edition.toml").write_text(text.replace("mini-1.0.2", "mini"))
    with pytest.raises(EditionError, match="name = 'mini' is an edition that comes with nanolm"):
        editions.load(second)
    same = text.replace('"mini"', '"../mini-1.0.1"').replace('name = "mini-1.0.2"', 'name = "mini-1.0.1"')
    (second / "edition.toml").write_text(same)
    with pytest.raises(EditionError, match=r"name = 'mini-1.0.1' is its parent's"):
        editions.load(second)


def test_verdicts_of_another_judging_are_no_part_of_a_comparison(
    reports: Path, patch: Path, changed_rule: None, tmp_path: Path
) -> None:
    nanolm("rescore", "--all", f"--edition={patch}", f"--reports-dir={reports}")
    shutil.copy(reports / "mini-1.0.1/loose/verdicts.jsonl", reports / "mini/loose/verdicts.jsonl")
    said = error("compare", "boxed", "loose", "--edition=mini", f"--reports-dir={reports}")
    assert "are not of one judging" in said
    assert "loose" in said
    assert "nanolm rescore" in said
