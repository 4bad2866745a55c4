"""Metrics that the YAML at a model card's top states, in the hub's form (`model-index`)."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

import msgspec

from nanolm.entries.card import names as card_names
from nanolm.entries.card.benchmarks import Claim
from nanolm.entries.card.finding import Finding
from nanolm.entries.card.names import Names
from nanolm.entries.card.words import NAMES
from nanolm.entries.markdown import Line, header

_KEY = re.compile(r"""\s*["']?model-index["']?\s*:""")
_VALUE = re.compile(r"""(?<![\w-])["']?value["']?\s*:\s+["']?(?P<text>[-+]?[\d.]+(?:e[-+]?\d+)?)?""", re.I)
_MOST = 10_000
"""Metrics of one card that are read."""
_MOST_TEXT = 256 << 10
"""Characters of the YAML that is read."""
_PERPLEXITY = re.compile(r"perplexity|ppl", re.I)
_BITS = re.compile(r"bits[-_ ]per[-_ ]byte|bpb", re.I)
_ACCURACY = re.compile(r"\bacc(?:uracy|uracies)?(?:[_, ]\w+)*\b", re.I)


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric, and what it is of; texts are empty where nothing stands."""

    model: str
    dataset: str
    """Name, configuration and type."""
    shown: str
    """The dataset's name, for people."""
    kind: str
    """Type and name of the metric."""
    shots: str
    value: str
    line: int


def read(card: str, own: Names) -> tuple[list[Claim], list[Finding]]:
    """What can be compared, and the rest: benchmarks and metrics that we don't know."""
    lines = header(card)
    begun = next((number for number, line in lines if _KEY.match(line)), 0)
    if not begun:
        return [], []
    text = "\n".join(line for _, line in lines)
    try:
        if len(text) > _MOST_TEXT:
            raise ValueError(f"{len(text):,} characters, expected at most {_MOST_TEXT:,}")
        whole = msgspec.yaml.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        why = f"the YAML at the top can't be read: {' '.join(str(error).split())[:120]}"
        return [], [Finding(what="model-index", outcome="not checked", line=begun, why=why)]
    found = list(islice(_metrics(whole), _MOST))
    return _sorted(_placed(found, lines, begun), own)


def _sorted(found: list[Metric], own: Names) -> tuple[list[Claim], list[Finding]]:
    models = list(dict.fromkeys(one.model for one in found))
    mine = card_names.own_places(models, own)
    ours = {models[place] for place in mine} if mine and len(models) > 1 else set(models)
    claims: list[Claim] = []
    others: list[Finding] = []
    for one in found:
        if "stderr" in one.kind.casefold():
            continue  # of the number beside it
        claim = _claim(one)
        if isinstance(claim, Claim) and one.model not in ours:
            claim = f"it is said of {one.model}"
        if isinstance(claim, Claim):
            claims.append(claim)
        else:
            others.append(
                Finding(
                    what=one.shown or "model-index", outcome="not checked", line=one.line, why=claim,
                    stated=" ".join(part for part in (one.kind.split(";")[0], one.value[:40]) if part),
                )
            )  # fmt: skip
    return claims, others


def _claim(one: Metric) -> Claim | str:
    """The claim, or why it is not compared."""
    perplexity = "bits per byte" if _BITS.search(one.kind) else "perplexity"
    is_perplexity = perplexity != "perplexity" or _PERPLEXITY.search(one.kind) is not None
    name = NAMES.search(one.dataset)
    if name is None:
        return "not compared: no benchmark that we know"
    if not (is_perplexity or _ACCURACY.search(one.kind)):
        return f"not compared: its metric is {one.kind.split(';')[0] or 'not named'}"
    share = one.value.strip().endswith("%")
    digits = one.value.strip().rstrip("%").strip()
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return "not compared: its value is no number"
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return "not compared: its value is no finite number"
    scale = 100 if not (is_perplexity or share) and 0 <= value <= 1 and exponent < 0 else 1
    impossible = ""
    if not is_perplexity and not 0 <= value * scale <= 100:
        impossible = "no accuracy is below 0" if value < 0 else "no accuracy is above 100%"
    return Claim(
        what=perplexity if is_perplexity else name.group(0), text=one.value, value=value * scale,
        unit=Decimal(1).scaleb(min(exponent, 0)) * scale, line=one.line, impossible=impossible,
        near=f"{one.kind}; {one.dataset}; {one.shots}",
    )  # fmt: skip


def _placed(found: list[Metric], lines: list[Line], begun: int) -> list[Metric]:
    """With the line and the digits of each, where the card writes one value a line."""
    values = [(number, match) for number, line in lines if number > begun for match in _VALUE.finditer(line)]
    if len(values) != len(found):
        return [msgspec.structs.replace(one, line=begun) for one in found]
    return [
        msgspec.structs.replace(one, line=number, value=_written(match["text"], one.value))
        for one, (number, match) in zip(found, values, strict=True)
    ]


def _written(text: str | None, value: str) -> str:
    """A number as the card writes it: YAML drops its last zeros."""
    try:
        return text if text and Decimal(text) == Decimal(value) else value
    except InvalidOperation:
        return value


def _metrics(whole: Any) -> Iterator[Metric]:
    for model in _many(whole.get("model-index") if isinstance(whole, Mapping) else None):
        for result in _many(model.get("results")):
            dataset = next(iter(_many(result.get("dataset"))), {})
            arguments = next(iter(_many(dataset.get("args"))), {})
            shots = arguments.get("num_few_shot", arguments.get("num_fewshot"))
            for metric in _many(result.get("metrics")):
                yield Metric(
                    model=_text(model.get("name")),
                    dataset="; ".join(_text(dataset.get(key)) for key in ("name", "config", "type")),
                    shown=_text(dataset.get("name")) or _text(dataset.get("type")),
                    kind=f"{_text(metric.get('type'))}; {_text(metric.get('name'))}".strip("; "),
                    shots="" if shots is None else f"{_text(shots)}-shot",
                    value=_text(metric.get("value")),
                    line=0,
                )


def _many(found: Any) -> Iterator[Mapping[Any, Any]]:
    """The tables of a list, or the only one."""
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, Mapping):
            yield one


def _text(value: Any) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
