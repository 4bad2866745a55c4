"""A card's benchmark numbers beside measurements of our own, each under its stated convention."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from nanolm.entries.card import benchmarks as card_benchmarks
from nanolm.entries.card import convention as card_convention
from nanolm.entries.card import index as card_index
from nanolm.entries.card import text as card_text
from nanolm.entries.card.benchmarks import Claim
from nanolm.entries.card.convention import Convention
from nanolm.entries.card.finding import Finding, Outcome
from nanolm.entries.card.words import slug
from nanolm.errors import EntryError, counted


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's line of a score."""

    raw: float
    """Accuracy, 0 to 1."""
    items: int = 0
    complete: bool = True
    """Of the whole score."""


class TextScore(msgspec.Struct, frozen=True, kw_only=True):
    """A measured text (`nanolm perplexity`)."""

    text: str
    token_perplexity: float
    byte_perplexity: float
    bits_per_byte: float
    context: int
    stride: int
    scored_tokens: int = 0
    partial: bool = False


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What we measured of the model: rows by benchmark slug, and texts."""

    rows: Mapping[str, Row] = {}
    texts: Sequence[TextScore] = ()


NOTHING = Measured()
NO_MEASUREMENT = "no measurement of ours to compare with (--scores)"
_UNITS = {
    "token": ("token_perplexity", "token perplexity"),
    "byte": ("byte_perplexity", "byte perplexity"),
    "bits": ("bits_per_byte", "bits per byte"),
}
_FORMS = ("letter", "text")
_NO_TEXT = ("perplexity", "ppl", "byte-ppl", "bpb", "bits-per-byte")
"""Slugs of names that don't say which text."""


def check_model(
    where: str,
    model: Mapping[str, object],
    *,
    file: str,
    entry: str,
    repo: str,
    revision: str,
    parameters: int,
) -> None:
    """Raise `EntryError` when a measurement's file is of another model than the card's.

    `model`: `{repo, revision, parameters}` as the file holds it; `repo` (empty for a folder), `revision` (a
    commit, or the digest of a folder's files) and `parameters` are those of the model at `where`.
    """
    theirs = str(model.get("repo") or ""), str(model.get("revision") or ""), model.get("parameters")
    why = ""
    if not (theirs[0] or theirs[1]):
        why = "a synthetic entry, or one without a revision"
    elif theirs[0] and repo and theirs[0].casefold() != repo.casefold():
        why = f"of {theirs[0]}"
    elif theirs[2] and parameters and theirs[2] != parameters:
        why = f"{theirs[2]:,} parameters, this one has {parameters:,}"
    elif bool(theirs[0]) == bool(repo) and theirs[1] and revision and theirs[1] != revision:
        what = "commit" if repo else "digest of its files"
        why = f"{what} {theirs[1][:12]}, this one's is {revision[:12]}"
    if why:
        raise EntryError(
            f"{file} is of another model than {where}: it measured {entry} ({why}); expected a measurement "
            "of the card's own model (--scores)"
        )


def findings(card: str, own: tuple[str, ...], measured: Measured = NOTHING) -> Iterator[Finding]:
    """Every benchmark number of the card; one line when there is none."""
    indexed, others = card_index.read(card, card_text.names(card, own))
    stated = [*indexed, *card_benchmarks.benchmarks(card, own)]
    if not (stated or others):
        yield _no_numbers(card)
    for claim in stated:
        yield compare(claim, measured)
    yield from others


def _no_numbers(card: str) -> Finding:
    """None beside a name; but the card may have the names."""
    named = card_benchmarks.only_named(card)
    if named is None:
        return Finding(what="benchmark numbers", outcome="missing")
    line, names = named
    return Finding(
        what="benchmark numbers", outcome="not checked", line=line, stated=", ".join(dict.fromkeys(names)),
        why="named without a number of this model beside",
    )  # fmt: skip


def compare(claim: Claim, measured: Measured) -> Finding:
    """A benchmark number beside ours."""
    if claim.impossible:
        return _finding(claim, "differs", why=claim.impossible)
    if claim.doubt:
        return _finding(claim, "not checked", why=claim.doubt)
    if claim.perplexity:
        return _perplexity(claim, measured.texts)
    base = slug(claim.what)
    rows = {name: row for name, row in measured.rows.items() if _formulation(base, name) is not None}
    if not rows:
        return _not_compared(claim, NO_MEASUREMENT)
    said = claim.convention
    if said.shots:
        shots = "few-shot" if said.shots < 0 else f"{said.shots}-shot"
        return _not_compared(claim, f"not compared: {shots}, ours is zero-shot")
    fits = {name: row for name, row in rows.items() if _fits(said, _formulation(base, name) or Convention())}
    if not fits:
        return _not_compared(claim, f"not compared: {said.words()}; ours: {', '.join(sorted(rows))}")
    best = min(fits, key=lambda name: abs(float(claim.value) - 100 * fits[name].raw))
    value = 100 * fits[best].raw
    return _finding(
        claim, _outcome(claim, value), found=f"{value:.2f} ({best})",
        why="; ".join(part for part in (_nearest(fits, base), _partial(fits[best]), _lacks(claim)) if part),
    )  # fmt: skip


def _outcome(claim: Claim, value: float) -> Outcome:
    return "holds" if abs(float(claim.value) - value) <= float(claim.unit) / 2 + 1e-9 else "differs"


def _finding(claim: Claim, outcome: Outcome, *, found: str = "", why: str = "") -> Finding:
    return Finding(what=claim.what, outcome=outcome, stated=claim.text, line=claim.line, found=found, why=why)


def _not_compared(claim: Claim, why: str) -> Finding:
    lacks = _lacks(claim)
    if lacks and why == NO_MEASUREMENT:
        return _finding(claim, "missing", why=lacks)
    return _finding(claim, "missing" if lacks else "not checked", why="; ".join(filter(None, (why, lacks))))


def _lacks(claim: Claim) -> str:
    absent = card_benchmarks.conventions(claim)
    return f"its convention is not stated: {', '.join(absent)}" if absent else ""


def _partial(row: Row) -> str:
    return "" if row.complete else f"partial: {counted(row.items, 'item')}"


def _formulation(base: str, name: str) -> Convention | None:
    """The convention of a benchmark of ours; None when it is another benchmark."""
    if name != base and not name.startswith(base + "-"):
        return None
    more = [part for part in name[len(base) :].split("-") if part]
    if any(part not in (*_FORMS, "norm") for part in more):
        return None
    form = next((part for part in more if part in _FORMS), None)
    return Convention(normalised="norm" in more, form=form)


def _fits(said: Convention, ours: Convention) -> bool:
    if said.normalised is not None and said.normalised != ours.normalised:
        return False
    return said.form is None or said.form == (ours.form or "text")


def _nearest(fits: Mapping[str, Row], base: str) -> str:
    """That there were several, and what the card did not say to tell them apart."""
    if len(fits) < 2:
        return ""
    ours = [_formulation(base, name) or Convention() for name in fits]
    open_ = [
        what
        for what, kinds in (
            ("whether it is length-normalised", {one.normalised for one in ours}),
            ("whether it is by letter or by text", {one.form for one in ours}),
        )
        if len(kinds) > 1
    ]
    return f"the nearest of {', '.join(sorted(fits))}: the card does not say {' and '.join(open_)}"


def _perplexity(claim: Claim, texts: Sequence[TextScore]) -> Finding:
    if not texts:
        return _not_compared(claim, NO_MEASUREMENT)
    ours, why = _text_of(claim, texts)
    if ours is None:
        return _not_compared(claim, f"not compared: {why}")
    name = slug(claim.what)
    unit = {"byte-ppl": "byte", "bpb": "bits", "bits-per-byte": "bits"}.get(name)
    unit = unit or card_convention.unit(claim.texts)
    if unit == "word":
        return _not_compared(claim, "not compared: per word, ours is per token and per byte")
    for what, said, mine in (
        ("context", card_convention.context(claim.texts), ours.context),
        ("stride", card_convention.stride(claim.texts), ours.stride),
    ):
        if said is not None and said != mine:
            return _not_compared(claim, f"not compared: {what} {said:,}, ours is {mine:,}")
    attribute, words = _UNITS[unit or "token"]
    value = float(getattr(ours, attribute))
    notes = (
        "" if unit else "the card does not say per what: taken for token perplexity",
        f"partial: {ours.scored_tokens:,} tokens" if ours.partial else "",
        _lacks(claim),
    )
    shown = f"{value:.4f}" if value < 100 else f"{value:,.2f}"
    return _finding(
        claim,
        _outcome(claim, value),
        found=f"{shown} ({words}, {ours.text})",
        why="; ".join(part for part in notes if part),
    )


def _text_of(claim: Claim, texts: Sequence[TextScore]) -> tuple[TextScore | None, str]:
    """Our measurement of the text that a perplexity is said of, or why there is none."""
    said = slug(claim.what)
    named = [] if said in _NO_TEXT else [said]
    for where in () if named else claim.texts:
        named = [slug(name) for name in _TEXT_NAMES.findall(where)]
        named += [one.text for one in texts if re.search(rf"(?<!\w){re.escape(one.text)}(?!\w)", where, re.I)]
        if named:
            break
    if not named:
        return None, f"the card does not say of which text; ours: {', '.join(one.text for one in texts)}"
    for name in named:
        for one in texts:
            if _letters(one.text) == _letters(name) or (name == "wikitext" and one.text == "wikitext-2"):
                return one, ""
    return None, f"of {named[0]}; ours: {', '.join(one.text for one in texts)}"


_TEXT_NAMES = re.compile(r"(?<!\w)(?:wikitext(?:[-_ ]?(?:2|103))?|lambada|ptb|c4|the pile)(?!\w)", re.I)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
