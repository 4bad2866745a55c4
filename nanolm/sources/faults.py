"""What is wrong with a TOML table, in words: table and key, what was found, what was expected.

msgspec says that a rule does not hold; which values would do, which keys there are and what the table is
called is found here, by walking the table beside the type it should have.
"""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from nanolm.errors import unknown

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}
_LONGEST = 60

Step = str | int
Fault = tuple[tuple[Step, ...], str]
"""Where, from the table on, and what. A text that begins with a blank goes on from the key's name."""


def explain(table: object, kind: Any, where: str = "", hidden: tuple[str, ...] = ()) -> str:
    """The first thing that is wrong with a table as a `kind`, empty when nothing is. An unknown key is wrong
    in every table, whatever the type says of it.

    `where` is the table's name in the file; `hidden` are fields of the type that are no keys of the table.
    """
    for steps, text in _faults(table, kind, (), hidden):
        if not text.startswith(" ") or not steps:
            return _at(where, steps) + text.lstrip()
        *before, key = steps
        name = f"value {key + 1} of the list" if isinstance(key, int) else key
        return f"{_at(where, tuple(before))}{name}{text}"
    return ""


def shown(value: object) -> str:
    """A value much as it stands in the file, on one line and not too long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _at(where: str, steps: tuple[Step, ...]) -> str:
    """The table's name in brackets; an element of a list is counted from 1."""
    name = where
    for step in steps:
        if isinstance(step, int):
            name += f" number {step + 1}"
        else:
            name += f".{step}" if name else step
    return f"[{name}] " if name else ""


def _faults(value: object, kind: Any, steps: tuple[Step, ...], hidden: tuple[str, ...]) -> Iterator[Fault]:
    kind = _without_none(kind)
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _of_struct(value, kind, steps, hidden)
    elif origin is Literal:
        allowed = get_args(kind)
        if not isinstance(value, str):
            yield steps, _expected(value, "a text in quotes")
        elif value not in allowed:
            yield steps[:-1], str(unknown(str(steps[-1]) if steps else "value", value, allowed))
    elif origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        yield from _of_mapping(value, get_args(kind), steps)
    elif origin in (tuple, list):
        if not isinstance(value, list | tuple):
            yield steps, _expected(value, "a list in [ ]")
            return
        for place, each in enumerate(value):
            yield from _faults(each, get_args(kind)[0], (*steps, place), ())
    elif not _fits(value, kind):
        yield steps, _expected(value, _WORDS.get(kind, "another value"))


def _of_struct(value: object, kind: Any, steps: tuple[Step, ...], hidden: tuple[str, ...]) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield steps, _expected(value, "a table")
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in value:
        if key not in fields:
            yield steps, str(unknown("key", str(key), set(fields) - set(hidden)))
    absent = [name for name, field in fields.items() if field.required and name not in value]
    if absent:
        yield steps, f"lacks the key{'s' * (len(absent) > 1)} {', '.join(absent)}"
    for key, each in value.items():
        if key in fields:
            yield from _faults(each, fields[key].type, (*steps, key), ())


def _of_mapping(value: object, kinds: tuple[Any, ...], steps: tuple[Step, ...]) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield steps, _expected(value, "a table")
        return
    for key in value:
        if get_origin(kinds[0]) is Literal and key not in get_args(kinds[0]):
            yield steps, str(unknown("key", str(key), get_args(kinds[0])))
    for key, each in value.items():
        yield from _faults(each, kinds[1], (*steps, key), ())


def _expected(value: object, expected: str) -> str:
    if isinstance(value, dict | list):
        return f" is a {'table' if isinstance(value, dict) else 'list'}; expected {expected}"
    return f" = {shown(value)}; expected {expected}"


def _without_none(kind: Any) -> Any:
    """TOML has no null: of `int | None` only `int` can stand in a file."""
    if get_origin(kind) in (Union, UnionType):
        rest = [one for one in get_args(kind) if one is not NoneType]
        return rest[0] if len(rest) == 1 else kind
    return kind


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
