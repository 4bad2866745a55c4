"""Every error nanolm raises on purpose.

    NanoLMError
    ├── UsageError        a name or option that does not exist; close matches are named
    ├── EditionError      an edition folder that can't be read, or that contradicts itself
    ├── SourceError       data that is missing, unreachable or has the wrong bytes
    ├── ItemError         a source row that can't become an item (names the file and the line or row)
    ├── EntryError        a model that can't be read or is not eligible
    ├── RecordError       a record that can't be written, or was made under other conditions
    ├── EngineError       an engine that can't start or died
    ├── SandboxError      no working sandbox, or evaluators not installed
    └── ScoreError        scores that can't be computed or compared

A message says what was found, what was expected, in which file, and what to do next.
"""

import difflib
from collections.abc import Iterable


class NanoLMError(Exception):
    """The parent of all errors that are meant for the user; shown as one line, without a traceback."""


class UsageError(NanoLMError):
    """A name or option that does not exist."""


class EditionError(NanoLMError):
    """An edition folder that can't be read, or that contradicts itself."""


class SourceError(NanoLMError):
    """Source data that is missing, unreachable or has the wrong bytes."""


class ItemError(NanoLMError):
    """A source row that can't become an item. The message names file and line, or row."""


class EntryError(NanoLMError):
    """A model that can't be read or is not eligible."""


class RecordError(NanoLMError):
    """A record that can't be written, or was made under other conditions."""


class EngineError(NanoLMError):
    """An engine that can't start, or died."""


class SandboxError(NanoLMError):
    """No working sandbox, or the evaluators are not installed."""


class ScoreError(NanoLMError):
    """Scores that can't be computed or compared."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """A `UsageError` for a name that does not exist, naming the close matches or else all names.

    >>> str(unknown("edition", "nano-lm", ["mini", "nano-lm-v1"]))
    "unknown edition 'nano-lm'; did you mean nano-lm-v1? Known: mini, nano-lm-v1"
    """
    names = sorted(known)
    return UsageError(
        f"unknown {kind} {name!r}{did_you_mean(name, names)} Known: {', '.join(names) or 'none'}"
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """How a sentence on a name that does not exist ends: with close matches, or with a full stop.

    >>> did_you_mean("nano-lm", ["mini", "nano-lm-v1"]), did_you_mean("x", ["mini"])
    ('; did you mean nano-lm-v1?', '.')
    """
    close = difflib.get_close_matches(name, sorted(set(known)), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else "."


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count as messages say it.

    >>> counted(1, "verdict"), counted(12_000, "verdict"), counted(0, "entry", "entries")
    ('1 verdict', '12,000 verdicts', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
