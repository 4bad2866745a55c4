"""A complete record's compressed form: zstd in frames of about a megabyte.

`zstdcat outputs.jsonl.zst | jq` reads it as one stream; a single output is read by decompressing
its frame only.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FRAME = 1 << 20
"""Bytes of text in a frame."""
_SLICE = 1 << 18
_LEVEL = 6

__all__ = ["FRAME", "frames", "read", "write", "zstd"]


def write(path: Path, lines: Iterable[bytes]) -> None:
    """Write the lines to `path` and to the disk itself; the caller renames it into place."""
    with path.open("wb") as file:
        buffer: list[bytes] = []
        size = 0
        for line in lines:
            buffer.append(line)
            size += len(line)
            if size >= FRAME:
                file.write(zstd.compress(b"".join(buffer), _LEVEL))
                buffer, size = [], 0
        if buffer:
            file.write(zstd.compress(b"".join(buffer), _LEVEL))
        file.flush()
        os.fsync(file.fileno())


def frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each frame's place in the file and its text. One frame is in memory at a time.

    Raises `zstd.ZstdError` on bytes that are not zstd, `EOFError` on a cut file.
    """
    with path.open("rb") as file:
        place = 0
        pending = b""
        while True:
            pending = pending or file.read(_SLICE)
            if not pending:
                return
            one = zstd.ZstdDecompressor()
            parts = []
            used = 0
            while True:
                parts.append(one.decompress(pending))
                used += len(pending)
                if one.eof:
                    break
                pending = file.read(_SLICE)
                if not pending:
                    raise EOFError(f"{path} ends in the middle of a frame")
            pending = one.unused_data
            yield place, b"".join(parts)
            place += used - len(pending)


def read(path: Path, place: int) -> bytes:
    """The text of the frame at `place`."""
    with path.open("rb") as file:
        file.seek(place)
        one = zstd.ZstdDecompressor()
        parts = []
        while not one.eof:
            data = file.read(_SLICE)
            if not data:
                raise EOFError(f"{path} ends in the middle of a frame")
            parts.append(one.decompress(data))
        return b"".join(parts)
