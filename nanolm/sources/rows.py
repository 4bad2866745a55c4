"""Rows of a source file: JSONL, JSON, CSV, TSV, Parquet, each also gzipped; no loading scripts."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from nanolm.errors import ItemError, SourceError
from nanolm.sources.source import SourceFile

Row = dict[str, Any]
Placed = tuple[int, Row]
"""A row with its place, counted from 1: the line it begins in (JSONL, CSV, TSV), else its row."""


def read_rows(file: SourceFile) -> Iterator[Row]:
    """The rows of a file in file order, each a dict of column to value.

    JSON may be a list of objects or a table of columns (`{"a": [..], "b": [..]}`, equal lengths).
    CSV and TSV need a header line; values are text. Raises `SourceError` for a file that can't be
    read and `ItemError` for a row that can't, naming the file and the row's place (`placed_rows`).
    """
    return (row for _, row in placed_rows(file))


def placed_rows(file: SourceFile) -> Iterator[Placed]:
    """The same rows, each with its place as people count: the line of a text file that it begins in (blank
    lines and the header count), or the number of the row in JSON and Parquet; both from 1."""
    suffix = _format(file)
    try:
        if suffix == ".parquet":
            yield from enumerate(_parquet(file), 1)
            return
        with _text(file.local) as stream:
            yield from _TEXT_FORMATS[suffix](file, stream)
    except FileNotFoundError:
        raise SourceError(f"{_named(file)} is not there; get it with `nanolm fetch`") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(f"{_named(file)} is a broken gzip file: {error}") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{_named(file)} is not UTF-8: {error}") from None
    except OSError as error:
        raise SourceError(f"{_named(file)} can't be read: {error.strerror or error}") from None


def read_json(file: SourceFile) -> Any:
    """A JSON file's whole value, for sources whose rows are nested (CLINC150's splits)."""
    try:
        with _text(file.local) as stream:
            return json.load(stream)
    except FileNotFoundError:
        raise SourceError(f"{_named(file)} is not there; get it with `nanolm fetch`") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(f"{_named(file)} is a broken gzip file: {error}") from None
    except OSError as error:
        raise SourceError(f"{_named(file)} can't be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{_named(file)} is not JSON: {error}") from None


def _format(file: SourceFile) -> str:
    suffix = Path(file.local.name.lower().removesuffix(".gz")).suffix
    known = (*_TEXT_FORMATS, ".parquet")
    if suffix not in known:
        raise SourceError(
            f"{_named(file)}: unknown format {suffix or file.local.name!r}; expected one of "
            f"{', '.join(known)}, each also with .gz"
        )
    return suffix


def _named(file: SourceFile) -> str:
    form = "" if file.form == "official" else f" (form {file.form})"
    return f"{file.source}: {file.name}{form} at {file.local}"


def _text(path: Path) -> TextIO:
    # newline="": the csv module needs line ends as they stand; the other formats do not mind.
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _object(file: SourceFile, place: str, value: object) -> Row:
    if not isinstance(value, dict):
        raise ItemError(f"{_named(file)}, {place}: {type(value).__name__}, expected an object")
    return value


def _jsonl(file: SourceFile, stream: TextIO) -> Iterator[Placed]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.rstrip())
        except (ValueError, RecursionError) as error:
            raise ItemError(f"{_named(file)}, line {number}: not JSON: {_why(error)}") from None
        yield number, _object(file, f"line {number}", value)


def _why(error: Exception) -> str:
    """What is wrong with a line of JSON; of the one line there is no need to say that it is the first."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (column {error.colno})"
    return str(error)


def _json(file: SourceFile, stream: TextIO) -> Iterator[Placed]:
    try:
        value = json.load(stream)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{_named(file)} is not JSON: {error}") from None
    if isinstance(value, dict):
        yield from enumerate(_columns(file, value), 1)
    elif isinstance(value, list):
        for number, row in enumerate(value, 1):
            yield number, _object(file, f"row {number}", row)
    else:
        raise SourceError(f"{_named(file)} holds a {type(value).__name__}, expected a list or columns")


def _columns(file: SourceFile, table: dict[str, Any]) -> Iterator[Row]:
    lengths = {name: len(column) if isinstance(column, list) else None for name, column in table.items()}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in list(lengths.items())[:8])
        raise SourceError(f"{_named(file)} is no table of equally long columns ({shown})")
    names = list(table)
    for values in zip(*table.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def _separated(file: SourceFile, stream: TextIO, delimiter: str) -> Iterator[Placed]:
    csv.field_size_limit(1 << 30)
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    begins, ended = 1, 0  # lines: a quoted field may hold line breaks
    try:
        for values in reader:
            begins, ended = ended + 1, reader.line_num
            if header is None:
                header = values
                twice = sorted({name for name in header if header.count(name) > 1})
                if twice:
                    raise SourceError(f"{_named(file)}: the column {twice[0]!r} stands twice in the header")
                continue
            if not values:
                continue
            if len(values) != len(header):
                raise ItemError(
                    f"{_named(file)}, line {begins}: {len(values)} fields, the header has {len(header)}"
                )
            yield begins, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise ItemError(f"{_named(file)}, line {ended + 1}: {error}") from None
    if header is None:
        raise SourceError(f"{_named(file)} is empty; expected a header line")


def _csv(file: SourceFile, stream: TextIO) -> Iterator[Placed]:
    return _separated(file, stream, ",")


def _tsv(file: SourceFile, stream: TextIO) -> Iterator[Placed]:
    return _separated(file, stream, "\t")


_TEXT_FORMATS: dict[str, Callable[[SourceFile, TextIO], Iterator[Placed]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
}


def _parquet(file: SourceFile) -> Iterator[Row]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise SourceError(
            f"{_named(file)} is Parquet, which needs pyarrow; install it with: pip install 'nanolm[data]'"
        ) from None
    local: Any = file.local
    if file.local.name.lower().endswith(".gz"):
        with gzip.open(file.local, "rb") as packed:
            local = io.BytesIO(packed.read())
    elif not file.local.exists():
        raise FileNotFoundError(file.local)
    try:
        with parquet.ParquetFile(local) as table:
            for batch in table.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise SourceError(f"{_named(file)} can't be read as Parquet: {error}") from None
