"""Where each output of a record stands, and under which conditions it was made.

134,000 outputs take about 40 MB: texts stay on the disk, the numbers in flat arrays.
"""

from array import array
from collections.abc import Iterator

from nanolm.records.lines import Header
from nanolm.schema import Decoding

Key = tuple[str, str, int]
"""Benchmark, item, sample."""

PLAIN = -1
"""`Place.frame` of a line in `outputs.jsonl`."""


def fingerprint(entry: str, seed: int, prompt_digest: str, decoding: Decoding) -> int:
    """The conditions of an output as one number; compared within one process only."""
    values = (decoding.temperature, decoding.top_p, decoding.top_k, decoding.min_p)
    return hash((entry, seed, prompt_digest, values, decoding.repetition_penalty))


class Index:
    """Key to row; a row's numbers in arrays."""

    def __init__(self) -> None:
        self._rows: dict[Key, int] = {}
        self._frames = array("q")
        self._offsets = array("q")
        self._lengths = array("L")
        self._conditions = array("q")
        self._max_tokens = array("q")
        self._prompt_tokens = array("L")
        self._errors: set[int] = set()
        self._words: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: Key) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def add(self, header: Header, frame: int, offset: int, length: int) -> bool:
        """Take a line in. False when its output is there already.

        An output that ended in an error is replaced by a later one: it is asked again.
        """
        benchmark = self._words.setdefault(header.benchmark, header.benchmark)
        item = self._words.setdefault(header.item, header.item)
        key = (benchmark, item, header.sample)
        old = self._rows.get(key)
        if old is not None and old not in self._errors:
            return False
        row = len(self._offsets)
        self._frames.append(frame)
        self._offsets.append(offset)
        self._lengths.append(length)
        self._conditions.append(fingerprint(header.entry, header.seed, header.prompt_digest, header.decoding))
        self._max_tokens.append(header.max_tokens)
        self._prompt_tokens.append(header.prompt_tokens)
        if header.finish_reason == "error":
            self._errors.add(row)
        self._rows[key] = row
        return True

    def place(self, key: Key) -> tuple[int, int, int] | None:
        """Frame (or `PLAIN`), offset and length in bytes."""
        row = self._rows.get(key)
        if row is None:
            return None
        return self._frames[row], self._offsets[row], self._lengths[row]

    def made_under(self, key: Key) -> tuple[int, int, int]:
        """Fingerprint of the conditions, `max_tokens`, prompt tokens."""
        row = self._rows[key]
        return self._conditions[row], self._max_tokens[row], self._prompt_tokens[row]

    def is_error(self, key: Key) -> bool:
        """Whether the output is only an engine's failure."""
        return self._rows.get(key) in self._errors
