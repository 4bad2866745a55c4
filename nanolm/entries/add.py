"""Adding an entry: its file is written with all that can be derived; the card stays a person's task."""

from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import derive, entry_file, prescribed, reference
from nanolm.entries.entry import Entry
from nanolm.entries.entry_file import EntryFile
from nanolm.entries.lock import CARD_QUESTION
from nanolm.errors import EntryError, UsageError

_COMMENT = """An entry, derived from the model's own artefacts. Fields: docs/entries.md.
Read the model card at this revision: if it recommends values for this mode in its running text, set
decoding.source = "model card", the values, decoding.sources, decoding.quote (its words) and
decoding.link; then `nanolm entry lock` checks the quote and closes the question."""


def add(target: str, edition: Edition | None, folder: Path, *, supersedes: str | None = None) -> list[Path]:
    """Write the entry files of a model into `folder`: two for a hybrid, else one.

    `supersedes` names the entry that an older revision of the model has; its file stays and says by what
    it is superseded (§10). Raises `EntryError` when a file is there already, `UsageError` for a name that
    does not exist; nothing is written then.
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
    old = _old(supersedes, edition, entries) if supersedes else None
    paths = [folder / f"{entry.name}.toml" for entry in entries]
    for path in paths:
        if path.exists():
            raise EntryError(
                f"{path} is there already; entries are never overwritten: move it, or use another --to"
            )
    for entry, path in zip(entries, paths, strict=True):
        entry_file.write(_file(entry), path, _COMMENT)
    if old is not None:
        path, file = old
        new = next((entry for entry in entries if entry.mode == file.mode), first)
        _supersede(path, file, new.name)
    return paths


def _file(entry: Entry) -> EntryFile:
    question = CARD_QUESTION if entry.artefact == "transformers" else ""
    file = entry_file.to_file(entry)
    from_hub = entry.artefact == "transformers" and bool(entry.repo)
    return msgspec.structs.replace(
        file,
        unofficial="" if from_hub else (file.unofficial or derive.UNOFFICIAL),
        unverified={"decoding": question} if question else {},
    )


def _old(name: str, edition: Edition | None, entries: list[Entry]) -> tuple[Path, EntryFile]:
    path = reference.file_of(name, edition)
    if any(entry.name == name for entry in entries):
        raise UsageError(f"the new entry would be called {name} as well; rename one of them first")
    return path, entry_file.read(path)


def _supersede(path: Path, file: EntryFile, by: str) -> None:
    text = path.read_text(encoding="utf-8")
    comment = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    entry_file.write(msgspec.structs.replace(file, superseded_by=by), path, comment)
