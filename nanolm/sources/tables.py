"""Strict reading of an edition's TOML files: what is wrong is said with file, table and key."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nanolm.errors import EditionError

T = TypeVar("T")

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`")
_PLACE = re.compile(r" - at `(?P<place>[^`]*)`$")


def read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises `EditionError` with the line for text that isn't TOML
    (a table or key that stands twice included)."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EditionError(f"{path} does not exist; an edition needs it (docs/architecture.md)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EditionError(f"{path} can't be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise EditionError(f"{path} is not valid TOML: {error}") from None


def convert(table: object, kind: type[T], path: Path, where: str = "") -> T:
    """`table` as a `kind` (a `msgspec.Struct`), or an `EditionError` naming file, table and key."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise EditionError(f"{path}: {_explained(str(error), kind, where)}") from None


def _explained(message: str, kind: type[Any], where: str) -> str:
    place = _PLACE.search(message)
    text = message[: place.start()] if place else message
    inner = place["place"].removeprefix("$").removeprefix(".") if place else ""
    table = ".".join(part for part in (where, inner) if part)
    unknown = _UNKNOWN.match(text)
    if unknown:
        text = f"unknown key {unknown['field']!r}"
        known = {field.encode_name for field in msgspec.structs.fields(kind)} if not inner else set()
        close = difflib.get_close_matches(unknown["field"], known, n=1)
        if close:
            text += f"; did you mean {close[0]!r}?"
        elif known:
            text += f"; known keys: {', '.join(sorted(known))}"
    return f"[{table}] {text}" if table else text
