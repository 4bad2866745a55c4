"""An entry's identity: one digest over all that decides its outputs, and nothing else."""

import hashlib

import msgspec

from nanolm.entries.entry import Entry


def digest(entry: Entry) -> str:
    """SHA-256 over what decides the entry's outputs, the first 16 hex digits.

    In it: artefact, repository, revision, mode, template and its arguments, BOS, stop ids, context
    (it bounds the budget) and decoding values. Not in it: the edition, name, title, local path,
    licence, and what only matters after the output is written (end markers, reasoning delimiters), so
    that a better reading of an output never asks for a new one.
    """
    parts = {
        "artefact": entry.artefact,
        "repo": entry.repo,
        "revision": entry.revision,
        "mode": entry.mode,
        "template": entry.template_sha256,
        "template_arguments": entry.template_arguments,
        "add_bos": entry.add_bos,
        "stop_ids": sorted(entry.stop_ids),
        "context": entry.context,
        "decoding": entry.decoding.values,
    }
    if entry.artefact == "synthetic":
        parts["name"] = entry.name
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
