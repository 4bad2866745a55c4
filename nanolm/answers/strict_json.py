"""JSON values that stand anywhere in a text, found in linear time.

The standard library's decoder can start at any character, but trying it at each one is quadratic on
replies like `[[[[…`, its errors count lines, and it reads numbers as floats. Here each container is
read once: when a read fails, all the containers it had opened fail with it, and the ones it had
finished are kept. Two reads of the same characters can only differ in whether they stand inside a
string, so each character is read at most twice.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*+")
STRING = r'''"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'''
"""A JSON string, as a pattern that never backtracks."""
_STRING = re.compile(STRING)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"true|false|null")
DEPTH_AT_MOST = 200
"""A container nested deeper ends the read of all that are open around it (RFC 8259, section 9, lets a
reader set such a limit); it can still be read by itself."""
# Python refuses to make an int of more digits (sys.set_int_max_str_digits).
_INT_DIGITS = 4_000

Value = Any
"""dict, list, str, bool, None, int, float, or Decimal where int or float can't hold the number."""


class Found(NamedTuple):
    """A container: where it ends, and what it holds."""

    end: int
    value: Value


def number(text: str) -> int | float | Decimal | str:
    """The number as written, never rounded: a float only where its shortest form is the same number.

    An exponent that not even Decimal can hold leaves the text as it is.
    """
    if text.lstrip("-").isdigit():
        # Written with a fraction, a longer one can be read back from JSON.
        return int(text) if len(text) <= _INT_DIGITS else Decimal(f"{text}.0")
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return text
    short = float(text)
    return short if Decimal(repr(short)) == exact else exact


def _string(token: str) -> str:
    if "\\" in token:
        text = json.loads(token)
        assert isinstance(text, str)
        return text
    return token[1:-1]


class _Open:
    """A container that is being read."""

    __slots__ = ("key", "start", "value")

    def __init__(self, start: int, value: dict[str, Value] | list[Value]) -> None:
        self.start = start
        self.value = value
        self.key: str | None = None


class Reader:
    """Reads the containers (objects and lists) of a text, each one once.

    `at(start)` gives the container that starts there, or None when no JSON value does. Of equal keys
    the last counts (ruling 82); NaN and Infinity are no JSON (ruling 53).
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._read: dict[int, Found | None] = {}

    def at(self, start: int) -> Found | None:
        if start not in self._read:
            self._read_from(start)
        return self._read[start]

    def _read_from(self, start: int) -> None:
        stack: list[_Open] = []
        position = start
        try:
            while True:
                character = self.text[position]
                if character == "{" or character == "[":
                    if len(stack) == DEPTH_AT_MOST:
                        raise ValueError
                    stack.append(_Open(position, {} if character == "{" else []))
                    position = _SPACE.match(self.text, position + 1).end()  # type: ignore[union-attr]
                    if self.text[position] not in "]}":
                        position = self._to_value(stack[-1], position)
                        continue
                else:
                    value, position = self._scalar(position)
                    _put(stack[-1], value)
                while True:  # after a value: close what closes, or go on to the next value
                    position = _SPACE.match(self.text, position).end()  # type: ignore[union-attr]
                    character = self.text[position]
                    top = stack[-1]
                    if character == ",":
                        position = _SPACE.match(self.text, position + 1).end()  # type: ignore[union-attr]
                        position = self._to_value(top, position)
                        break
                    if character != ("}" if isinstance(top.value, dict) else "]"):
                        raise ValueError
                    position += 1
                    stack.pop()
                    self._read[top.start] = Found(position, top.value)
                    if not stack:
                        return
                    _put(stack[-1], top.value)
        except (IndexError, ValueError):  # the text ends, or is no JSON here
            for container in stack:
                self._read[container.start] = None

    def _to_value(self, top: _Open, position: int) -> int:
        """Past an object's key and colon, when there must be one."""
        if isinstance(top.value, list):
            return position
        match = _STRING.match(self.text, position)
        if match is None:
            raise ValueError
        top.key = _string(match.group())
        position = _SPACE.match(self.text, match.end()).end()  # type: ignore[union-attr]
        if self.text[position] != ":":
            raise ValueError
        return _SPACE.match(self.text, position + 1).end()  # type: ignore[union-attr]

    def _scalar(self, position: int) -> tuple[Value, int]:
        match = _STRING.match(self.text, position)
        if match is not None:
            return _string(match.group()), match.end()
        match = _NUMBER.match(self.text, position)
        if match is not None:
            return number(match.group()), match.end()
        match = _WORD.match(self.text, position)
        if match is not None:
            return _WORDS[match.group()], match.end()
        raise ValueError


def _put(container: _Open, value: Value) -> None:
    if isinstance(container.value, dict):
        assert container.key is not None
        container.value[container.key] = value
    else:
        container.value.append(value)


def whole(text: str) -> Found | None:
    """The container that the whole text is, white space around it aside."""
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if not text.startswith(("{", "["), start):
        return None
    found = Reader(text).at(start)
    if found is None or _SPACE.match(text, found.end).end() != len(text):  # type: ignore[union-attr]
        return None
    return found


def containers(text: str, starts: re.Pattern[str]) -> Iterator[tuple[int, Found]]:
    """The containers that start where `starts` matches, by their start."""
    reader = Reader(text)
    position = 0
    while (match := starts.search(text, position)) is not None:
        found = reader.at(match.start())
        if found is not None:
            yield match.start(), found
        position = match.start() + 1
