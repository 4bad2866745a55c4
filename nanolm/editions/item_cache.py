"""Items and prompts on disk: quick to read, never trusted when torn, safe for several processes.

    <cache>/items/<edition folder>/<benchmark>-<key>.items    16 bytes of checksum, then MessagePack
    <cache>/items/<edition folder>/<benchmark>-<key>.ids      the same for the ids alone

The key is a digest of all that decides the items (`nanolm.editions.items`), so a stale file is never
found; a torn one fails its checksum and is built again.
"""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from nanolm.schema import Item, Prompt
from nanolm.sources.cache import full_disk, write_atomically

T = TypeVar("T")

_CHECKSUM = 16
_KEPT = 3


class _Stored(msgspec.Struct, array_like=True):
    """Label lists are shared by all items of a benchmark: stored once, put back when read."""

    label_lists: list[tuple[str, ...]]
    label_list_of: list[int]
    """For each item the index of its label list, -1 for none."""
    items: list[Item]
    texts: list[str]
    digests: list[str]


def read_ids(path: Path) -> tuple[str, ...] | None:
    """The ids, or None when the file is missing or torn."""
    return _read(path, tuple[str, ...])


def write_ids(path: Path, ids: Sequence[str]) -> None:
    """Write the ids' file in one piece."""
    _write(path, tuple(ids))


def read_items(path: Path) -> tuple[tuple[Item, ...], tuple[Prompt, ...]] | None:
    """Items and their prompts, or None when the file is missing or torn."""
    stored = _read(path, _Stored)
    if stored is None:
        return None
    items = stored.items
    for index, (item, labels) in enumerate(zip(items, stored.label_list_of, strict=True)):
        if labels >= 0:
            items[index] = msgspec.structs.replace(item, labels=stored.label_lists[labels])
        elif item.answer_type == "tool_calls":
            items[index] = msgspec.structs.replace(item, gold=json.loads(item.gold))
    prompts = tuple(
        Prompt(item.benchmark, item.id, text, digest)
        for item, text, digest in zip(items, stored.texts, stored.digests, strict=True)
    )
    return tuple(items), prompts


def write_items(path: Path, items: Sequence[Item], prompts: Sequence[Prompt]) -> None:
    """Write items and prompts in one piece. Raises `UnicodeEncodeError` for text that is no text."""
    label_lists: dict[tuple[str, ...], int] = {}
    label_list_of: list[int] = []
    stored: list[Item] = []
    for item in items:
        if item.labels:
            label_list_of.append(label_lists.setdefault(item.labels, len(label_lists)))
            item = msgspec.structs.replace(item, labels=())
        else:
            label_list_of.append(-1)
            if item.answer_type == "tool_calls":
                # As JSON text: argument values may be integers that MessagePack can't hold.
                item = msgspec.structs.replace(item, gold=json.dumps(item.gold))
        stored.append(item)
    _write(
        path,
        _Stored(
            list(label_lists), label_list_of, stored, [p.text for p in prompts], [p.digest for p in prompts]
        ),
    )


def forget_old(folder: Path, benchmark: str) -> None:
    """Keep the newest few of a benchmark's files, so that changed code does not fill the disk."""
    for suffix in (".items", ".ids"):
        # The key is 16 hex digits: a benchmark whose name starts with this one's name is another.
        found = [
            path for path in folder.glob(f"{benchmark}-*{suffix}") if len(path.stem) == len(benchmark) + 17
        ]
        with contextlib.suppress(OSError):
            found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
            for path in found[_KEPT:]:
                path.unlink(missing_ok=True)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = memoryview(data)[_CHECKSUM:]
    if _checksum(payload) != data[:_CHECKSUM]:
        return None
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _write(path: Path, value: object) -> None:
    payload = msgspec.msgpack.encode(value)
    with full_disk(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _checksum(memoryview(payload)) + payload)


def _checksum(payload: memoryview) -> bytes:
    return hashlib.blake2b(payload, digest_size=_CHECKSUM).digest()
