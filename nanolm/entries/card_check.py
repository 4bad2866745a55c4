"""A model card against its artefact: what holds, what differs, what is missing."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal

import msgspec

from nanolm.entries import artefacts, card_claims
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.card_claims import Stated
from nanolm.entries.parameters import Audit
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


def check(source: Artefacts, audit: Audit, measured: Mapping[str, float] | None = None) -> list[Finding]:
    """Every statement of the card beside what the artefact says; in the order of the conventions.

    `measured`: our own raw accuracies by benchmark slug, 0 to 1. Raises `EntryError` without a card that can
    be read.
    """
    card = _card(source)
    return [
        *_architecture(card, artefacts.table(source, "config.json") or {}),
        *_parameters(card, audit),
        _mentioned(card, "training data", "corpus and number of training tokens", *_DATA),
        *_benchmarks(card, measured or {}),
        *_sums(card, audit),
        _mentioned(card, "limitations", "what the model is not good at", _LIMITS),
    ]


def _card(source: Artefacts) -> str:
    if CARD not in source.names():
        there = [name for name in sorted(source.names()) if name.casefold() == CARD.casefold()]
        found = f" (found {there[0]}, which model hubs don't show)" if there else ""
        raise EntryError(f"{source.where} has no file {CARD}: there is no card to check{found}")
    if source.size(CARD) > MOST:
        raise EntryError(
            f"{CARD} of {source.where} holds {source.size(CARD):,} bytes; expected a model card of at most "
            f"{MOST:,}"
        )
    card = artefacts.text(source, CARD) or ""
    if not card.strip():
        raise EntryError(f"{CARD} of {source.where} is empty: there is no card to check")
    if "\0" in card:
        raise EntryError(f"{CARD} of {source.where} is no text in UTF-8; expected a model card in Markdown")
    return card


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


def _parameters(card: str, audit: Audit) -> Iterator[Finding]:
    stated = card_claims.parameters(card)
    unique = f"{audit.parameters:,} unique"
    if not stated:
        yield Finding(what="parameters", outcome="missing", found=unique)
    if audit.packed:
        for one in stated:
            yield Finding(
                what="parameters", outcome="not checked", stated=one.text, line=one.line, why=audit.packed
            )
        return
    for one in stated:
        holds = _rounds(one, audit.parameters)
        yield Finding(
            what="parameters", outcome="holds" if holds else "differs", stated=one.text, found=unique,
            why="" if holds else _why_other(one, audit), line=one.line,
        )  # fmt: skip
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


def _sums(card: str, audit: Audit) -> Iterator[Finding]:
    actual = {file.sha256: file.name for file in audit.files if file.sha256}
    stated = [(line, value) for line, value, running in card_claims.sums(card) if running or value in actual]
    if not stated:
        yield Finding(
            what="SHA-256", outcome="missing",
            found=", ".join(f"{name} {value[:12]}…" for value, name in actual.items()),
        )  # fmt: skip
    for line, value in stated:
        outcome: Outcome = "holds" if value in actual else "differs" if actual else "not checked"
        yield Finding(
            what="SHA-256", outcome=outcome, stated=f"{value[:12]}…", line=line,
            found=actual.get(value) or ", ".join(f"{one[:12]}…" for one in actual),
            why="" if actual else "weight files are read from a local folder only",
        )  # fmt: skip


def _mentioned(card: str, what: str, wanted: str, *words: str) -> Finding:
    if card_claims.says(card, *words):
        return Finding(what=what, outcome="holds", stated="yes")
    return Finding(what=what, outcome="missing", why=f"not stated: {wanted}")
