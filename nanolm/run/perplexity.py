"""How well a model predicts a text: the sum of its tokens' negative log-likelihoods, window by window.

Each window's sum is written to a file as soon as it is known, so that a measurement that was cut short goes
on where it ended.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanolm.engines import Engine
from nanolm.entries import Entry
from nanolm.entries.tokens import decode
from nanolm.errors import EngineError, UsageError, counted
from nanolm.run.window_log import WindowLog, dated
from nanolm.run.windows import windows
from nanolm.schema import Alternative
from nanolm.sources.cache import write_atomically

DEFAULT_CONTEXT = 2048
"""Tokens a window reads when nothing else is asked for, or the model's context when that is shorter."""
_AT_ONCE = 4096


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text and its tokens."""

    name: str
    ids: tuple[int, ...]
    bytes: int
    """Of the text as it was read, UTF-8; never of what the tokenizer makes of it."""
    sha256: str
    lossless: bool
    """Whether decoding the tokens gives the text back, byte for byte."""
    round_trip: str = ""
    """Where it does not; empty when it does."""
    partial: bool = False
    """Only the beginning of the text was asked for."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides the windows' sums; the first line of their file."""

    text: str
    """SHA-256."""
    tokens: int
    entry: str
    """The entry's digest."""
    engine: str
    opening: int | None
    context: int
    stride: int


class Perplexity(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and under which conventions."""

    text: str
    sha256: str
    bytes: int
    tokens: int
    scored_tokens: int
    """One fewer than `tokens` when nothing could stand before the first."""
    nats: float
    """Sum of negative log-likelihoods."""
    token_perplexity: float
    """exp(nats / scored tokens)."""
    byte_perplexity: float
    """exp(nats / bytes)."""
    bits_per_byte: float
    """nats / bytes / ln 2."""
    bytes_per_token: float
    """bytes / tokens, of the raw text."""
    convention: str
    """`rolling`: windows that share no scored or context token but one, as lm-evaluation-harness's
    loglikelihood_rolling; `sliding`: each keeps context - stride tokens of context."""
    context: int
    stride: int
    windows: int
    opening: str
    """The token before the text, read and not scored; empty for none."""
    lossless: bool
    round_trip: str
    partial: bool
    entry: str
    entry_digest: str
    model: dict[str, Any]
    engine: dict[str, Any]
    edition: str
    seconds: float
    """Of this run's own computing."""
    resumed_windows: int = 0
    """Taken over from an earlier run under the same conditions."""


def read_text(name: str, text: str, tokenizer: Any, ids: Sequence[int], partial: bool = False) -> Text:
    """A text with its tokens, and whether they give it back. Raises `UsageError` when there is nothing."""
    if not ids:
        raise UsageError(f"{name}: the text gives no token; expected some text")
    raw = text.encode("utf-8")
    back = decode(tokenizer, ids)
    return Text(
        name=name,
        ids=tuple(ids),
        bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        lossless=back == text,
        round_trip="" if back == text else _difference(text, back, tokenizer, ids),
        partial=partial,
    )


def _difference(text: str, back: str, tokenizer: Any, ids: Sequence[int]) -> str:
    at = next((place for place, pair in enumerate(zip(text, back, strict=False)) if pair[0] != pair[1]), -1)
    at = min(len(text), len(back)) if at < 0 else at
    unknown = tokenizer.unk_token_id
    count = 0 if unknown is None else sum(one == unknown for one in ids)
    more = f"; {counted(count, 'token is', 'tokens are')} the unknown token" if count else ""
    return (
        f"decoded, the tokens give {len(back.encode('utf-8')):,} bytes; first difference at character "
        f"{at:,}: {text[at : at + 20]!r} became {back[at : at + 20]!r}{more}"
    )


def conditions(
    text: Text, entry: Entry, engine: Engine, opening: int | None, context: int, stride: int
) -> Conditions:
    """What the windows' file begins with. Raises as `check_windows`."""
    check_windows(entry, context, stride)
    return Conditions(
        text=text.sha256,
        tokens=len(text.ids),
        entry=entry.digest,
        engine=f"{engine.name} {engine.version}",
        opening=opening,
        context=context,
        stride=stride,
    )


def check_windows(entry: Entry, context: int, stride: int) -> None:
    """`UsageError` for a window that the model can't read."""
    if not 1 <= context <= entry.context:
        raise UsageError(
            f"--context={context}: expected 1 to {entry.context:,} tokens, the context of {entry.name}"
        )
    check_stride(context, stride)


def check_stride(context: int, stride: int) -> None:
    """`UsageError` for windows that would leave tokens out, or score none."""
    if not 1 <= stride <= context:
        raise UsageError(f"--stride={stride}: expected 1 to {context:,}, the tokens that a window reads")


def measure(
    text: Text, under: Conditions, engine: Engine, log: Path, progress: Callable[[int, int], None]
) -> tuple[list[float], int]:
    """The log-likelihood of each window, nats, in order, and how many of them `log` already held.

    `progress` is told scored and all tokens. `log` is written to when the first window is known, and not
    before; windows of other conditions that it holds are then kept under a dated name. Raises `EngineError`
    when the model gives no finite number.
    """
    every = list(windows(text.ids, under.opening, under.context, under.stride))
    total = sum(len(one.ids) - one.start for one in every)
    with WindowLog(log, under, len(every)) as kept:
        sums = kept.sums
        resumed = len(sums)
        done = sum(len(one.ids) - one.start for one in every[:resumed])
        progress(done, total)
        for group in _groups(every[resumed:]):
            values = _scores(engine, group)
            odd = [value for value in values if not math.isfinite(value)]
            if odd:
                raise EngineError(
                    f"{text.name}: the model gives a log-likelihood of {odd[0]} for tokens "
                    f"{done:,} and on; expected finite numbers: are its weights whole?"
                )
            kept.add(values)
            sums += values
            done += sum(len(one.ids) - one.start for one in group)
            progress(done, total)
    return sums, resumed


def _groups(every: Sequence[Alternative]) -> Iterator[list[Alternative]]:
    """Windows that are handed to the engine together."""
    group: list[Alternative] = []
    for one in every:
        if group and (len(group) + 1) * max(len(one.ids), len(group[0].ids)) > _AT_ONCE:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _scores(engine: Engine, group: Sequence[Alternative]) -> list[float]:
    pairs = [(one.ids[: one.start], one.ids[one.start :]) for one in group]
    together = getattr(engine, "scores", None)
    if together is not None:
        return list(together(pairs))
    return [engine.score(prompt, continuation) for prompt, continuation in pairs]


def result(
    text: Text,
    under: Conditions,
    sums: Sequence[float],
    *,
    resumed: int,
    entry: Entry,
    engine: Engine,
    edition: str,
    opening: str,
    seconds: float,
) -> Perplexity:
    """The figures. A text whose first token could not be scored keeps all its bytes (`scored_tokens`)."""
    nats = -math.fsum(sums)
    scored = len(text.ids) - (under.opening is None)
    if not math.isfinite(nats) or scored < 1:
        raise UsageError(f"{text.name}: {scored} scored tokens with {nats} nats; a longer text is needed")
    return Perplexity(
        text=text.name,
        sha256=text.sha256,
        bytes=text.bytes,
        tokens=len(text.ids),
        scored_tokens=scored,
        nats=nats,
        token_perplexity=_exp(nats / scored),
        byte_perplexity=_exp(nats / text.bytes),
        bits_per_byte=nats / text.bytes / math.log(2),
        bytes_per_token=text.bytes / len(text.ids),
        convention="rolling" if under.stride == under.context else "sliding",
        context=under.context,
        stride=under.stride,
        windows=len(sums),
        opening=opening,
        lossless=text.lossless,
        round_trip=text.round_trip,
        partial=text.partial,
        entry=entry.name,
        entry_digest=entry.digest,
        model={
            "repo": entry.repo,
            "revision": entry.revision,
            "parameters": entry.parameters,
            "context": entry.context,
        },
        engine={
            "name": engine.name,
            "version": engine.version,
            "settings": dict(getattr(engine, "settings", {})),
        },
        edition=edition,
        seconds=seconds,
        resumed_windows=resumed,
    )


def write(path: Path, found: Perplexity) -> None:
    """The result as JSON. What lies there of another text, model or engine, or of other windows, is put aside
    under a dated name."""
    try:
        before = msgspec.json.decode(path.read_bytes(), type=Perplexity)
    except (OSError, msgspec.MsgspecError):
        before = None
    if path.exists() and (before is None or _made_under(before) != _made_under(found)):
        path.rename(dated(path))
    write_atomically(path, msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


def _made_under(found: Perplexity) -> tuple[object, ...]:
    engine = found.engine.get("name"), found.engine.get("version")
    return found.sha256, found.entry_digest, found.context, found.stride, found.opening, engine


def _exp(value: float) -> float:
    """exp, infinite where a float ends: a random model on a rare text."""
    return math.exp(value) if value < 700 else math.inf
