"""The entries that are no models: they confirm the scoring (protocol §10, checks)."""

import msgspec

from nanolm.entries.digest import digest
from nanolm.entries.entry import Entry

TITLES = {
    "oracle": "Gold oracle",
    "constant": "Best constant answer",
    "random": "Uniform random guessing",
}
"""Name to title; the names are reserved in every edition."""

_WHY = "a synthetic entry is a check of the scoring, not a model"


def synthetic(name: str) -> Entry:
    """The entry `oracle`, `constant` or `random`: one sample, no template, no engine.

    Context is without limit for all purposes (2**31 - 1 tokens). Raises KeyError for other names.
    """
    entry = Entry(
        name=name,
        title=TITLES[name],
        artefact="synthetic",
        context=2**31 - 1,
        not_publishable_because=(_WHY,),
    )
    return msgspec.structs.replace(entry, digest=digest(entry))
