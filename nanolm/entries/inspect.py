"""What the commands do to a model: audit it, and lock its entry file."""

import re
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import artefacts, eligibility, entry_file, lock, parameters, reference
from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.errors import EntryError, UsageError


class Inspection(msgspec.Struct, frozen=True):
    """A model's count and the rules of §2."""

    audit: parameters.Audit
    eligibility: eligibility.Eligibility


def inspect(target: str, edition: Edition, *, compare_bytes: bool = False) -> Inspection:
    """Audit a model folder, a hub repository, or an entry's model. Raises `EntryError`."""
    source = source_of(target, edition)
    count = parameters.audit(source, compare_bytes=compare_bytes or None)
    return Inspection(count, eligibility.check(source, count, edition.parameter_limit, edition.base_models))


def source_of(target: str, edition: Edition, *, card: bool = False) -> Artefacts:
    """The artefacts of a model folder, a hub repository or an entry's model. Raises `EntryError`.

    `card`: they are to be held against the model's card, not audited; errors say so.
    """
    own = "name the model's own repository or folder"
    path = Path(target or "nothing").expanduser()
    reference.check_path(target)
    if path.is_dir():
        return Folder(path)
    if path.suffix == ".gguf":
        done = f", and a card is held against these: {own}" if card else ": audit the model's own repository"
        raise EntryError(
            f"{target} is a GGUF file; parameters are counted from safetensors (§2){done} "
            "(nanolm entry show describes the file)"
        )
    if reference.is_repository(target):
        from nanolm.entries import hub

        repository, _, revision = target.partition("@")
        return hub.reached_or_cached(repository, revision or None)
    entry = reference.resolve(target, edition)
    if entry.artefact != "transformers":
        if entry.artefact == "synthetic":
            nothing = "no card to check" if card else "nothing to audit"
            raise EntryError(f"{target} is a synthetic entry, no model: there is {nothing}")
        what = "a card is held against" if card else "an audit counts"
        raise EntryError(
            f"the weights of {target} are {entry.artefact.upper()}; {what} the safetensors of a transformers "
            f"model (§2): {own} (nanolm entry show {target} describes the entry)"
        )
    return artefacts.of(entry)


def lock_file(
    name: str,
    edition: Edition,
    *,
    revision: str | None = None,
    card_read: bool = False,
    compare_bytes: bool = False,
) -> tuple[Path, lock.Locked]:
    """Check an entry's file against the hub and write what was confirmed. Raises `EntryError`."""
    from nanolm.entries import hub

    path = reference.file_of(name, edition)
    file = entry_file.read(path)
    if file.artefact != "transformers" or not file.repo:
        raise UsageError(f"{name} is not on the hub; only entries of hub repositories are locked")
    wanted = revision or file.revision
    if not re.fullmatch(r"[0-9a-f]{40}", wanted):
        question = file.unverified.get("revision", "")
        raise UsageError(
            f"{name} needs a commit of 40 hex digits: nanolm entry lock {name} --revision=COMMIT"
            + (f" ({question})" if question else "")
        )
    if file.revision and revision and revision != file.revision:
        raise UsageError(
            f"{name} is pinned to {file.revision}; a new revision is a new entry: "
            f"nanolm entry add {file.repo}@{revision} --supersedes={name}"
        )
    source = hub.repository(file.repo, wanted)
    locked = lock.lock(file, source, edition, card_read=card_read, compare_bytes=compare_bytes)
    comment = "\n".join(
        line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")
    )
    entry_file.write(locked.file, path, comment)
    return path, locked
