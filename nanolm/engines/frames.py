"""Messages between the engine's supervisor and its worker process: length-prefixed MessagePack."""

import struct
from typing import BinaryIO

import msgspec

from nanolm.schema import Decoding, FinishReason

_LENGTH = struct.Struct("<I")


class Settings(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the worker starts vLLM with; None leaves vLLM's own default."""

    model: str
    revision: str | None
    dtype: str
    max_model_len: int
    seed: int = 0
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    enforce_eager: bool | None = None
    enable_chunked_prefill: bool | None = None
    enable_prefix_caching: bool | None = None
    gpu_memory_utilization: float | None = None
    trust_remote_code: bool = False


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Generate once."""

    number: int
    prompt_ids: tuple[int, ...]
    max_tokens: int
    seed: int
    decoding: Decoding
    stop_ids: tuple[int, ...]


class Score(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Sum the log-likelihood of `ids[start:]` given `ids[:start]`."""

    number: int
    ids: tuple[int, ...]
    start: int


class Work(msgspec.Struct, frozen=True, tag=True):
    """Handed over as one, so that all of it is there before the engine's next step."""

    messages: tuple[Ask | Score, ...]


class Abort(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits for these any more."""

    numbers: tuple[int, ...]


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """vLLM is up; `settings` as vLLM resolved them."""

    version: str
    settings: dict[str, str | int | float | bool | None]


class Done(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One generation is finished."""

    number: int
    text: str
    finish_reason: FinishReason
    output_tokens: int
    error: str | None = None


class Scored(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One log-likelihood, nats."""

    number: int
    value: float | None
    error: str | None = None


class Beat(msgspec.Struct, frozen=True, tag=True):
    """The engine has made a step."""

    steps: int
    tokens: int = 0
    """Of the outputs that are not finished."""


class Fatal(msgspec.Struct, frozen=True, tag=True):
    """The worker gives up; the words of the exception."""

    error: str


ToWorker = Settings | Work | Abort
FromWorker = Ready | Done | Scored | Beat | Fatal
_to_worker = msgspec.msgpack.Decoder(ToWorker)
_from_worker = msgspec.msgpack.Decoder(FromWorker)
_encode = msgspec.msgpack.Encoder().encode


def write(stream: BinaryIO, *messages: ToWorker | FromWorker) -> None:
    """Write messages and flush. Raises `OSError` when the other side is gone."""
    encoded = map(_encode, messages)
    stream.write(b"".join(part for data in encoded for part in (_LENGTH.pack(len(data)), data)))
    stream.flush()


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def read_for_worker(stream: BinaryIO) -> ToWorker | None:
    """The next message for the worker, or None at the end."""
    data = _read(stream)
    return None if data is None else _to_worker.decode(data)


def read_from_worker(stream: BinaryIO) -> FromWorker | None:
    """The next message of the worker, or None when it is gone."""
    data = _read(stream)
    return None if data is None else _from_worker.decode(data)
