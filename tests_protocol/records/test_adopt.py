"""A record carried over from a parent edition."""

from pathlib import Path

import pytest

from nanolm.errors import RecordError
from nanolm.records import adopt


def test_copied_once_and_never_over_another(tmp_path: Path) -> None:
    source, folder = tmp_path / "parent", tmp_path / "own"
    source.mkdir()
    (source / "outputs.jsonl.zst").write_bytes(b"first")
    (source / "outputs.jsonl").write_bytes(b"second")
    assert adopt(source, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "outputs.jsonl.zst": b"first",
        "outputs.jsonl": b"second",
    }
    (folder / "outputs.jsonl").write_bytes(b"grown")
    assert not adopt(source, folder)
    assert (folder / "outputs.jsonl").read_bytes() == b"grown"
    assert (source / "outputs.jsonl").read_bytes() == b"second"


def test_a_copy_that_can_not_be_written_says_so(tmp_path: Path) -> None:
    source = tmp_path / "parent"
    source.mkdir()
    (source / "outputs.jsonl").write_bytes(b"line")
    (tmp_path / "own").write_text("a file in its place")
    with pytest.raises(RecordError, match=r"can't carry the record .* over to .*own.*--reports-dir"):
        adopt(source, tmp_path / "own")
