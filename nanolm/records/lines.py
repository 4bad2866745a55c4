"""One output, one line of JSON; and the part of a line that the index needs."""

import json

import msgspec

from nanolm.schema import Decoding, FinishReason, Output


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What the index needs of a line: everything but the text."""

    benchmark: str
    item: str
    sample: int
    seed: int
    entry: str
    prompt_digest: str
    decoding: Decoding
    max_tokens: int
    finish_reason: FinishReason
    prompt_tokens: int = 0


_outputs = msgspec.json.Decoder(Output)
_headers = msgspec.json.Decoder(Header)


def encode(output: Output) -> bytes:
    """The output as one line, newline included.

    A text with lone surrogates has no UTF-8 form: its line is ASCII with `\\ud835` escapes, which
    every JSON reader takes.
    """
    try:
        return msgspec.json.encode(output) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(output), ensure_ascii=True).encode("ascii") + b"\n"


def decode(line: bytes) -> Output:
    """The output of a line. Raises `msgspec.DecodeError` or `ValueError` when it holds none."""
    try:
        return _outputs.decode(line)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(line), Output)  # lone surrogates


def decode_header(line: bytes) -> Header:
    """As `decode`, without keeping the text."""
    try:
        return _headers.decode(line)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(line), Header)
