"""A model card against its artefact: what holds, what differs, what is missing."""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec

from nanolm.entries import artefacts
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.card import claims as card_claims
from nanolm.entries.card import counts as card_counts
from nanolm.entries.card import scores as card_scores
from nanolm.entries.card import sums as card_sums
from nanolm.entries.card.claims import Stated
from nanolm.entries.card.finding import Finding, Outcome
from nanolm.entries.card.scores import NOTHING, Measured
from nanolm.entries.card.words import ARCHITECTURE
from nanolm.entries.parameters import Audit, stored_embedding
from nanolm.errors import EntryError

CARD = "README.md"
MOST = 4 << 20
"""Bytes of the largest card that is read."""
_DATA = (r"\btokens?\b", r"\b(?:train|corpus|data)")
_LIMITS = r"limitation|out[- ]of[- ]scope|not (?:intended|suitable)|caveat|weakness"


def check(source: Artefacts, audit: Audit, measured: Measured = NOTHING) -> list[Finding]:
    """Every statement of the card beside what the artefact says; in the order of the conventions.

    `measured`: our own measurements of this model. Raises `EntryError` without a card that can be read.
    """
    card, broken = _card(source)
    own = names(source)
    return _once(
        [
            *broken,
            *_architecture(card, own, artefacts.table(source, "config.json") or {}),
            *_parameters(card, own, audit, source),
            _mentioned(card, "training data", "corpus and number of training tokens", *_DATA),
            *card_scores.findings(card, own, measured),
            *card_sums.findings(card, audit, source, but=CARD),
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


def _architecture(card: str, own: tuple[str, ...], config: Mapping[str, object]) -> Iterator[Finding]:
    stated = {one.what: one for one in card_claims.architecture(card, own)}
    for what, part in ARCHITECTURE.items():
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


def _parameters(card: str, own: tuple[str, ...], audit: Audit, source: Artefacts) -> Iterator[Finding]:
    counts = card_counts.parameters(card, own)
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
    """Whether the stated number is the actual one, rounded at the last digit that is significant."""
    return 2 * abs(one.value - actual) <= one.unit


def names(source: Artefacts) -> tuple[str, ...]:
    """What the model may be called in its card: its folder or repository."""
    path = getattr(source, "path", None)
    return (source.reference.rstrip("/"), *([path.resolve().name] if path else []))


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


def _mentioned(card: str, what: str, wanted: str, *words: str) -> Finding:
    if card_claims.says(card, *words):
        return Finding(what=what, outcome="holds", stated="yes")
    return Finding(what=what, outcome="missing", why=f"not stated: {wanted}")
