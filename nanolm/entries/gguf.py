"""What a GGUF file says of itself: template, context, tokens, parameter count. Never its weights.

A small reader of the header (GGUF versions 2 and 3, little endian), total on odd files: whatever is
wrong with one is an `EntryError` that names the file.
"""

import functools
import mmap
import os
import struct
from pathlib import Path
from typing import Any

import msgspec

from nanolm.errors import EntryError

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED = 3, 4
"""Values of `tokenizer.ggml.token_type`."""
_FLOAT_FILE_TYPES = {0: "F32", 1: "F16", 32: "BF16"}
"""Values of `general.file_type` whose weights are not quantised."""
_MOST_DEPTH = 4


class GGUF(msgspec.Struct, frozen=True, kw_only=True):
    """A GGUF file's metadata and tensor shapes."""

    path: str
    metadata: dict[str, Any]
    tensors: dict[str, tuple[int, ...]]
    """Name to shape; element counts are of the weights themselves, quantised or not."""

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def context(self) -> int:
        """Context window in tokens, 0 when the file does not say."""
        value = self.metadata.get(f"{self.architecture}.context_length", 0)
        return value if isinstance(value, int) else 0

    @property
    def template(self) -> str | None:
        """The official chat template's text, None for a base model."""
        value = self.metadata.get("tokenizer.chat_template")
        return value if isinstance(value, str) and value else None

    @property
    def parameters(self) -> int:
        """Elements of all tensors but rope tables, which are buffers."""
        return sum(_elements(shape) for name, shape in self.tensors.items() if not name.startswith("rope_"))

    @property
    def quantisation(self) -> str:
        """Empty when the weights are floats of 16 or 32 bits; else the file's own word for it."""
        kind = self.metadata.get("general.file_type")
        return "" if kind in _FLOAT_FILE_TYPES else f"general.file_type {kind}"

    @property
    def tokens(self) -> list[str]:
        """Token texts by id."""
        value = self.metadata.get("tokenizer.ggml.tokens")
        return value if isinstance(value, list) else []

    def token_id(self, role: str) -> int | None:
        """The id of `bos`, `eos`, `eot`, … or None when the file names none."""
        value = self.metadata.get(f"tokenizer.ggml.{role}_token_id")
        return value if isinstance(value, int) and 0 <= value < len(self.tokens) else None

    def special_tokens(self) -> dict[str, str]:
        """What a template may call `bos_token`, `eos_token`, …"""
        roles = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
        ids = {name: self.token_id(role) for role, name in roles.items()}
        return {name: self.tokens[token] for name, token in ids.items() if token is not None}

    def added_tokens(self) -> dict[str, int]:
        """Control and user-defined tokens: text to id."""
        types = self.metadata.get("tokenizer.ggml.token_type")
        kinds = types if isinstance(types, list) else []
        pairs = zip(self.tokens, kinds, strict=False)
        return {text: token for token, (text, kind) in enumerate(pairs) if kind in (_CONTROL, _USER_DEFINED)}

    @property
    def adds_bos(self) -> bool:
        """The tokenizer's own flag (ruling 67); false where the file says nothing."""
        return self.metadata.get("tokenizer.ggml.add_bos_token") is True


class _Cursor:
    """Reads a header from the front; anything that runs past the end of the file is an error."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data, self.path, self.at = data, path, 0

    def scalar(self, form: str) -> Any:
        size = struct.calcsize(form)
        (value,) = struct.unpack(form, self.take(size))
        return value

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise _broken(self.path, f"its header runs past the end of the file ({len(self.data):,} bytes)")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def text(self) -> str:
        return self.take(self.scalar("<Q")).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < _MOST_DEPTH:
            inner, count = self.scalar("<I"), self.scalar("<Q")
            if inner in _SCALARS:
                form = _SCALARS[inner]
                data = self.take(struct.calcsize(form) * count)
                return [value for (value,) in struct.iter_unpack(form, data)]
            return [self.value(inner, depth + 1) for _ in range(count)]
        raise _broken(self.path, f"it holds a value of the unknown type {kind}")


def _broken(path: Path, what: str) -> EntryError:
    return EntryError(f"{path} is no readable GGUF file: {what}; get the file again")


def _elements(shape: tuple[int, ...]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def read(path: str | Path) -> GGUF:
    """The header of a GGUF file. Raises `EntryError` when the file is missing or is none.

    A file is read once per process, unless it changes.
    """
    file = Path(path)
    try:
        status = os.stat(file)
    except OSError as error:
        raise EntryError(f"no GGUF file at {file}: {error.strerror or error}") from error
    return _read(file, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: Path, size: int, _changed: int) -> GGUF:
    if size < 24:
        raise _broken(path, f"it holds {size} bytes, fewer than a header has")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        cursor = _Cursor(data, path)
        magic, version = cursor.take(4), cursor.scalar("<I")
        if magic != b"GGUF" or version not in (2, 3):
            raise _broken(path, f"it begins with {magic!r}, version {version}; expected b'GGUF', 2 or 3")
        tensors, values = cursor.scalar("<Q"), cursor.scalar("<Q")
        metadata = {}
        for _ in range(values):
            key = cursor.text()
            metadata[key] = cursor.value(cursor.scalar("<I"))
        shapes = {}
        for _ in range(tensors):
            name, rank = cursor.text(), cursor.scalar("<I")
            shapes[name] = tuple(cursor.scalar("<Q") for _ in range(rank))
            cursor.take(4 + 8)  # its type and its offset
    return GGUF(path=str(path), metadata=metadata, tensors=shapes)
