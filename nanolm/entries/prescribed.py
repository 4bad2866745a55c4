"""What an edition prescribes for every entry: bare text or the template, base models, its decoding."""

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries.decoding import FIELDS
from nanolm.entries.entry import Entry, EntryDecoding
from nanolm.errors import EntryError


def takes_base_models(edition: Edition | None) -> bool:
    """True when a model without a chat template may answer (`base_models` in edition.toml)."""
    return edition is not None and edition.base_models


def is_bare(edition: Edition | None) -> bool:
    """True when chat models are asked with the bare text too (`prompting = "bare"` in edition.toml)."""
    return edition is not None and edition.prompting == "bare"


def own_settings(edition: Edition | None) -> Edition | None:
    """The edition without its decoding: an entry's file holds the model's own settings."""
    return None if edition is None else msgspec.structs.replace(edition, decoding=None)


def apply(entry: Entry, edition: Edition | None) -> Entry:
    """The entry as the edition asks it; as it is where the edition prescribes nothing.

    Raises `EntryError` for an entry of the mode `base` in an edition for chat models only.
    """
    if edition is None:
        return entry
    if is_bare(edition):
        entry = _bare(entry, edition)
    elif entry.mode == "base" and not edition.base_models:
        raise EntryError(
            f"{entry.name} is a base model (mode = base), which can't be an entry of {edition.name}: it is "
            "for chat models only (§2); take the chat or instruct variant"
        )
    return entry if edition.decoding is None else _decoding(entry, edition)


def _bare(entry: Entry, edition: Edition) -> Entry:
    """Without template and all that belongs to it. BOS follows the tokenizer's own rule (`renderer`)."""
    if entry.mode == "base":
        return entry
    return msgspec.structs.replace(
        entry,
        mode="base",
        template_arguments={},
        template_sha256="",
        add_bos=False,
        reasoning=None,
        reasons={**entry.reasons, "mode": f"{edition.name} asks every model with the bare text"},
    )


def _decoding(entry: Entry, edition: Edition) -> Entry:
    assert edition.decoding is not None
    return msgspec.structs.replace(
        entry,
        decoding=EntryDecoding(
            values=edition.decoding, source="edition", sources=dict.fromkeys(FIELDS, "edition")
        ),
        reasons={**entry.reasons, "decoding": f"{edition.name} prescribes it for every entry"},
    )
