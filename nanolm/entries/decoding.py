"""Decoding settings: the maker's card, else generation_config.json, else greedy (protocol §5)."""

import re
from collections.abc import Callable
from typing import Any

from nanolm.entries import artefacts
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.entry import EntryDecoding
from nanolm.entries.markdown import running_text
from nanolm.errors import EntryError
from nanolm.schema import Decoding

LIBRARY_DEFAULTS = Decoding(temperature=1.0, top_p=1.0, top_k=50, min_p=0.0, repetition_penalty=1.0)
"""transformers' own, for what a generation_config.json that samples leaves out (ruling 79)."""

FIELDS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")

_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "temperature": (lambda value: value >= 0, "a number of at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "top_k": (lambda value: value >= 0 and value == int(value), "a whole number of at least 0"),
    "min_p": (lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    "repetition_penalty": (lambda value: value > 0, "a number above 0"),
}
_HUGE = 1e9
"""No setting is as large; NaN is not smaller than it either."""
_ALSO_STEER = {
    **dict.fromkeys(("typical_p", "encoder_repetition_penalty", "diversity_penalty", "length_penalty"), 1.0),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff", "presence_penalty", "frequency_penalty"), 0.0),
    **dict.fromkeys(("no_repeat_ngram_size", "min_length", "min_new_tokens"), 0),
    **dict.fromkeys(("num_beams", "num_beam_groups"), 1),
    **dict.fromkeys(("penalty_alpha", "top_h", "bad_words_ids", "sequence_bias", "suppress_tokens")),
    **dict.fromkeys(("begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id")),
}
"""What else a generation_config.json may hold that changes outputs, and the value that changes nothing."""

_MARKUP = re.compile(r"[`*_\\]|\[|\]\([^)]*\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_ADVICE = re.compile(r"temperature\W{0,12}(?:of|to|=|:)?\W{0,6}(\d*\.?\d+)", re.IGNORECASE)


def decide(source: Artefacts) -> tuple[EntryDecoding, str, tuple[str, ...]]:
    """(settings, why, warnings) from a model's files alone, for entries no person has read the card of."""
    config = artefacts.table(source, "generation_config.json")
    found = from_generation_config(config or {}, f"generation_config.json of {source.where}")
    lines = (_left_aside(config or {}), card_advice(artefacts.text(source, "README.md") or ""))
    warnings = tuple(line for line in lines if line)
    if found is not None:
        stated = ", ".join(field for field, where in found.sources.items() if where.endswith(".json"))
        return found, f"generation_config.json enables sampling and states {stated or 'no value'}", warnings
    return greedy(), f"{_why_greedy(config)}, so decoding is greedy", warnings


def _why_greedy(config: dict[str, Any] | None) -> str:
    if config is None:
        return "there is no generation_config.json"
    if config.get("do_sample"):
        return "generation_config.json sets temperature 0"
    stated = ", ".join(f"{field} {config[field]}" for field in FIELDS if config.get(field) is not None)
    unused = f" (its {stated} would only count with do_sample: true, ruling 70)" if stated else ""
    return f"generation_config.json does not enable sampling{unused}"


def _left_aside(config: dict[str, Any]) -> str:
    """A warning about settings that change outputs and that the protocol does not take (§5)."""
    stated = ", ".join(
        f"{key} {config[key]}"
        for key, idle in _ALSO_STEER.items()
        if config.get(key) is not None and config[key] != idle
    )
    return (
        f"generation_config.json also states {stated}; the protocol does not take it (§5)" if stated else ""
    )


def greedy() -> EntryDecoding:
    """Rule 3: temperature 0, one sample."""
    return EntryDecoding(values=Decoding(), source="greedy", sources=dict.fromkeys(FIELDS, "greedy"))


def from_generation_config(config: dict[str, Any], where: str) -> EntryDecoding | None:
    """Rule 2: its values and the library's defaults, or None when it does not enable sampling.

    A missing `do_sample` is off (ruling 70), a value of null is left out. Raises `EntryError` for a value
    that is no number or out of its range.
    """
    samples = config.get("do_sample")
    if samples is not None and not isinstance(samples, bool):
        raise EntryError(f"{where}: do_sample is {samples!r}; expected true or false")
    if not samples:
        return None
    stated = {field: config[field] for field in FIELDS if config.get(field) is not None}
    for field, value in stated.items():
        in_range, expected = _RANGES[field]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) < _HUGE or not in_range(value):
            raise EntryError(f"{where}: {field} is {value!r}; expected {expected}")
    if stated.get("temperature") == 0:
        return None
    defaults = {field: getattr(LIBRARY_DEFAULTS, field) for field in FIELDS}
    values = {**defaults, **stated}
    return EntryDecoding(
        values=Decoding(
            temperature=float(values["temperature"]),
            top_p=float(values["top_p"]),
            top_k=int(values["top_k"]),
            min_p=float(values["min_p"]),
            repetition_penalty=float(values["repetition_penalty"]),
        ),
        source="generation_config.json",
        sources={
            field: "generation_config.json" if field in stated else "library default" for field in FIELDS
        },
    )


def check_quote(readme: str, decoding: EntryDecoding, where: str) -> None:
    """Rule 1: the quoted words stand in the card's running text and state every value that is used.

    White space and Markdown marks are ignored. Raises `EntryError` when the words are not there, stand
    only inside a code block (values of a code example don't count), or lack a value.
    """
    quote = _plain(decoding.quote)
    if not quote:
        raise EntryError(f"{where}: no quote is recorded; copy the card's words into decoding.quote")
    if quote not in _plain(running_text(readme)):
        if quote in _plain(readme):
            raise EntryError(
                f"{where}: the quoted words stand only in a code block, a comment or the header; such "
                "values don't count (§5)"
            )
        raise EntryError(f"{where}: the quoted words are not in README.md: {decoding.quote!r}")
    numbers = {float(number) for number in _NUMBER.findall(decoding.quote)}
    for field, origin in decoding.sources.items():
        value = float(getattr(decoding.values, field))
        if origin == "card" and value not in numbers:
            raise EntryError(
                f"{where}: {field} = {value:g} is said to be from the card, but the quote lacks it"
            )


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())


def card_advice(readme: str) -> str:
    """A warning when the card's running text seems to recommend a temperature; only a person can tell."""
    found = _ADVICE.search(_plain(running_text(readme)))
    if found is None:
        return ""
    return (
        f"README.md speaks of {found[0].strip()!r}: if its maker recommends values, they come first (§5) and "
        "belong into an entry file, with the quote (docs/entries.md)"
    )
