"""The weights audit: how many parameters a model has, counted from its tensors (protocol §2, ruling 68)."""

import os
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from nanolm.entries import artefacts, headers
from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.entries.headers import Tensor
from nanolm.entries.weights import sha256

_PIECE = 8 << 20

_BUFFERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(^|\.)(original_)?inv_freq$"), "buffer: rope frequencies"),
    (re.compile(r"(^|\.)(rotary_emb|rotary_pos_emb|rope)\.\w+$"), "buffer: rope table"),
    (re.compile(r"(^|\.)(freqs_cis|rope_freqs|(cos|sin)(_cached|_cache)?)$"), "buffer: rope table"),
    (re.compile(r"(^|\.)_extra_state$"), "buffer: extra state of a training library"),
    (re.compile(r"(^|\.)position_ids$"), "buffer: positions"),
    (re.compile(r"(^|\.)(masked_bias|causal_mask)$"), "buffer: attention mask"),
    (re.compile(r"(^|\.)(running_mean|running_var|num_batches_tracked)$"), "buffer: running statistics"),
    (re.compile(r"(^|\.)mup_vector$"), "buffer: fixed multipliers"),
)
_MASK = re.compile(r"(^|\.)(attn|attention)\.bias$")
"""A buffer in GPT-2 and its kin, where it is a square mask; elsewhere a parameter of that name is one."""

_INPUT = re.compile(
    r"(^|\.)(embed|embed_tokens|embed_in|wte|word_embeddings|tok_embeddings|embeddings?|shared)(\.weight)?$"
)
_OUTPUT = re.compile(r"(^|\.)(lm_head|embed_out|output|output_projection|output_layer)(\.weight)?$")

_FLOATS = ("F", "BF")


class LeftOut(msgspec.Struct, frozen=True):
    """A tensor that is not counted, or not counted again."""

    name: str
    elements: int
    why: str


class WeightFile(msgspec.Struct, frozen=True):
    """A weight file; its SHA-256 is empty when only the header was read."""

    name: str
    bytes: int
    sha256: str


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The count and how it came about."""

    where: str
    files: tuple[WeightFile, ...]
    tensors: int
    header_total: int
    """Elements of all tensors in the headers."""
    left_out: tuple[LeftOut, ...]
    parameters: int
    """Unique tensors without buffers."""
    with_buffers: int
    """Unique tensors; this count decides about eligibility (ruling 68)."""
    tied: Literal["no", "stored once", "bytes agree", "shared storage", "bytes differ", "bytes not compared"]
    notes: tuple[str, ...] = ()
    packed: str = ""
    """Why elements are no parameters (quantised weights); empty when they are."""

    def fits(self, limit: int) -> bool:
        """True when the model has at most `limit` parameters."""
        return not self.packed and self.with_buffers <= limit


def audit(source: Artefacts, *, hashes: bool = True, compare_bytes: bool | None = None) -> Audit:
    """Count a model's parameters.

    On the hub only headers are read, unless `compare_bytes` asks for the bytes of tied embeddings; in a
    folder these are always compared. `hashes` adds the SHA-256 of local files. Raises `EntryError`.
    """
    tensors = headers.read(source)
    config = artefacts.config(source)
    local = isinstance(source, Folder)
    compare = local if compare_bytes is None else compare_bytes
    buffers = [LeftOut(tensor.name, tensor.elements, why) for tensor in tensors if (why := _buffer(tensor))]
    names = {buffer.name for buffer in buffers}
    pair = _pair([tensor for tensor in tensors if tensor.name not in names])
    tied, notes = _tied(source, config, pair, compare)
    again = []
    if pair and tied in ("bytes agree", "shared storage", "bytes not compared"):
        again = [LeftOut(pair[1].name, pair[1].elements, f"tied to {pair[0].name}, {tied}")]
    total = sum(tensor.elements for tensor in tensors)
    unique = total - sum(tensor.elements for tensor in again)
    return Audit(
        where=source.where,
        files=_files(source, headers.files(source), hashes and local),
        tensors=len(tensors),
        header_total=total,
        left_out=(*again, *buffers),
        parameters=unique - sum(buffer.elements for buffer in buffers),
        with_buffers=unique,
        tied=tied,
        notes=tuple(notes),
        packed=_packed(config, [tensor for tensor in tensors if tensor.name not in names]),
    )


def _files(source: Artefacts, names: Sequence[str], hashes: bool) -> tuple[WeightFile, ...]:
    known = getattr(source, "sha256s", {})
    return tuple(
        WeightFile(
            name,
            source.size(name),
            sha256(source.path / name) if hashes and isinstance(source, Folder) else known.get(name, ""),
        )
        for name in names
    )


def _buffer(tensor: Tensor) -> str:
    """Why a tensor is a buffer, which training does not touch; empty for parameters."""
    if _MASK.search(tensor.name) and len(tensor.shape) == 4 and tensor.shape[2] == tensor.shape[3]:
        return "buffer: attention mask"
    return next((why for pattern, why in _BUFFERS if pattern.search(tensor.name)), "")


def _pair(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
    """Input embedding and output head of equal shape, when both are stored."""
    heads = [tensor for tensor in tensors if _OUTPUT.search(tensor.name) and len(tensor.shape) == 2]
    inputs = [tensor for tensor in tensors if _INPUT.search(tensor.name)]
    for head in heads:
        for embedding in inputs:
            if embedding.shape == head.shape and embedding.dtype == head.dtype:
                return embedding, head
    return None


def stored_embedding(source: Artefacts) -> Tensor | None:
    """The input embedding, the largest matrix by such a name; None when no tensor goes by one."""
    found = [one for one in headers.read(source) if _INPUT.search(one.name) and len(one.shape) == 2]
    return max(found, key=lambda one: one.elements, default=None)


def _tied(
    source: Artefacts, config: dict[str, Any], pair: tuple[Tensor, Tensor] | None, compare: bool
) -> tuple[Any, list[str]]:
    says, where = _config_ties(config)
    if pair is None:
        if says is False:
            return "no", [
                "the config does not tie the embeddings, and no output head of their shape is stored"
            ]
        return "stored once", []
    embedding, head = pair
    if not says:
        return "no", [f"{where}: {embedding.name} and {head.name} are separate weights and count twice"]
    if embedding.file == head.file and (embedding.start, embedding.end) == (head.start, head.end):
        return "shared storage", []
    if not compare:
        return "bytes not compared", [
            f"{where} and stores {head.name} beside {embedding.name}; only headers were read, so they count "
            "once on the config's word: audit a local copy, or add --compare-bytes"
        ]
    if _equal(source, embedding, head):
        return "bytes agree", []
    return "bytes differ", [
        f"{where}, but the bytes of {embedding.name} and {head.name} differ: both count (ruling 68)"
    ]


def _config_ties(config: dict[str, Any]) -> tuple[bool | None, str]:
    """What the config says about tying, None when nothing, and the words for it."""
    for table in (config, config.get("text_config")):
        if isinstance(table, dict) and isinstance(table.get("tie_word_embeddings"), bool):
            ties = table["tie_word_embeddings"]
            return (
                ties,
                "the config ties the embeddings" if ties else "the config does not tie the embeddings",
            )
    default = _class_default(config.get("model_type"))
    if default is None:
        return None, "the config does not say whether the embeddings are tied"
    words = "ties" if default else "does not tie"
    return (
        default,
        f"the config says nothing, and transformers' {config['model_type']} {words} the embeddings",
    )


def _class_default(model_type: Any) -> bool | None:
    if not isinstance(model_type, str):
        return None
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from transformers import CONFIG_MAPPING

        value = CONFIG_MAPPING[model_type]().tie_word_embeddings
    except Exception:  # no transformers, or no such architecture, or one that can't be made empty
        return None
    return value if isinstance(value, bool) else None


def _equal(source: Artefacts, one: Tensor, other: Tensor) -> bool:
    length = one.end - one.start
    if length != other.end - other.start:
        return False
    for at in range(0, length, _PIECE):
        size = min(_PIECE, length - at)
        if source.read(one.file, one.start + at, size) != source.read(other.file, other.start + at, size):
            return False
    return True


def _packed(config: dict[str, Any], tensors: Sequence[Tensor]) -> str:
    if config.get("quantization_config") or config.get("compression_config"):
        return "the config says the weights are quantised; packed elements are no parameters"
    odd = [tensor for tensor in tensors if not tensor.dtype.startswith(_FLOATS) and len(tensor.shape) > 1]
    if odd:
        return f"{odd[0].name} holds {odd[0].dtype}, no floats; packed elements are no parameters"
    return ""
