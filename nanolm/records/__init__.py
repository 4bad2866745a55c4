"""The outputs of an entry: append-only, never edited, never lost."""

from nanolm.records.index import Key
from nanolm.records.record import Record

__all__ = ["Key", "Record"]
