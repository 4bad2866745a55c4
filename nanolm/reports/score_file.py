"""`score.json`: the same bytes for the same score."""

from pathlib import Path

import msgspec

from nanolm.errors import ScoreError
from nanolm.schema import EntryScore

FILE = "score.json"
PARTIAL = "score.partial.json"
"""Where a partial run's score goes when a complete one is there."""


def place(folder: Path, score: EntryScore) -> Path:
    """Where a score goes in the folder of its run: a partial score never replaces a complete one."""
    path = folder / FILE
    if score.complete:
        return path
    try:
        there = read(path)
    except (FileNotFoundError, ScoreError):
        return path
    kept = there.complete and there.edition_digest == score.edition_digest
    return folder / PARTIAL if kept else path


def write(folder: Path, score: EntryScore) -> Path:
    """Write it to its `place`."""
    path = place(folder, score)
    temporary = path.with_suffix(".part")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(score), indent=2) + b"\n")
    temporary.replace(path)
    return path


def read(path: Path) -> EntryScore:
    """Raises `FileNotFoundError`, or `ScoreError` for a file that holds no score."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=EntryScore)
    except msgspec.DecodeError as error:
        raise ScoreError(f"{path} holds no score ({error}); run `nanolm rescore` to write it anew") from None
