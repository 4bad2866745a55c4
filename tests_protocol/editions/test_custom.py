"""Another file's items: an edition of its own beside its records, pinned, and never an edition's own."""

import json
from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions import datasheet, lock
from nanolm.errors import EditionError, ItemError, SourceError, UsageError


def items(path: Path, count: int = 3) -> Path:
    rows = [
        {
            "id": f"q{n}",
            "category": "c",
            "question": f"{n}?",
            "choices": ["w", "x", "y", "z"],
            "answer": n % 4,
        }
        for n in range(count)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))


def test_it_asks_as_the_edition_does(tmp_path: Path) -> None:
    own = editions.load("featherweight-v1")
    file = items(tmp_path / "My Questions.v2.jsonl")
    found = editions.with_items(own, file, tmp_path / "reports")
    assert found.name.startswith("featherweight-v1-my-questions-")
    assert found.custom_of == "featherweight-v1"
    assert (found.budget, found.decoding, found.instructions) == (own.budget, own.decoding, own.instructions)
    assert [spec.items for spec in found.benchmarks.values()] == [3, 3]
    assert found.digest != own.digest
    read = editions.load_items(found, "featherweight-completion")
    assert read.prompts[1].text == "Question: 1?\nA) w\nB) x\nC) y\nD) z\nAnswer:"
    assert read.ids == ("q0", "q1", "q2")


def test_it_is_found_again_without_the_file(tmp_path: Path) -> None:
    file = items(tmp_path / "mine.jsonl")
    own = editions.load("featherweight-v1")
    found = editions.with_items(own, file, tmp_path / "reports")
    assert editions.with_items(own, file, tmp_path / "reports") == found
    file.unlink()
    assert editions.load(found.folder) == found
    assert editions.load_items(editions.load(found.folder), "featherweight-plain").ids == ("q0", "q1", "q2")
    assert found.folder == tmp_path / "reports" / found.name


def test_the_longest_file_name_still_makes_an_edition(tmp_path: Path) -> None:
    found = editions.with_items(
        editions.load("featherweight-v1"), items(tmp_path / f"{'q' * 240}.jsonl"), tmp_path
    )
    assert editions.load(found.folder) == found
    assert len(found.name) == len("featherweight-v1-") + 100 + len("-") + 8


def test_another_content_is_another_edition(tmp_path: Path) -> None:
    own = editions.load("featherweight-v1")
    first = editions.with_items(own, items(tmp_path / "mine.jsonl"), tmp_path)
    second = editions.with_items(own, items(tmp_path / "mine.jsonl", 4), tmp_path)
    assert first.name != second.name
    assert first.digest != second.digest


def test_a_changed_copy_is_refused(tmp_path: Path) -> None:
    found = editions.with_items(editions.load("featherweight-v1"), items(tmp_path / "mine.jsonl"), tmp_path)
    items(found.folder / "items.jsonl", 2)
    with pytest.raises(SourceError, match=r"items\.jsonl"):
        editions.load_items(found, "featherweight-plain")


def test_it_can_be_neither_published_nor_locked(tmp_path: Path) -> None:
    found = editions.with_items(editions.load("featherweight-v1"), items(tmp_path / "mine.jsonl"), tmp_path)
    assert datasheet.not_publishable_because(found) == ("custom items, not those of featherweight-v1",)
    with pytest.raises(EditionError, match="asks a custom file's items"):
        lock.lock(found)
    with pytest.raises(UsageError, match="asks another file's items already"):
        editions.with_items(found, tmp_path / "mine.jsonl", tmp_path)


def test_what_cannot_be_asked_leaves_no_folder(tmp_path: Path) -> None:
    own = editions.load("featherweight-v1")
    reports = tmp_path / "reports"
    with pytest.raises(UsageError, match="there is no such file"):
        editions.with_items(own, tmp_path / "none.jsonl", reports)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a", "category": "c", "question": "?", "choices": ["x"], "answer": "A"}\n')
    with pytest.raises(ItemError, match=r"bad.jsonl:1: found 1 choices, expected 4"):
        editions.with_items(own, bad, reports)
    bad.write_text('{"_meta": true}\n')
    with pytest.raises(UsageError, match="it holds no item for featherweight-plain"):
        editions.with_items(own, bad, reports)
    row = {"id": "a", "category": "c", "question": "?", "choices": list("wxyz"), "answer": "B"}
    bad.write_text(json.dumps(row) + "\n\n" + json.dumps({**row, "id": "b"}) + "\n")
    with pytest.raises(
        ItemError, match=r"bad.jsonl: featherweight-plain has a chance level of 1, since .* 'B'"
    ):
        editions.with_items(own, bad, reports)
    bad.write_text(json.dumps(row) + "\n\n" + json.dumps(row) + "\n")
    with pytest.raises(ItemError, match=r"bad.jsonl:3: found the id 'a' again \(first in .*bad.jsonl:1\)"):
        editions.with_items(own, bad, reports)
    bad.write_text("Not JSON\n")
    with pytest.raises(ItemError, match=r"bad.jsonl"):
        editions.with_items(own, bad, reports)
    bad.rename(tmp_path / "bad.docx")
    with pytest.raises(SourceError, match=r"unknown format '\.docx'"):
        editions.with_items(own, tmp_path / "bad.docx", reports)
    with pytest.raises(UsageError, match=r"mini reads \d+ files; expected an edition that reads one file"):
        editions.with_items(editions.load("mini"), items(tmp_path / "mine.jsonl"), reports)
    assert not reports.exists()


def test_a_folder_that_contradicts_its_edition(tmp_path: Path) -> None:
    found = editions.with_items(editions.load("featherweight-v1"), items(tmp_path / "mine.jsonl"), tmp_path)
    path = found.folder / "edition.toml"
    text = path.read_text()
    path.write_text(text.replace("featherweight-plain = 3\n", ""))
    with pytest.raises(EditionError, match=r"\[items\] .* expected a number for each benchmark"):
        editions.load(found.folder)
    path.write_text(text.replace(found.name, "mini"))
    with pytest.raises(EditionError, match="name = 'mini' is an edition that comes with nanolm"):
        editions.load(found.folder)
    path.write_text(text.replace('custom_of = "featherweight-v1"', 'custom_of = "fetherweight-v1"'))
    with pytest.raises(
        EditionError, match=r"edition.toml: custom_of: unknown edition .* mean featherweight-v1"
    ):
        editions.load(found.folder)
    path.write_text(text)
    lock_file = found.folder / "sources.lock.toml"
    lock_file.write_text(lock_file.read_text().replace("source.featherweight", "source.other"))
    with pytest.raises(
        EditionError, match=r"sources.lock.toml: unknown source 'featherweight'. Known: other"
    ):
        editions.load(found.folder)
    path.write_text(text.replace("[items]", "budget = 3\n[items]"))
    with pytest.raises(EditionError, match="unknown key 'budget'"):
        editions.load(found.folder)
