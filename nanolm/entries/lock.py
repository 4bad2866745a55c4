"""Locking an entry: its file is checked against the model at its revision, and open questions answered.

What the model's own artefacts say stands; where the file says otherwise, nothing is changed silently:
the difference is reported and stays as an open question.
"""

import re
from typing import Any, Literal

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import artefacts, decoding, derive, prescribed
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.entry import Entry
from nanolm.entries.entry_file import EntryFile
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError

_COMMIT = re.compile(r"[0-9a-f]{40}")
_COMPARED = (
    *("parameters", "context", "template_sha256", "template_arguments", "add_bos", "stop_ids", "end_markers"),
    *("reasoning", "licence"),
)

CARD_QUESTION = (
    "a person reads the card: if it recommends values for this mode, record its values, its words and "
    "the link (§5)"
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One field after the check."""

    field: str
    outcome: Literal["confirmed", "filled in", "differs", "open"]
    file: Any
    model: Any
    why: str = ""


class Locked(msgspec.Struct, frozen=True, kw_only=True):
    """What a lock found, and the file as it should be now."""

    file: EntryFile
    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        """True when nothing is open any more, so that the entry can be published."""
        return not self.file.unverified


def lock(
    file: EntryFile,
    source: Artefacts,
    edition: Edition | None,
    *,
    card_read: bool = False,
    compare_bytes: bool = False,
) -> Locked:
    """Check a file against its model.

    `card_read` is a person's word that the card recommends no values, for entries whose decoding is not
    from the card. `compare_bytes` reads tied embeddings that are stored twice. Raises `EntryError` when
    the model can't be read.
    """
    derived = derive.from_artefacts(source, file.title, file.mode, prescribed.own_settings(edition))
    findings = [_compare(file, derived, field) for field in _COMPARED]
    findings = [
        _tied(item, source, compare_bytes) if item.field == "parameters" else item for item in findings
    ]
    findings += [_decoding(file, derived, source, card_read), _revision(file, source)]
    filled = {item.field: item.model for item in findings if item.outcome == "filled in"}
    still = {item.field: item.why for item in findings if item.outcome in ("differs", "open")}
    return Locked(
        file=msgspec.structs.replace(file, **filled, unverified=still, warnings=derived.warnings),
        findings=tuple(findings),
    )


def _compare(file: EntryFile, derived: Entry, field: str) -> Finding:
    ours, theirs = getattr(file, field), getattr(derived, field)
    if field in ("template_sha256", "licence") and not ours:
        return Finding(field=field, outcome="filled in", file=ours, model=theirs)
    if field == "stop_ids" and field in file.unverified and set(ours) < set(theirs):
        return Finding(
            field=field, outcome="filled in", file=ours, model=theirs, why=derived.reasons["stop_ids"]
        )
    if _same(field, ours, theirs):
        return Finding(field=field, outcome="confirmed", file=ours, model=theirs)
    why = (
        f"the model says {_short(theirs)} ({derived.reasons.get(field, 'derived')}), the file {_short(ours)}"
    )
    return Finding(field=field, outcome="differs", file=ours, model=theirs, why=why)


def _same(field: str, ours: Any, theirs: Any) -> bool:
    if field in ("stop_ids", "end_markers"):
        return set(ours) >= set(theirs) if field == "end_markers" else set(ours) == set(theirs)
    if field == "licence":
        return str(theirs).lower() in ("", str(ours).lower()) or str(theirs).lower() in str(ours).lower()
    return bool(ours == theirs)


def _tied(found: Finding, source: Artefacts, compare_bytes: bool) -> Finding:
    count = audit(source, hashes=False, compare_bytes=compare_bytes or None)
    if count.tied != "bytes not compared":
        return found if count.parameters == found.model else msgspec.structs.replace(found, outcome="differs")
    why = "tied embeddings are stored twice and their bytes were not compared: add --compare-bytes"
    return msgspec.structs.replace(found, outcome="open", why=why) if found.outcome == "confirmed" else found


def _decoding(file: EntryFile, derived: Entry, source: Artefacts, card_read: bool) -> Finding:
    ours, theirs = file.decoding, derived.decoding

    def finding(outcome: Literal["confirmed", "differs", "open"], why: str = "") -> Finding:
        return Finding(field="decoding", outcome=outcome, file=ours, model=theirs, why=why)

    if ours.source == "model card":
        try:
            readme = artefacts.text(source, "README.md") or ""
            decoding.check_quote(readme, ours, f"README.md of {source.where}")
        except EntryError as error:
            return finding("differs", str(error))
        return finding("confirmed", "the quoted words stand in README.md")
    if (ours.source, ours.values) != (theirs.source, theirs.values):
        why = (
            f"the model's files give {theirs.source} {_short(theirs.values)}, the file {_short(ours.values)}"
        )
        return finding("differs", why)
    advice = decoding.card_advice(artefacts.text(source, "README.md") or "")
    if advice and not card_read:
        return finding("open", f"{advice}; or lock with --card-read when it recommends none")
    if not card_read and "decoding" in file.unverified and CARD_QUESTION in file.unverified["decoding"]:
        return finding("open", CARD_QUESTION + ", or lock with --card-read when it recommends none")
    return finding("confirmed", derived.reasons["decoding"])


def _revision(file: EntryFile, source: Artefacts) -> Finding:
    found = source.revision or ""
    if not file.revision:
        return Finding(field="revision", outcome="filled in", file="", model=found)
    if file.revision == found and _COMMIT.fullmatch(found):
        return Finding(field="revision", outcome="confirmed", file=file.revision, model=found)
    why = f"the hub resolves it to {found}, the file says {file.revision}; a new revision is a new entry"
    return Finding(field="revision", outcome="differs", file=file.revision, model=found, why=why)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 160 else text[:157] + "…"
