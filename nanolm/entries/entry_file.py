"""Entry files: an entry as TOML, read, checked and written.

The file holds what decides the outputs, with the source of every value; samples, digest and whether it
can be published follow from it and are never written.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import prescribed
from nanolm.entries.digest import digest
from nanolm.entries.entry import Artefact, Entry, EntryDecoding, Mode, PackagedWeights, Reasoning
from nanolm.errors import EntryError
from nanolm.sources import faults, tables


class EntryFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of an entry TOML; their meaning is that of `Entry`."""

    name: str
    title: str
    artefact: Artefact
    repo: str = ""
    revision: str = ""
    path: str = ""
    """A local model folder or file, absolute or below the entry file's own folder."""
    mode: Mode
    parameters: int
    context: int
    licence: str
    template_sha256: str = ""
    template_arguments: dict[str, Any] = {}
    add_bos: bool = False
    stop_ids: tuple[int, ...]
    end_markers: tuple[str, ...] = ()
    superseded_by: str | None = None
    warnings: tuple[str, ...] = ()
    """What `nanolm entry lock` found odd, e.g. tokenizers that disagree."""
    unofficial: str = ""
    """Why the entry is no official one, in words; empty for official entries."""
    reasoning: Reasoning | None = None
    decoding: EntryDecoding
    weights: PackagedWeights | None = None
    unverified: dict[str, str] = {}
    """Field to the question that is open until `nanolm entry lock` has checked it."""


def read(path: Path) -> EntryFile:
    """An entry file. Raises `EntryError` naming the file, what was found and what was expected."""
    table = tables.read(path, EntryError)
    wrong = faults.explain(table, EntryFile)
    if wrong:
        raise EntryError(f"{path} is no entry file: {wrong}; docs/entries.md explains the keys")
    found = tables.convert(table, EntryFile, path, error=EntryError)
    _check(found, path)
    return found


def _check(file: EntryFile, path: Path) -> None:
    values = file.decoding.values
    rules = {
        "name": (file.name == path.stem, f"is {file.name!r}, expected the file's own name {path.stem!r}"),
        "context": (file.context > 0, "must be above 0 tokens"),
        "parameters": (file.parameters > 0, "must be above 0"),
        "stop_ids": (bool(file.stop_ids) and min(file.stop_ids) >= 0, "must name at least one token id"),
        "decoding.values.temperature": (0 <= values.temperature < math.inf, "must be a number from 0"),
        "decoding.values.top_p": (0 < values.top_p <= 1, "must be above 0 and at most 1"),
        "decoding.values.top_k": (values.top_k >= 0, "must be at least 0, which is off"),
        "decoding.values.min_p": (0 <= values.min_p <= 1, "must be from 0 to 1"),
        "decoding.values.repetition_penalty": (
            0 < values.repetition_penalty < math.inf,
            "must be a number above 0",
        ),
        "decoding.source": (
            file.decoding.source != "edition" and (file.decoding.source == "greedy") == values.greedy,
            "is 'edition', but an entry's file holds the model's own settings"
            if file.decoding.source == "edition"
            else f"is {file.decoding.source!r}, which contradicts a temperature of {values.temperature}",
        ),
        "mode": (
            file.mode != "base" or not (file.template_sha256 or file.template_arguments or file.reasoning),
            "is 'base', which has no chat template, template_arguments or reasoning",
        ),
        "decoding.quote": (
            file.decoding.source != "model card"
            or bool(file.decoding.quote and file.decoding.link)
            or "decoding.quote" in file.unverified,
            "must hold the card's words, with decoding.link, when the card is the source (§5); while they "
            'are not known, say so in [unverified] under "decoding.quote"',
        ),
    }
    for field, (holds, what) in rules.items():
        if not holds:
            raise EntryError(f"{path}: {field} {what}")


def to_entry(file: EntryFile, edition: Edition | None, folder: Path | None = None) -> Entry:
    """The entry of a file, with what follows from it: samples, publishing, digest.

    `folder` is the file's own, from which a relative `path` counts.
    """
    return complete(
        Entry(
            name=file.name,
            title=file.title,
            artefact=file.artefact,
            repo=file.repo,
            revision=file.revision,
            path=str((folder or Path()) / file.path) if file.path else "",
            mode=file.mode,
            template_arguments=file.template_arguments,
            parameters=file.parameters,
            context=file.context,
            licence=file.licence,
            template_sha256=file.template_sha256,
            add_bos=file.add_bos,
            stop_ids=file.stop_ids,
            end_markers=file.end_markers,
            reasoning=file.reasoning,
            decoding=file.decoding,
            official=not file.unofficial,
            not_publishable_because=(file.unofficial,) if file.unofficial else (),
            unverified=file.unverified,
            superseded_by=file.superseded_by,
            warnings=file.warnings,
            weights=file.weights,
        ),
        edition,
    )


def complete(entry: Entry, edition: Edition | None) -> Entry:
    """The entry under its edition (`prescribed`), with what follows from its other fields: samples (§5),
    publishing, digest."""
    entry = prescribed.apply(entry, edition)
    sampled, greedy = (edition.samples_sampled, edition.samples_greedy) if edition else (4, 1)
    limit = edition.parameter_limit if edition else 600_000_000
    because = list(entry.not_publishable_because)
    if entry.parameters > limit:
        because.append(f"{entry.parameters:,} parameters, at most {limit:,} (protocol §2)")
    because += [f"{field} is unverified: {question}" for field, question in entry.unverified.items()]
    whole = msgspec.structs.replace(
        entry,
        samples=greedy if entry.decoding.values.greedy else sampled,
        not_publishable_because=tuple(dict.fromkeys(because)),
    )
    return msgspec.structs.replace(whole, digest=digest(whole))


def to_file(entry: Entry) -> EntryFile:
    """The file of an entry: what `to_entry` reads back."""
    fields = {name: getattr(entry, name) for name in EntryFile.__struct_fields__ if name != "unofficial"}
    return EntryFile(**fields, unofficial="" if entry.official else entry.not_publishable_because[0])


def write(file: EntryFile, path: Path, comment: str = "") -> None:
    """Write an entry file, with a comment of any lines on top; the old one stays until the new is whole.

    Raises `EntryError` when the folder can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(dumps(file, comment), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise EntryError(f"can't write {path}: {error.strerror or error}; choose another folder") from error


def dumps(file: EntryFile, comment: str = "") -> str:
    """An entry file's text: plain values first, then its tables."""
    data: dict[str, Any] = msgspec.to_builtins(file)
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{key} = {_toml(value)}" for key, value in data.items() if not _is_table(key, value)]
    for key, value in data.items():
        if _is_table(key, value):
            empty: tuple[Any, ...] = (
                ("", {}) if key == "decoding" else ()
            )  # its quote, link and sources may be left out
            said = {inner: item for inner, item in value.items() if item not in empty}
            lines += ["", f"[{key}]", *(f"{_key(inner)} = {_toml(item)}" for inner, item in said.items())]
    return "\n".join(lines) + "\n"


def _is_table(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key != "template_arguments"


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else _toml(name)


def _toml(value: Any) -> str:
    """A TOML value. JSON's strings are TOML's basic strings, but for DEL, which TOML wants escaped."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)
