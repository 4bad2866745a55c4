"""Rows of every format are the same rows; what can't be read is named with file and row."""

import builtins
import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.errors import ItemError, SourceError
from nanolm.sources.rows import read_json, read_rows
from nanolm.sources.source import SourceFile
from tests_protocol.sources.conftest import jsonl, parquet

ROWS = [{"q": 'He said "hi",\nthen\tleft', "a": "ü"}, {"q": "", "a": "\u2028 next"}]


def as_file(folder: Path, name: str, data: bytes) -> SourceFile:
    (folder / name).write_bytes(data)
    return SourceFile(source="toy", name=f"data/{name}", local=folder / name)


def separated(rows: list[dict[str, str]], delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, ["q", "a"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


def forms(rows: list[dict[str, str]]) -> dict[str, bytes]:
    columns = {key: [row[key] for row in rows] for key in ("q", "a")}
    return {
        "rows.jsonl": jsonl(rows),
        "list.json": json.dumps(rows, ensure_ascii=False).encode(),
        "columns.json": json.dumps(columns).encode(),
        "rows.csv": separated(rows, ","),
        "rows.tsv": separated(rows, "\t"),
        "rows.parquet": parquet(rows),
        "mark.jsonl": b"\xef\xbb\xbf" + jsonl(rows),
        "mark.csv": b"\xef\xbb\xbf" + separated(rows, ","),
        "mark.json": b"\xef\xbb\xbf" + json.dumps(rows).encode(),
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(forms(ROWS)))
def test_all_formats_give_the_same_rows(tmp_path: Path, name: str, packed: bool) -> None:
    data = forms(ROWS)[name]
    file = as_file(
        tmp_path, name + ".gz" if packed else name, gzip.compress(data, mtime=0) if packed else data
    )
    assert list(read_rows(file)) == ROWS


@given(st.lists(st.fixed_dictionaries({"q": st.text(), "a": st.text()}), max_size=5))
def test_any_text_survives_jsonl_and_csv(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    folder = tmp_path_factory.mktemp("rows")
    assert list(read_rows(as_file(folder, "rows.jsonl", jsonl(rows)))) == rows
    if all(text.isprintable() and text for row in rows for text in row.values()):
        assert list(read_rows(as_file(folder, "rows.csv", separated(rows, ",")))) == rows


@pytest.mark.parametrize(
    ("name", "data", "kind", "message"),
    [
        (
            "a.jsonl",
            b'{"a": 1}\n\n{"a": \n',
            ItemError,
            r"toy: data/a.jsonl at .*, line 3: not JSON: Expecting value \(column 6\)",
        ),
        ("a.jsonl", b"[1]\n", ItemError, "line 1: list, expected an object"),
        ("a.jsonl", b"[" * 100_000, ItemError, "line 1: not JSON"),
        ("a.jsonl", b"\xff\xfe", SourceError, "is not UTF-8"),
        ("a.json", b'[{"a": 1}, 2]', ItemError, "row 2: int, expected an object"),
        ("a.json", b"{", SourceError, "is not JSON"),
        ("a.json", b"3", SourceError, "holds a int, expected a list or columns"),
        ("a.json", b'{"a": [1], "b": [1, 2]}', SourceError, "no table of equally long columns"),
        ("a.csv", b"a,b\n1,2\n3\n", ItemError, "line 3: 1 fields, the header has 2"),
        ("a.csv", b'a,b\n1,"2\n', ItemError, "line 2: unexpected end of data"),
        ("a.csv", b"", SourceError, "is empty"),
        ("a.csv", b"\xef\xbb\xbf", SourceError, "is empty"),
        ("a.csv", b"a,b,a\n1,2,3\n", SourceError, "the column 'a' stands twice in the header"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), SourceError, "is not UTF-8"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n{"a": 3\n{"a": 4}\n', ItemError, "line 3: not JSON: Expecting"),
        ("a.json", b"", SourceError, "is not JSON"),
        ("a.json.gz", gzip.compress(b'[{"a": 1}]', mtime=0)[:-3], SourceError, "broken gzip"),
        ("a.parquet", b"", SourceError, "can't be read as Parquet"),
        ("a.parquet", parquet([{"a": 1}])[:-20] + b"x" * 20, SourceError, "can't be read as Parquet"),
        ("a.parquet.gz", gzip.compress(parquet([{"a": 1}]), mtime=0)[:-9], SourceError, "broken gzip"),
        ("a.parquet", b"PAR1", SourceError, "can't be read as Parquet"),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 999, mtime=0)[:-9], SourceError, "broken gzip"),
        ("a.jsonl.gz", b'{"a": 1}\n', SourceError, "broken gzip"),
        ("a.xlsx", b"", SourceError, "unknown format '.xlsx'; expected one of .jsonl"),
    ],
)
def test_faults_are_named(
    tmp_path: Path, name: str, data: bytes, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        list(read_rows(as_file(tmp_path, name, data)))


def test_a_folder_in_a_files_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    file = SourceFile(source="toy", name="data/a.jsonl", local=tmp_path / "a.jsonl")
    for read in (read_json, lambda file: list(read_rows(file))):
        with pytest.raises(SourceError, match=r"toy: data/a\.jsonl at .* can't be read: Is a directory"):
            read(file)


@pytest.mark.parametrize("name", ["gone.jsonl", "gone.parquet", "gone.csv.gz"])
def test_a_missing_file_names_the_command(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="is not there; get it with `nanolm fetch`"):
        list(read_rows(SourceFile(source="toy", name=name, local=tmp_path / name)))


def test_parquet_without_its_reader_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = as_file(tmp_path, "a.parquet", parquet([{"a": 1}]))
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SourceError, match=r"needs pyarrow; install it with: pip install 'nanolm\[data\]'"):
        list(read_rows(file))


def test_whole_documents(tmp_path: Path) -> None:
    assert read_json(as_file(tmp_path, "a.json", b'{"test": [["a", "b"]]}')) == {"test": [["a", "b"]]}
    with pytest.raises(SourceError, match="is not JSON"):
        read_json(as_file(tmp_path, "b.json", b"{"))
    with pytest.raises(SourceError, match="broken gzip"):
        read_json(as_file(tmp_path, "c.json.gz", gzip.compress(b"[]", mtime=0)[:-3]))
    with pytest.raises(SourceError, match="is not JSON"):
        read_json(as_file(tmp_path, "d.json", b"[" * 100_000))
