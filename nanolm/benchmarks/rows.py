"""Rows of source files with their place, and fields that are what they should be.

Every error names the file, the place in it (line or row, counted from 1) and the field.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from nanolm.errors import ItemError, SourceError
from nanolm.sources import SourceFile, placed_rows


class Row(msgspec.Struct, frozen=True):
    """One record of a source file."""

    file: SourceFile
    number: int
    """Counted from 0 in the official file, for ids; a mirror form in another order says its own."""
    place: int
    """Counted from 1, for people: the line of a text file, else the row (`sources.placed_rows`)."""
    fields: dict[str, Any]

    @property
    def where(self) -> str:
        """`file:place`, as `Item.source` has it."""
        return f"{self.file.name}:{self.place}"

    def wrong(self, found: str, expected: str) -> ItemError:
        """An `ItemError` for this row."""
        return ItemError(
            f"{self.where}: found {found}, expected {expected} "
            f"(source {self.file.source}, {self.file.local}, form {self.file.form})"
        )

    def get(self, field: str) -> Any:
        """The field's value; `ItemError` when the row has none."""
        if field not in self.fields:
            raise self.wrong(f"the fields {', '.join(map(str, self.fields)) or 'none'}", f"a field {field!r}")
        return self.fields[field]

    def text(self, field: str) -> str:
        """A string that is not only white space, as it is written."""
        value = self.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"{field} = {_short(value)}", "a text")
        return value

    def texts(self, field: str) -> list[str]:
        """A list of strings (from parquet it may be an array)."""
        value = self.get(field)
        found = list(value) if not isinstance(value, str | dict) and hasattr(value, "__iter__") else None
        if found is None or not all(isinstance(one, str) for one in found):
            raise self.wrong(f"{field} = {_short(value)}", "a list of texts")
        return found

    def index(self, field: str, size: int) -> int:
        """A whole number from 0 to `size` - 1; text files hold it as text."""
        value = self.get(field)
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
            raise self.wrong(f"{field} = {_short(value)}", f"a whole number from 0 to {size - 1}")
        return value


def rows(files: Sequence[SourceFile]) -> Iterator[Row]:
    """The rows of all files, in the files' order; `ItemError` for a row that is no record."""
    for file in files:
        for number, (place, fields) in enumerate(placed_rows(file)):
            if not isinstance(fields, dict):
                raise ItemError(f"{file.name}:{place}: found {_short(fields)}, expected a record of fields")
            yield Row(file, number, place, fields)


def named(files: Sequence[SourceFile], ending: str) -> SourceFile:
    """The one file whose name ends with `ending`; `SourceError` when there is none or more."""
    found = [file for file in files if file.name.endswith(ending)]
    if len(found) != 1:
        names = ", ".join(file.name for file in files) or "no file"
        raise SourceError(
            f"found {names}, expected one file {ending!r}; see sources.lock.toml of the edition"
        )
    return found[0]


def stem(file: SourceFile) -> str:
    """A file's bare name: `data/EvoEval_subtle.jsonl.gz` is `EvoEval_subtle`."""
    return file.name.rpartition("/")[2].partition(".")[0]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
