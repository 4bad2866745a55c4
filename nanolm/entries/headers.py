"""Safetensors headers: which tensors a model stores, without reading a single weight (protocol §2)."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from nanolm.entries import artefacts
from nanolm.entries.artefacts import Artefacts
from nanolm.errors import EntryError

_BITS = {
    **dict.fromkeys(("C64", "F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
_MOST_HEADER = 100_000_000
"""Bytes; the format's own limit."""
_POINTER = b"version https://git-lfs.github.com/spec/"
"""What stands in the place of a weight file in a clone without Git LFS."""
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_INDEX = "model.safetensors.index.json"
_OTHER_WEIGHTS = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".npz")


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor as a header names it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    start: int
    """First byte in the file."""
    end: int

    @property
    def elements(self) -> int:
        product = 1
        for size in self.shape:
            product *= size
        return product


def read(source: Artefacts) -> list[Tensor]:
    """All tensors of a model, from one file or all shards.

    Raises `EntryError` when there are no safetensors, a shard is missing, or a header is corrupt.
    """
    found: dict[str, Tensor] = {}
    for file in files(source):
        for tensor in header(source, file):
            if tensor.name in found:
                raise EntryError(
                    f"{source.where} stores {tensor.name} twice, in {found[tensor.name].file} and {file}; "
                    "expected each tensor once"
                )
            found[tensor.name] = tensor
    _check_index(source, found)
    if not found:
        raise EntryError(f"the safetensors of {source.where} hold no tensor; get the model again")
    return list(found.values())


def files(source: Artefacts) -> list[str]:
    """The weight files in order, as transformers would pick them. Raises `EntryError` when one is missing."""
    names = source.names()
    if "model.safetensors" in names:
        return ["model.safetensors"]
    index = artefacts.table(source, _INDEX)
    if index is not None:
        return _present(source, sorted(set(_weight_map(source, index).values())))
    stored = sorted(name for name in names if name.endswith(".safetensors"))
    shards = [match for name in stored if (match := _SHARD.fullmatch(name))]
    if shards:
        stem, count = shards[0][1], shards[0][3]
        return _present(source, [f"{stem}-{part:05}-of-{count}.safetensors" for part in _parts(count)])
    if "adapter_config.json" in names:
        raise EntryError(
            f"{source.where} is an adapter (adapter_config.json): it holds no whole model; expected a chat "
            "model with its own weights (§2): merge the adapter first"
        )
    if len(stored) == 1:
        return stored
    raise _none(source, names, stored)


def _parts(count: str) -> range:
    return range(1, int(count) + 1)


def _none(source: Artefacts, names: Iterable[str], stored: list[str]) -> EntryError:
    if stored:
        return EntryError(
            f"{source.where} holds several safetensors files without {_INDEX}: {', '.join(stored[:4])}; "
            "expected model.safetensors, or shards with their index"
        )
    others = sorted(name for name in names if name.endswith(_OTHER_WEIGHTS))
    if others:
        return EntryError(
            f"{source.where} holds {', '.join(others[:3])} but no safetensors; parameters are counted from "
            "safetensors (§2): save the model again with safe_serialization"
        )
    if any(name.endswith(".gguf") for name in names):
        return EntryError(f"{source.where} holds GGUF files only; give the .gguf file itself")
    return EntryError(f"{source.where} holds no safetensors file; expected a model folder with its weights")


def _weight_map(source: Artefacts, index: dict[str, Any]) -> dict[str, str]:
    found = index.get("weight_map")
    if not isinstance(found, dict) or not all(isinstance(file, str) for file in found.values()):
        raise EntryError(f"{_INDEX} of {source.where} has no weight_map from tensor to file")
    return found


def _present(source: Artefacts, wanted: list[str]) -> list[str]:
    missing = [name for name in wanted if name not in source.names()]
    if missing:
        raise EntryError(
            f"{source.where} lacks {len(missing)} of its {len(wanted)} shards: "
            f"{', '.join(map(_name, missing[:3]))}; get the model again"
        )
    return wanted


def _check_index(source: Artefacts, found: dict[str, Tensor]) -> None:
    if "model.safetensors" in source.names():
        return
    index = artefacts.table(source, _INDEX)
    if index is None:
        return
    absent = [name for name in _weight_map(source, index) if name not in found]
    if absent:
        raise EntryError(
            f"{_INDEX} of {source.where} names {len(absent)} tensor(s) that no shard stores, e.g. "
            f"{absent[0]}; get the model again"
        )


def header(source: Artefacts, file: str) -> list[Tensor]:
    """The tensors of one file; `__metadata__` is none. Reads the header only."""
    size = source.size(file)
    where = f"{file} of {source.where}"
    if size < 8:
        raise EntryError(f"{where} holds {size} bytes, fewer than a safetensors header; get it again")
    first = source.read(file, 0, 8)
    if first == _POINTER[:8] and source.read(file, 0, len(_POINTER)) == _POINTER:
        raise EntryError(f"{where} is a Git LFS pointer, not the weights; get them with `git lfs pull`")
    length = int.from_bytes(first, "little")
    if length > size - 8:
        raise EntryError(
            f"{where} says its header holds {length:,} bytes, but the file holds {size:,}; it is cut off or "
            "corrupt: get it again"
        )
    if length > _MOST_HEADER:
        raise EntryError(f"{where} says its header holds {length:,} bytes, above the format's limit")
    try:
        table = json.loads(source.read(file, 8, length))
    except (ValueError, RecursionError) as error:
        raise EntryError(f"{where} has a corrupt header (no JSON: {error}); get it again") from error
    if not isinstance(table, dict):
        raise EntryError(f"{where} has a corrupt header: a {type(table).__name__}; expected an object")
    start = 8 + length
    tensors = [_tensor(where, file, name, value, start) for name, value in table.items() if name[:2] != "__"]
    end = max((tensor.end for tensor in tensors), default=start)
    if end != size:
        what = "is cut off" if end > size else "holds more than its header names"
        raise EntryError(f"{where} {what}: {size:,} bytes, its header names {end:,}; get it again")
    _check_places(where, tensors, start)
    return tensors


def _check_places(where: str, tensors: list[Tensor], start: int) -> None:
    """Every byte belongs to one tensor: the format allows no gap and no overlap.

    Two tensors at exactly the same bytes share their storage (tied embeddings); that is read.
    """
    at, last = start, (-1, -1)
    for tensor in sorted(tensors, key=lambda tensor: (tensor.start, tensor.end)):
        if (tensor.start, tensor.end) == last:
            continue
        if tensor.start != at:
            what = "overlaps the tensor before it" if tensor.start < at else "leaves bytes without a tensor"
            raise EntryError(
                f"{where} has a corrupt header: {tensor.name!r} at byte {tensor.start - start:,} {what}, "
                f"which ends at {at - start:,}; get it again"
            )
        at, last = tensor.end, (tensor.start, tensor.end)


def _tensor(where: str, file: str, name: str, value: Any, base: int) -> Tensor:
    try:
        dtype, shape = value["dtype"], tuple(value["shape"])
        first, last = value["data_offsets"]
        bits = _BITS[dtype]
        counts = (*shape, first, last)
        whole = all(isinstance(count, int) and not isinstance(count, bool) for count in counts)
    except (KeyError, TypeError, ValueError) as error:
        raise EntryError(
            f"{where} has a corrupt header at tensor {name!r}: {error!r}; get it again"
        ) from error
    if not whole or min(counts) < 0:
        raise EntryError(f"{where} has a corrupt header at tensor {name!r}: sizes that are no counts")
    tensor = Tensor(name=name, dtype=dtype, shape=shape, file=file, start=base + first, end=base + last)
    if (tensor.elements * bits + 7) // 8 != last - first:
        raise EntryError(
            f"{where} has a corrupt header at tensor {name!r}: {last - first:,} bytes for a {dtype} of shape "
            f"{list(shape)}; get it again"
        )
    return tensor


def _name(file: str) -> str:
    """A file's name on one line, whatever an index says."""
    return file if file.isprintable() and file else repr(file)
