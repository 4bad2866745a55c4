"""Strict reading of TOML files: what is wrong is said with file, table and key."""

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nanolm.errors import EditionError, NanoLMError
from nanolm.sources import faults

T = TypeVar("T")

_LINE = re.compile(r"\(at line (?P<line>\d+), column \d+\)")
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate")
"""How tomllib begins what it says about a table or key that stands twice."""


def read(path: Path, error: type[NanoLMError] = EditionError) -> dict[str, Any]:
    """The tables of a TOML file. Raises `error` for a file that can't be read and, with the line, for text
    that isn't TOML (a table or key that stands twice included)."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error(f"{path} does not exist; expected a TOML file there") from None
    except UnicodeDecodeError as found:
        raise error(f"{path} is not UTF-8 text ({found}); save it as UTF-8") from None
    except OSError as found:
        raise error(f"{path} can't be read: {found.strerror or found}") from None
    if text.startswith("\ufeff"):
        raise error(
            f"{path} begins with a byte order mark, which TOML does not have; save it as UTF-8 without"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as found:
        raise error(f"{path} is not valid TOML: {_said(str(found), text)}") from None
    except RecursionError:
        raise error(f"{path} is not valid TOML: lists or tables are nested too deeply") from None


def _said(message: str, text: str) -> str:
    """What tomllib says, with the line it speaks of."""
    if message.startswith(_TWICE):
        message = f"a key or table stands twice: {message}"
    place = _LINE.search(message)
    lines = text.splitlines()
    if place and int(place["line"]) <= len(lines):
        message += f": {faults.shown(lines[int(place['line']) - 1].strip())}"
    return message


def convert(
    table: object,
    kind: type[T],
    path: Path,
    where: str = "",
    error: type[NanoLMError] = EditionError,
    **given: str,
) -> T:
    """`table` as a `kind` (a `msgspec.Struct`), or an `error` naming file, table and key.

    `where` is the table's name in the file. `given` are fields that are no keys of the table: they follow
    from where it stands.
    """
    whole = table
    if isinstance(table, dict):
        for name in given:
            if name in table:
                raise error(f"{path}: [{where}] unknown key {name!r}; the {name} is the table's own name")
        whole = {**table, **given}
    try:
        return msgspec.convert(whole, kind)
    except msgspec.ValidationError as found:
        what = faults.explain(whole, kind, where, tuple(given)) or f"[{where}] {found}"
        raise error(f"{path}: {what}") from None
