"""What is frozen stays, drift is named by its first item, and the lock's text keeps its comments."""

import shutil
from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions.datasheet import datasheet, markdown, not_publishable_because
from nanolm.editions.difference import diff
from nanolm.editions.fill_in import fill_sums, mark_verified
from nanolm.editions.frozen import read_digests, read_frozen
from nanolm.editions.lock import check, lock
from nanolm.errors import EditionError, ItemError
from nanolm.sources import cache
from nanolm.sources.lock import read_lock
from tests_protocol.editions.conftest import ROWS, write_rows
from tests_protocol.editions.test_read import change


def changed_row(number: int) -> list[dict[str, object]]:
    return [{**row, "q": "Another?"} if at == number else dict(row) for at, row in enumerate(ROWS)]


def test_freezing_writes_what_was_measured(small: Path) -> None:
    report = lock(editions.load(small))
    assert report.frozen == ("toy", "toy-labels", "toy-tools")
    frozen = read_frozen(small)
    assert frozen is not None
    toy, labels, tools = (frozen.benchmarks[slug] for slug in report.frozen)
    assert (toy.items, toy.chance_rule, toy.published_chance) == (3, "constant", 0.5)
    assert toy.chance == pytest.approx(2 / 3)
    assert toy.difference == pytest.approx(1 / 6, abs=1e-6)
    assert (labels.chance, labels.difference) == (pytest.approx(2 / 3), None)
    assert (tools.chance, tools.chance_rule) == (0.0, "open-ended")
    assert {slug: len(digests) for slug, digests in read_digests(small).items()} == {
        "toy": 3,
        "toy-labels": 3,
        "toy-tools": 3,
    }
    assert not_publishable_because(editions.load(small)) == ()
    assert check(editions.load(small)) == (("toy", "toy-labels", "toy-tools"), ())
    before = {path.name: path.read_bytes() for path in small.iterdir()}
    lock(editions.load(small))
    assert {path.name: path.read_bytes() for path in small.iterdir()} == before


def test_drift_is_refused_everywhere_and_named_by_its_first_item(small: Path) -> None:
    lock(editions.load(small))
    write_rows(small, changed_row(1))
    edition = editions.load(small)
    message = r"toy is not what .*frozen.json froze: the first item that differs is 0001 \(number 2, from toy"
    with pytest.raises(EditionError, match=message):
        editions.load_items(edition, "toy")
    with pytest.raises(EditionError, match=message):
        lock(edition)
    checked, drifts = check(edition)
    assert [drift.benchmark for drift in drifts] == list(checked) == ["toy", "toy-labels", "toy-tools"]
    lock(edition, replace=True)
    assert editions.load_items(editions.load(small), "toy").items[1].question == "Another?"


def test_a_changed_prompt_is_drift_too(small: Path) -> None:
    lock(editions.load(small))
    change(small, "Answer with a letter.", "Answer by letter.")
    with pytest.raises(EditionError, match="the first item that differs is 0000"):
        editions.load_items(editions.load(small), "toy")
    assert editions.load_ids(editions.load(small), "toy-labels")


def test_frozen_stays_while_the_data_is_away(small: Path) -> None:
    lock(editions.load(small))
    before = (small / "frozen.json").read_bytes()
    (small / "toy.jsonl").rename(small / "elsewhere.jsonl")
    report = lock(editions.load(small))
    assert report.kept == ("toy", "toy-labels", "toy-tools")
    assert (small / "frozen.json").read_bytes() == before
    assert check(editions.load(small)) == ((), ())


def test_what_is_not_frozen_can_not_be_published(small: Path) -> None:
    change(
        small,
        'kind = "folder"',
        f'kind = "github"\nrepository = "a/b"\nrevision = "{"0" * 40}"',
        "sources.lock.toml",
    )
    edition = editions.load(small)
    report = lock(edition)
    assert set(report.missing) == {"toy", "toy-labels", "toy-tools"}
    unverified, not_frozen = not_publishable_because(edition)
    assert unverified == "the official sum is not known of toy: toy.jsonl"
    assert not_frozen == "not frozen yet: toy, toy-labels, toy-tools"


def test_sums_are_filled_in_and_comments_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "sources.lock.toml"
    text = f"""# Head.
[source.a]  # a source
kind = "hub"
repository = "o/n"
revision = "{"1" * 40}"

[[source.a.file]]
sha256 = "unverified"    # later
path = "x.jsonl" # the file

[[source.a.file]]
path = "y.jsonl"

[[source.a.file.mirror]]
form = "other"
path = "y.json"
sha256 = "{"2" * 64}"

[[source.a.file]]
path = "z.jsonl"
sha256 = "unverified"
"""
    path.write_text(text, "utf-8")
    read = read_lock(path)
    assert fill_sums(read) == ()
    assert path.read_text("utf-8") == text
    for file in read["a"].file[:2]:
        (tmp_path / "came").write_bytes(file.path.encode())
        _, found = cache.keep(tmp_path / "came", None, file.path, "a file")
        cache.note_found(read["a"], file, found)
    assert fill_sums(read) == ("a: x.jsonl", "a: y.jsonl")
    one, two = (cache.found_sum(read["a"], file) for file in read["a"].file[:2])
    assert one is not None
    assert two is not None
    expected = text.replace(
        'sha256 = "unverified"    # later\n', f'sha256 = "{one.sha256}"    # later\nbytes = 7\n', 1
    ).replace('path = "y.jsonl"\n', f'path = "y.jsonl"\nsha256 = "{two.sha256}"\nbytes = 7\n', 1)
    assert path.read_text("utf-8") == expected
    assert [file.verified for file in read_lock(path)["a"].file] == [True, True, False]


def test_data_verified_is_taken_away_in_the_right_table(tmp_path: Path) -> None:
    path = tmp_path / "edition.toml"
    text = (
        "# An edition.\n[benchmark.a]\nlayout = '''\n{question}'''\ndata_verified = false\n\n"
        "[benchmark.a-2]   # another\ndata_verified = false  # not yet\nitems = 3\n\n"
        "[engine]\ndata_verified = false\n"
    )
    path.write_text(text, "utf-8")
    assert mark_verified(path, ["a-2"]) == ("a-2",)
    assert path.read_text("utf-8") == text.replace("data_verified = false  # not yet\n", "")
    with pytest.raises(EditionError, match="by hand"):
        mark_verified(path, ["b"])


def test_bad_rows_of_what_was_never_frozen_are_reported_and_of_what_was_are_refused(small: Path) -> None:
    change(small, "items = 3", "items = 4")
    report = lock(editions.load(small))
    assert set(report.missing) == {"toy"}
    assert "items = 4, but toy has 3 items and 1 excluded row" in report.missing["toy"]
    change(small, "items = 4", "items = 3")
    lock(editions.load(small))
    change(small, "items = 3", "items = 4")
    with pytest.raises(ItemError, match="3 items and 1 excluded row"):
        lock(editions.load(small))


def test_the_difference_of_two_editions_names_what_changed(small: Path) -> None:
    lock(editions.load(small))
    other = small.parent / "other"
    shutil.copytree(small, other)
    one = editions.load(small)
    assert diff(one, editions.load(other)).needs == "nothing"
    change(other, "0.9.0", "0.9.1")
    found = diff(one, editions.load(other))
    assert (found.needs, [each.what for each in found.differences]) == ("patch", ["extractors.math-verify"])
    change(other, "budget = 256", "budget = 512")
    write_rows(other, changed_row(2))
    lock(editions.load(other), replace=True)
    found = diff(one, editions.load(other))
    named = {each.what: each for each in found.differences}
    assert found.needs == "version"
    assert (named["budget"].before, named["budget"].after) == (256, 512)
    assert "1 of 3 items or prompts differ, the first is number 3" in named["frozen.toy.digest"].after


def test_the_datasheet_is_the_suite_table(small: Path) -> None:
    lock(editions.load(small))
    sheet = datasheet(editions.load(small))
    toy = sheet.benchmarks["toy"]
    assert (toy.items, toy.frozen_items, toy.chance_rule, toy.licence) == (3, 3, "constant", "CC0")
    assert [source.state for source in toy.sources] == ["ours"]
    assert sheet.publishable
    lines = markdown(sheet).splitlines()
    assert lines[2].startswith(
        "| Knowledge | Toy | ours | 3 | letter | accuracy | 0.6667 | constant | 0.5000 | CC0 |"
    )
    assert len(lines) == 7
