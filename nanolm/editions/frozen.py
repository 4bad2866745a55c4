"""`frozen.json` and `frozen.digests.txt`: what an edition's items, prompts and chance levels were when
it was frozen. Anything that changes one of them is a new edition (§10)."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanolm.errors import EditionError, counted
from nanolm.schema import Item, Prompt

NAME = "frozen.json"
DIGESTS = "frozen.digests.txt"

_SHORT = 8
_PER_LINE = 12


class FrozenBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark as it was frozen."""

    items: int
    chance: float
    chance_rule: str
    """`constant`, `uniform` or `open-ended` (§8)."""
    published_chance: float | None
    difference: float | None
    """`chance - published_chance`, rounded to 6 digits."""
    digest: str
    """SHA-256 over the items' digests in order, the first 16 hex digits."""


class Frozen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `frozen.json`."""

    edition: str
    digest: str
    """SHA-256 over the benchmarks' digests, the first 16 hex digits."""
    benchmarks: dict[str, FrozenBenchmark]
    not_frozen: tuple[str, ...] = ()
    """Benchmarks whose data could not be had when it was written."""


def read_frozen(folder: Path) -> Frozen | None:
    """An edition's `frozen.json`, None when there is none yet."""
    path = folder / NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Frozen)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EditionError(f"{path} can't be read: {error.strerror or error}") from None
    except msgspec.DecodeError as error:
        raise EditionError(
            f"{path} is not what `nanolm edition lock` writes: {error}; take back the file that was written, "
            "or remove it and lock again"
        ) from None
    for slug, each in found.benchmarks.items():
        if not 0 <= each.chance < 1:
            raise EditionError(
                f"{path}: the chance level of {slug} is {each.chance}; expected at least 0 and below 1"
            )
    return found


def item_digests(items: Sequence[Item], prompts: Sequence[Prompt]) -> list[str]:
    """SHA-256 of each item with its prompt, in order: all that is asked and all that decides a verdict.

    `Item.source` is not part of it: the same row of an official file and of a mirror form has one digest.
    """
    labels: dict[int, str] = {}
    digests = []
    for item, prompt in zip(items, prompts, strict=True):
        if item.labels and id(item.labels) not in labels:
            labels[id(item.labels)] = _sha256(list(item.labels))
        functions: dict[str, Any] = msgspec.to_builtins(item.functions)
        parts = [
            *(item.benchmark, item.id, item.answer_type, item.question, item.gold, list(item.options)),
            *(labels.get(id(item.labels), ""), item.documentation, functions, item.function, item.preamble),
            *(item.dataset, item.task, item.group, prompt.text),
        ]
        if item.normalisation != "none":
            parts.append(item.normalisation)
        digests.append(_sha256(parts))
    return digests


def benchmark_digest(digests: Sequence[str]) -> str:
    """One digest for all items of a benchmark, order included."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def edition_digest(benchmarks: dict[str, FrozenBenchmark]) -> str:
    """One digest for all benchmarks of an edition."""
    return _sha256({slug: each.digest for slug, each in benchmarks.items()})[:16]


def _sha256(value: object) -> str:
    # ensure_ascii: every text has a digest, lone surrogates too. Python's own JSON: integers of any size.
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digests_text(digests: dict[str, list[str]]) -> str:
    """The text of `frozen.digests.txt`: for each benchmark the first 8 hex digits of each item's digest."""
    lines = [
        "# The first 8 hex digits of each item's digest, in item order; written by `nanolm edition lock`."
    ]
    for slug, each in digests.items():
        lines.append(f"[{slug}] {len(each)}")
        short = [digest[:_SHORT] for digest in each]
        lines += [" ".join(short[at : at + _PER_LINE]) for at in range(0, len(short), _PER_LINE)]
    return "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise EditionError(
            f"{path} is not UTF-8 text: {error}; take back the file that was written"
        ) from None
    except OSError as error:
        raise EditionError(f"{path} can't be read: {error.strerror or error}") from None


def read_digests(folder: Path) -> dict[str, list[str]]:
    """The short item digests by benchmark; none when the edition has no such file."""
    path = folder / DIGESTS
    if not path.exists():
        return {}
    found: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    current: list[str] | None = None
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.startswith("#"):
            continue
        header = re.fullmatch(r"\[([a-z0-9-]+)\] (\d+)", line)
        if header:
            current = found.setdefault(header[1], [])
            counts[header[1]] = int(header[2])
        elif current is not None and re.fullmatch(r"[0-9a-f]{8}( [0-9a-f]{8})*", line):
            current += line.split(" ")
        else:
            raise EditionError(
                f"{path}, line {number}: found {line[:40]!r}, expected digests of 8 hex digits"
            )
    for slug, count in counts.items():
        if len(found[slug]) != count:
            raise EditionError(
                f"{path}: [{slug}] has {counted(len(found[slug]), 'digest')}, expected {count}"
            )
    return found


def check_frozen(folder: Path, slug: str, items: Sequence[Item], prompts: Sequence[Prompt]) -> None:
    """Raise `EditionError` naming the first item that is not what was frozen.

    A benchmark that has not been frozen is not checked.
    """
    frozen = read_frozen(folder)
    if frozen is None or slug not in frozen.benchmarks:
        return
    digests = item_digests(items, prompts)
    if benchmark_digest(digests) == frozen.benchmarks[slug].digest:
        return
    raise EditionError(
        f"{slug} is not what {folder / NAME} froze: {first_difference(folder, slug, items, digests)}. "
        "If that is meant, it is a new edition: copy the folder and lock it under a new name"
    )


def first_difference(folder: Path, slug: str, items: Sequence[Item], digests: Sequence[str]) -> str:
    """The first item that differs from the frozen digests, in words."""
    before = read_digests(folder).get(slug, [])
    for index, (item, digest, old) in enumerate(zip(items, digests, before, strict=False)):
        if not digest.startswith(old):
            return f"the first item that differs is {item.id} (number {index + 1}, from {item.source})"
    if len(before) != len(digests):
        return f"{counted(len(digests), 'item')}, {len(before):,} frozen"
    return f"no short digest differs; is {DIGESTS} of another edition?"
