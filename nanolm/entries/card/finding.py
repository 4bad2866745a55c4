"""One line of what a card's check finds."""

from typing import Literal

import msgspec

Outcome = Literal["holds", "differs", "missing", "not checked"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a card should state, and whether it is so."""

    what: str
    outcome: Outcome
    stated: str = ""
    found: str = ""
    """What the artefact, or our own measurement, says."""
    why: str = ""
    line: int | None = None
    """Of the card, 1-based."""
    times: int = 1
    """How often the card states it; `line` is the first."""
