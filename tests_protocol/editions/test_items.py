"""Items are built once, read back the same, and never from a stale or torn cache."""

import importlib
from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions import items as items_module
from nanolm.errors import EditionError, ItemError, SourceError, UsageError
from tests_protocol.editions.conftest import ROWS, toy_items, write_rows
from tests_protocol.editions.test_read import change

LOCK_FILE = "sources.lock.toml"


def test_items_come_back_from_the_cache_as_they_were_built(small: Path) -> None:
    edition = editions.load(small)
    for slug in edition.benchmarks:
        built, prompts = items_module.build_items(edition, slug)
        for _ in range(2):
            read = editions.load_items(edition, slug)
            assert read.items == built.items
            assert read.prompts == prompts
            assert read.ids == editions.load_ids(edition, slug) == ("0000", "0001", "0002")
    tools = editions.load_items(edition, "toy-tools")
    assert tools.items[0].gold[0]["arguments"]["big"] == 2**90
    labels = editions.load_items(edition, "toy-labels")
    assert labels.items[0].labels is labels.items[2].labels


def test_limit_takes_the_first(small: Path) -> None:
    edition = editions.load(small)
    assert (
        editions.load_ids(edition, "toy", 2) == editions.load_items(edition, "toy", 2).ids == ("0000", "0001")
    )


def test_changed_data_and_changed_instructions_are_not_read_from_the_cache(small: Path) -> None:
    before = editions.load_items(editions.load(small), "toy")
    write_rows(small, [{**ROWS[0], "q": "Changed?"}, *ROWS[1:]])
    after = editions.load_items(editions.load(small), "toy")
    assert before.items[0].question == "One?"
    assert after.items[0].question == "Changed?"
    text = (small / "edition.toml").read_text("utf-8")
    (small / "edition.toml").write_text(text.replace("Answer with a letter.", "Name a letter."), "utf-8")
    assert editions.load_items(editions.load(small), "toy").prompts[0].text.endswith("Name a letter.")


@pytest.mark.parametrize("suffix", [".items", ".ids"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "gone"])
def test_a_torn_cache_is_built_again(small: Path, tmp_path: Path, suffix: str, damage: str) -> None:
    edition = editions.load(small)
    whole = editions.load_items(edition, "toy")
    (path,) = (tmp_path / "cache" / "items" / "small").glob(f"toy-*{suffix}")
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "flipped":
        data[-1] ^= 1
        path.write_bytes(data)
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "truncated" else b"")
    assert editions.load_ids(edition, "toy") == whole.ids
    assert editions.load_items(edition, "toy") == whole


def test_counts_must_be_the_editions(small: Path) -> None:
    write_rows(small, ROWS[:2])
    with pytest.raises(
        ItemError, match=r"edition.toml: \[benchmark.toy\] items = 3, but toy has 2 items and 1 excluded"
    ):
        editions.load_items(editions.load(small), "toy")


def test_missing_data_names_the_command(small: Path) -> None:
    change(small, 'kind = "folder"', f'kind = "hub"\nrepository = "a/b"\nrevision = "{"a" * 40}"', LOCK_FILE)
    with pytest.raises(
        SourceError, match=r"missing data: toy: toy.jsonl. Get it with `nanolm fetch --edition .*small`"
    ):
        editions.load_items(editions.load(small), "toy")


def test_a_missing_file_of_the_editions_own_is_named_by_its_place(small: Path) -> None:
    file = small.resolve() / "toy.jsonl"
    file.unlink()
    for what, made in (
        ("is not there", lambda: None),
        ("is a link that leads to no file", lambda: file.symlink_to(file)),
        ("is no file", lambda: (file.unlink(), file.mkdir())),
    ):
        made()
        with pytest.raises(SourceError, match=rf"toy: {file} {what}; .* can't be fetched. Put it there"):
            editions.load_items(editions.load(small), "toy")


def test_a_file_of_the_editions_own_with_other_bytes_is_refused(small: Path) -> None:
    change(small, 'path = "toy.jsonl"', 'path = "toy.jsonl"\nbytes = 3', LOCK_FILE)
    with pytest.raises(SourceError, match=r"toy.jsonl has \d+ bytes, expected 3; put back the file"):
        editions.load_items(editions.load(small), "toy")
    change(small, "bytes = 3", f'sha256 = "{"0" * 64}"', LOCK_FILE)
    with pytest.raises(SourceError, match=r"wrong bytes: toy: .* or pin this one in .*sources.lock.toml"):
        editions.load_items(editions.load(small), "toy")


def test_unknown_benchmark_and_module(small: Path) -> None:
    with pytest.raises(UsageError, match="did you mean toy"):
        editions.load_items(editions.load(small), "tay")
    text = (small / "edition.toml").read_text("utf-8")
    (small / "edition.toml").write_text(text.replace('module = "toy"', 'module = "nowhere"', 1), "utf-8")
    with pytest.raises(
        EditionError, match=r"edition.toml: \[benchmark.toy\] unknown module 'nowhere'. Known: arc, "
    ):
        editions.load(small)


def test_ids_are_unique_and_plain(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import msgspec

    toy = importlib.import_module("nanolm.benchmarks.toy")
    for ids, message in ((("a", "a", "b"), "'a' stands twice"), (("a b", "c", "d"), "'a b' has other signs")):

        def renamed(benchmark: str, files, ids=ids):  # type: ignore[no-untyped-def]
            built = toy_items(benchmark, files)
            named = tuple(
                msgspec.structs.replace(item, id=name) for item, name in zip(built.items, ids, strict=True)
            )
            return msgspec.structs.replace(built, items=named)

        monkeypatch.setattr(toy, "items", renamed)
        with pytest.raises(ItemError, match=message):
            editions.load_items(editions.load(small), "toy")
