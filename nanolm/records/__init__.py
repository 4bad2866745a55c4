"""The outputs of an entry: append-only, never edited, never lost."""

from nanolm.records.adopt import adopt
from nanolm.records.index import Key
from nanolm.records.record import Record, is_recorded

__all__ = ["Key", "Record", "adopt", "is_recorded"]
