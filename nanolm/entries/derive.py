"""Unofficial entries: everything derived from a model's own artefacts, with the reason for each value."""

from pathlib import Path

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry, Mode
from nanolm.errors import EntryError

UNOFFICIAL = "an unofficial entry, derived from its own artefacts: it is no entry of the edition"


def slug(text: str) -> str:
    """A name for entries and folders: letters, digits, `.`, `_` and `-`, in lower case."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text)
    return kept.strip("-._").lower() or "model"


def from_folder(path: Path, mode: Mode | None, edition: Edition | None) -> Entry:
    raise EntryError("not built yet")


def from_hub(repo: str, revision: str | None, mode: Mode | None, edition: Edition | None) -> Entry:
    raise EntryError("not built yet")


def from_gguf(path: Path, mode: Mode | None, edition: Edition | None) -> Entry:
    raise EntryError("not built yet")
