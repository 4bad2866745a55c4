"""Adding an entry: its file is written with all that can be derived; the card stays a person's task."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import derive, entry_file, prescribed, reference
from nanolm.entries.entry import Entry
from nanolm.entries.entry_file import EntryFile
from nanolm.entries.lock import CARD_QUESTION
from nanolm.errors import EntryError, UsageError

_DERIVED = "An entry, derived from the model's own artefacts. Fields: docs/entries.md.\n"
_HUB = """Read the model card at this revision: if it recommends values for this mode in its running text, set
decoding.source = "model card", the values, decoding.sources, decoding.quote (its words) and
decoding.link; then `nanolm entry lock` checks the quote and closes the question."""
_LOCAL = """The model is on this machine alone, so the entry is unofficial. If its maker's card recommends
values for this mode, record them with their quote (docs/entries.md); else nothing needs to be done."""


def add(
    target: str, edition: Edition | None, folder: Path, *, supersedes: Sequence[str] = ()
) -> list[tuple[Path, Entry]]:
    """Write the entry files of a model into `folder`: two for a hybrid, else one, each with its entry.

    `supersedes` names the entries that an older revision of the model has, one of each mode; their files
    stay and say by what they are superseded (§10). A new entry whose name one of them has gets the first
    digits of its revision behind it. Raises `EntryError` when a file is there already, `UsageError` for a
    name that does not exist or an entry of another mode; nothing is written then.
    """
    edition = prescribed.own_settings(edition)
    first = reference.resolve(target, edition)
    if first.official or first.artefact == "synthetic":
        raise UsageError(
            f"{target!r} is an entry already; expected a model folder, .gguf or hub/repo@revision"
        )
    entries = [first]
    if first.reasons.get("mode", "").startswith("hybrid"):
        other = "no-think" if first.mode == "think" else "think"
        entries.append(reference.resolve(f"{target.partition('#')[0]}#{other}", edition))
    olds = [_old(name, edition, entries) for name in supersedes]
    taken = {file.name for _, file in olds}
    entries = [_renamed(entry) if entry.name in taken else entry for entry in entries]
    paths = [folder / f"{entry.name}.toml" for entry in entries]
    for path in paths:
        if path.exists():
            raise EntryError(
                f"{path} is there already; entries are never overwritten: move it, or use another folder (-o)"
            )
    for entry, path in zip(entries, paths, strict=True):
        entry_file.write(_file(entry), path, _DERIVED + (_HUB if _on_hub(entry) else _LOCAL))
    entries = [_as_written(entry, edition) for entry in entries]
    for old, file in olds:
        new = next(entry for entry in entries if entry.mode == file.mode)
        _supersede(old, file, new.name)
    return list(zip(paths, entries, strict=True))


def next_step(path: Path, entry: Entry) -> str:
    """What a person does with a file that `add` wrote."""
    if _on_hub(entry):
        return f"next: read the model card at this revision, then nanolm entry lock {path}"
    return f"next: run it with --entry={path} (a model that is not on the hub stays unofficial)"


def _on_hub(entry: Entry) -> bool:
    return entry.artefact == "transformers" and bool(entry.repo)


def _file(entry: Entry) -> EntryFile:
    file = entry_file.to_file(entry)
    from_hub = _on_hub(entry)
    return msgspec.structs.replace(
        file,
        unofficial="" if from_hub else (file.unofficial or derive.UNOFFICIAL),
        unverified={"decoding": CARD_QUESTION} if from_hub else {},
    )


def _as_written(entry: Entry, edition: Edition | None) -> Entry:
    """The entry as its file has it, with the reasons that no file keeps."""
    written = entry_file.to_entry(_file(entry), edition)
    return msgspec.structs.replace(written, reasons=entry.reasons)


def _old(name: str, edition: Edition | None, entries: list[Entry]) -> tuple[Path, EntryFile]:
    path = reference.file_of(name, edition)
    file = entry_file.read(path)
    new = entries[0]
    if file.mode not in [entry.mode for entry in entries]:
        raise UsageError(f"{name} is a {file.mode} entry, {new.title} has none; it can't supersede it")
    if (file.repo, file.revision) == (new.repo, new.revision):
        raise UsageError(f"{name} is this very revision ({new.revision}); there is nothing to supersede")
    return path, file


def _renamed(entry: Entry) -> Entry:
    return msgspec.structs.replace(entry, name=f"{entry.name}-{entry.revision[:7]}")


def older(entry: Entry, edition: Edition | None) -> list[str]:
    """The edition's entries of the same repository and mode at another revision, not superseded yet."""
    if not _on_hub(entry):
        return []
    known = [entry_file.read(reference.file_of(name, edition)) for name in reference.names(edition)]
    return [
        file.name
        for file in known
        if (file.repo, file.mode) == (entry.repo, entry.mode)
        and file.revision != entry.revision
        and not file.superseded_by
    ]


def _supersede(path: Path, file: EntryFile, by: str) -> None:
    text = path.read_text(encoding="utf-8")
    comment = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    entry_file.write(msgspec.structs.replace(file, superseded_by=by), path, comment)
