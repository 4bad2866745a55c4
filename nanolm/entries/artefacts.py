"""A model's own files, in a folder or at a revision on the hub: names, sizes, texts, byte ranges.

On the hub only small files are fetched whole; of weights only the byte ranges that are asked for.
"""

import json
from pathlib import Path
from typing import Any, Protocol

import msgspec

from nanolm.entries.entry import Entry
from nanolm.errors import EntryError

LEGACY_TEMPLATE = "chat_template.json"
_MOST_TEXT = 64 << 20
"""Bytes of the largest file that is read as text: a tokenizer.json can hold tens of megabytes."""


class Artefacts(Protocol):
    """The files of one model."""

    where: str
    """For people: the folder, or `repo@revision`."""
    reference: str
    """What transformers takes: the folder, or the repository."""
    revision: str | None
    """Commit on the hub; None for folders."""

    def names(self) -> frozenset[str]:
        """Files at the top of the model."""
        ...

    def size(self, name: str) -> int:
        """Bytes of a file."""
        ...

    def read(self, name: str, start: int, length: int) -> bytes:
        """Bytes of a file from `start`; fewer than `length` at its end."""
        ...

    def whole(self, name: str) -> bytes:
        """All bytes of a small file."""
        ...

    def small_files(self) -> Path:
        """A folder on this machine with all but the weights: configuration, tokenizer, template."""
        ...


class Folder:
    """A model folder on this machine."""

    revision: str | None = None

    def __init__(self, path: Path, where: str = "") -> None:
        self.path = path
        self.where = where or str(path)
        self.reference = str(path)

    def names(self) -> frozenset[str]:
        return frozenset(path.name for path in self.path.iterdir() if path.is_file())

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def read(self, name: str, start: int, length: int) -> bytes:
        try:
            with (self.path / name).open("rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError as error:
            raise EntryError(f"can't read {self.path / name}: {error.strerror or error}") from error

    def whole(self, name: str) -> bytes:
        return self.read(name, 0, -1)

    def small_files(self) -> Path:
        return self.path


def of(entry: Entry) -> Artefacts:
    """The artefacts of an entry: its folder, a snapshot in the hub's own cache, or the hub.

    Raises `EntryError` when the entry's revision is not known yet.
    """
    if entry.path:
        return Folder(Path(entry.path))
    if not entry.revision:
        question = entry.unverified.get("revision", "no revision is pinned")
        raise EntryError(
            f"{entry.name} can't run yet: its revision is {question}; when that is settled, "
            f"nanolm entry lock {entry.name} --revision=COMMIT"
        )
    from nanolm.entries import hub

    return hub.snapshot(entry.repo, entry.revision) or hub.repository(entry.repo, entry.revision)


def text(source: Artefacts, name: str) -> str | None:
    """A file as UTF-8 text, None when it is not there; prose (`.md`) is read whatever its bytes."""
    if name not in source.names():
        return None
    if source.size(name) > _MOST_TEXT:
        raise EntryError(f"{name} of {source.where} holds {source.size(name):,} bytes; expected a small file")
    try:
        return source.whole(name).decode("utf-8", "replace" if name.endswith(".md") else "strict")
    except UnicodeDecodeError as error:
        raise EntryError(f"{name} of {source.where} is not UTF-8 text: {error}") from error


def table(source: Artefacts, name: str) -> dict[str, Any] | None:
    """A JSON file that holds an object, None when it is not there."""
    found = text(source, name)
    if found is None:
        return None
    try:
        value = json.loads(found)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise EntryError(f"{name} of {source.where} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise EntryError(f"{name} of {source.where} holds a {type(value).__name__}; expected an object")
    return value


def config(source: Artefacts) -> dict[str, Any]:
    """`config.json`. Raises `EntryError` when it is not there: nothing can load the model without it."""
    found = table(source, "config.json")
    if found is None:
        raise EntryError(
            f"{source.where} holds no config.json; expected a whole transformers model folder (config.json, "
            "safetensors, tokenizer)"
        )
    return found


class TemplateText(msgspec.Struct, frozen=True):
    """The official chat template and the file it stands in."""

    text: str
    file: str


def find_template(source: Artefacts) -> TemplateText | None:
    """The official chat template, None for a base model. Raises `EntryError` when none of
    several is the default.

    Where there are several, the order is transformers': `chat_template.jinja`, then the legacy
    `chat_template.json` (which newer versions leave out), then `tokenizer_config.json`; of several
    named ones the one called `default`.
    """
    jinja = text(source, "chat_template.jinja")
    if jinja:
        return TemplateText(jinja, "chat_template.jinja")
    others = []
    for file in (LEGACY_TEMPLATE, "tokenizer_config.json"):
        named = _named((table(source, file) or {}).get("chat_template"))
        if named.get("default"):
            return TemplateText(named["default"], file)
        others += [f"{name} ({file})" for name, found in named.items() if found]
    if others:
        raise EntryError(
            f"{source.where} holds chat templates named {', '.join(others)}, but none named default; the "
            "protocol takes the default one (§2)"
        )
    return None


def template_text(source: Artefacts) -> TemplateText:
    """As `find_template`; raises `EntryError` when there is none (§2)."""
    found = find_template(source)
    if found is not None:
        return found
    raise EntryError(
        f"{source.where} holds no chat template (chat_template.jinja, {LEGACY_TEMPLATE}, or chat_template "
        "in tokenizer_config.json): a base model can't follow the protocol (§2); take the chat or "
        "instruct variant"
    )


def _named(value: Any) -> dict[str, str]:
    """Name to template: a single one is `default`, several stand in a list or a table."""
    if isinstance(value, str):
        return {"default": value}
    if isinstance(value, list):
        value = {str(item.get("name")): item.get("template") for item in value if isinstance(item, dict)}
    if not isinstance(value, dict):
        return {}
    return {str(name): found for name, found in value.items() if isinstance(found, str)}
