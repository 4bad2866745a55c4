"""A model card against its artefact: what holds, what differs, what is missing."""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal

import msgspec

from nanolm.entries import artefacts, card_claims, card_counts
from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.entries.card_claims import Stated, Sum
from nanolm.entries.parameters import Audit, stored_embedding
from nanolm.entries.weights import sha256
from nanolm.errors import EntryError

CARD = "README.md"
MOST = 4 << 20
"""Bytes of the largest card that is read."""
_DATA = (r"\btokens?\b", r"\b(?:train|corpus|data)")
_LIMITS = r"limitation|out[- ]of[- ]scope|not (?:intended|suitable)|caveat|weakness"
Outcome = Literal["holds", "differs", "missing", "not checked"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a card should state, and whether it is so."""

    what: str
    outcome: Outcome
    stated: str = ""
    found: str = ""
    """What the artefact, or our own measurement, says."""
    why: str = ""
    line: int | None = None
    """Of the card, 1-based."""
    times: int = 1
    """How often the card states it; `line` is the first."""


def check(source: Artefacts, audit: Audit, measured: Mapping[str, float] | None = None) -> list[Finding]:
    """Every statement of the card beside what the artefact says; in the order of the conventions.

    `measured`: our own raw accuracies by benchmark slug, 0 to 1. Raises `EntryError` without a card that can
    be read.
    """
    card, broken = _card(source)
    return _once(
        [
            *broken,
            *_architecture(card, artefacts.table(source, "config.json") or {}),
            *_parameters(card, audit, source),
            _mentioned(card, "training data", "corpus and number of training tokens", *_DATA),
            *_benchmarks(card, measured or {}),
            *_sums(card, audit, source),
            _mentioned(card, "limitations", "what the model is not good at", _LIMITS),
        ]
    )


def _once(findings: list[Finding]) -> list[Finding]:
    """Equal ones as one, with their number, where the first stands."""
    first: dict[tuple[str, ...], Finding] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for one in findings:
        key = (one.what, one.outcome, one.stated, one.found, one.why)
        first.setdefault(key, one)
        times[key] += 1
    return [msgspec.structs.replace(one, times=times[key]) for key, one in first.items()]


def _card(source: Artefacts) -> tuple[str, list[Finding]]:
    """The card's text, and what is to be said of its bytes."""
    if CARD not in source.names():
        there = [name for name in sorted(source.names()) if name.casefold() == CARD.casefold()]
        found = f" (found {there[0]}, which model hubs don't show)" if there else ""
        raise EntryError(f"{source.where} has no file {CARD}: there is no card to check{found}")
    if source.size(CARD) > MOST:
        raise EntryError(
            f"{CARD} of {source.where} holds {source.size(CARD):,} bytes; expected a model card of at most "
            f"{MOST:,}"
        )
    raw = source.whole(CARD)
    try:
        card, broken = raw.decode("utf-8"), []
    except UnicodeDecodeError as error:
        if b"\0" in raw:
            raise EntryError(
                f"{CARD} of {source.where} is no text in UTF-8; expected a model card in Markdown"
            ) from error
        card, broken = raw.decode("utf-8", "replace"), [_other_encoding(raw, error.start)]
    if not card.strip():
        raise EntryError(f"{CARD} of {source.where} is empty: there is no card to check")
    if "\0" in card:
        line = card.count("\n", 0, card.index("\0")) + 1
        raise EntryError(
            f"{CARD} of {source.where} holds NUL bytes ({card.count(chr(0)):,}, the first in line {line}); "
            "expected a model card in Markdown: save it without them, as UTF-8"
        )
    return card, broken


def _other_encoding(raw: bytes, at: int) -> Finding:
    return Finding(
        what="encoding", outcome="not checked", line=raw.count(b"\n", 0, at) + 1,
        why=f"{CARD} is not valid UTF-8 (byte 0x{raw[at]:02X} at {at:,}): such bytes are read as "
        "\N{REPLACEMENT CHARACTER}; save it as UTF-8",
    )  # fmt: skip


def _architecture(card: str, config: Mapping[str, object]) -> Iterator[Finding]:
    stated = {one.what: one for one in card_claims.architecture(card)}
    for what, part in card_claims.ARCHITECTURE.items():
        actual = next((config[key] for key in part.keys if isinstance(config.get(key), int)), None)
        if what not in stated:
            if actual is not None:
                yield Finding(what=what, outcome="missing", found=f"{actual:,}")
            continue
        one = stated[what]
        found = "" if actual is None else f"{actual:,}"
        outcome: Outcome = "not checked"
        if isinstance(actual, int):
            outcome = "holds" if abs(one.value - actual) < max(one.unit, Decimal(1)) else "differs"
        yield Finding(
            what=what, outcome=outcome, stated=one.text, found=found, line=one.line,
            why="" if actual is not None else "config.json does not say",
        )  # fmt: skip


def _parameters(card: str, audit: Audit, source: Artefacts) -> Iterator[Finding]:
    counts = card_counts.parameters(card, _names(source))
    unique = f"{audit.parameters:,} unique"
    if all(count.doubt for count in counts):
        yield Finding(what="parameters", outcome="missing", found=unique)
    twice = _Twice(audit, source)
    for count in counts:
        one = count.stated
        if audit.packed or count.doubt:
            why = audit.packed or count.doubt
            yield Finding(what="parameters", outcome="not checked", stated=one.text, line=one.line, why=why)
            continue
        holds = _rounds(one, audit.parameters)
        yield Finding(
            what="parameters", outcome="holds" if holds else "differs", stated=one.text, found=unique,
            why="" if holds else _why_other(one, audit) or twice.why(one), line=one.line,
        )  # fmt: skip
    if audit.packed:
        return
    if any(left.why.startswith("buffer") for left in audit.left_out):
        yield _mentioned(card, "buffers left out", "that buffers are not counted", r"\bbuffers?\b")
    if audit.tied != "no":
        yield _mentioned(
            card, "tied embeddings", "that the tied embedding is counted once",
            r"\btied?\b|\btie_word_embeddings\b|weight[- ]tying|\bunique\b",
        )  # fmt: skip


def _rounds(one: Stated, actual: int) -> bool:
    """Whether the stated number is the actual one, rounded or cut at the stated digit."""
    return abs(one.value - actual) < one.unit


def _names(source: Artefacts) -> list[str]:
    """What the model may be called in its card: its folder or repository."""
    path = getattr(source, "path", None)
    return [source.reference.rstrip("/"), *([path.resolve().name] if path else [])]


class _Twice:
    """A total that counts a tied embedding twice, whose header stores it once or has buffers beside."""

    def __init__(self, audit: Audit, source: Artefacts) -> None:
        self._audit = audit
        self._source = source
        self._tied: tuple[str, int] | None = None

    def why(self, one: Stated) -> str:
        """Why the stated number is another than the unique count; empty when it is no such total."""
        if self._audit.tied in ("no", "bytes differ"):
            return ""
        if self._tied is None:
            embedding = stored_embedding(self._source)
            self._tied = (embedding.name, embedding.elements) if embedding else ("", 0)
        name, elements = self._tied
        if elements and _rounds(one, self._audit.parameters + elements):
            return f"it counts the tied embedding twice: {elements:,} of it are {name} once more"
        return ""


def _why_other(one: Stated, audit: Audit) -> str:
    if _rounds(one, audit.header_total):
        twice = sum(left.elements for left in audit.left_out)
        total = f"it is the header's total, {audit.header_total:,}"
        return f"{total}: {twice:,} of it are no parameters of their own"
    if _rounds(one, audit.with_buffers):
        return f"it counts buffers, too: {audit.with_buffers:,}"
    return ""


def _benchmarks(card: str, measured: Mapping[str, float]) -> Iterator[Finding]:
    stated = card_claims.benchmarks(card)
    if not stated:
        yield _no_numbers(card)
    for one in stated:
        name = one.what
        absent = card_claims.conventions(one)
        ours = {slug: value for slug, value in measured.items() if _same_benchmark(name, slug)}
        best = min(ours, key=lambda slug: abs(float(one.value) - 100 * ours[slug]), default=None)
        if best is not None:
            value = 100 * ours[best]
            holds = abs(float(one.value) - value) <= float(one.unit) / 2 + 1e-9
            yield Finding(
                what=name, outcome="holds" if holds else "differs", stated=one.text,
                found=f"{value:.2f} ({best})", line=one.line, why=_lacks(absent),
            )  # fmt: skip
        else:
            yield Finding(
                what=name, outcome="missing" if absent else "not checked", stated=one.text, line=one.line,
                why=_lacks(absent) or "no measurement of ours to compare with (--scores)",
            )  # fmt: skip


def _no_numbers(card: str) -> Finding:
    """None beside a name; but a table may have the names in its head."""
    named = card_claims.only_named(card)
    if named is None:
        return Finding(what="benchmark numbers", outcome="missing")
    line, names = named
    return Finding(
        what="benchmark numbers", outcome="not checked", line=line, stated=", ".join(dict.fromkeys(names)),
        why="named without a number beside; of a table, rows that begin with a benchmark's name are read",
    )  # fmt: skip


def _lacks(absent: list[str]) -> str:
    return f"its convention is not stated: {', '.join(absent)}" if absent else ""


def _same_benchmark(name: str, slug: str) -> bool:
    short = {"arc-e": "arc-easy", "arc-c": "arc-challenge"}
    plain = name.lower()
    return slug.startswith(short.get(plain, plain).replace(" ", "-"))


def _sums(card: str, audit: Audit, source: Artefacts) -> Iterator[Finding]:
    weights = {file.name: file.sha256 for file in audit.files}
    actual = {value: name for name, value in weights.items() if value}
    here = {name for name in source.names() if name != CARD}
    stated = [one for one in card_claims.sums(card) if one.running or one.value in actual or one.file in here]
    if all(one.file and one.file not in weights and one.value not in actual for one in stated):
        yield Finding(
            what="SHA-256", outcome="missing",
            found=", ".join(f"{name} {value[:12]}…" for value, name in actual.items()),
        )  # fmt: skip
    sums = dict(weights)
    for one in stated:
        if one.file in here and one.file not in sums and isinstance(source, Folder):
            sums[one.file] = sha256(source.path / one.file)
        yield _sum(one, actual, sums)


def _sum(one: Sum, actual: Mapping[str, str], sums: Mapping[str, str]) -> Finding:
    """`actual`: the weights' file by its sum; `sums`: sum by file, of the weights and what else is named."""
    outcome: Outcome = "not checked"
    found = why = ""
    if one.file:
        ours = sums.get(one.file, "")
        if ours:
            outcome = "holds" if ours == one.value else "differs"
            found = one.file if ours == one.value else f"{one.file} {ours[:12]}…"
            if ours != one.value and one.value in actual:
                why = f"it is the sum of {actual[one.value]}"
        elif one.file in sums:
            why = "weight files are read from a local folder only"
        else:
            why = f"it is said of {one.file}, which is not read here"
    elif actual:
        outcome = "holds" if one.value in actual else "differs"
        found = actual.get(one.value) or ", ".join(f"{value[:12]}…" for value in actual)
    else:
        why = "weight files are read from a local folder only"
    return Finding(
        what="SHA-256", outcome=outcome, stated=f"{one.value[:12]}…", line=one.line, found=found, why=why
    )


def _mentioned(card: str, what: str, wanted: str, *words: str) -> Finding:
    if card_claims.says(card, *words):
        return Finding(what=what, outcome="holds", stated="yes")
    return Finding(what=what, outcome="missing", why=f"not stated: {wanted}")
