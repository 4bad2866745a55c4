"""The item viewer's data: an index per benchmark, and chunks of texts that are loaded when looked at.

Files below `<site>/data/`, each one call `nanolm(name, value)` so that a page opened from the file system can
load it with a script tag (a page there may not fetch):

    <benchmark>/index.js         ids, groups, beginnings of questions; a letter per entry, item and sample
    <benchmark>/items-<k>.js     prompts and golds of items k·CHUNK …
    <benchmark>/<entry>-<k>.js   what the entry wrote on them
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nanolm.reports.run_folder import RunFolder
from nanolm.reports.reply import parts
from nanolm.verdicts.file import Key, VerdictLine

CHUNK = 40
"""Items per file: a few hundred kilobytes of text, for one screen that is looked at."""
SNIPPET = 160
LETTERS = {
    None: "c",
    "wrong": "w",
    "unparseable": "u",
    "truncated": "t",
    "unsupported": "s",
    "error": "e",
}
MISSING = "-"


class ShownItem(NamedTuple):
    """What the viewer shows of an item."""

    prompt: str
    question: str
    gold: Any
    group: str


class BenchmarkItems(NamedTuple):
    """A benchmark's items in order; `shown` lacks those whose text is not at hand."""

    ids: Sequence[str]
    shown: Mapping[str, ShownItem]


ItemsOf = Callable[[str], BenchmarkItems | None]
"""From a benchmark's slug; None when its items can't be loaded."""


def write(
    folder: Path, runs: Sequence[RunFolder], benchmarks: Sequence[str], items_of: ItemsOf
) -> dict[str, int]:
    """Write all data files of `benchmarks`; returns the number of items per benchmark.

    A benchmark is left out by not naming it. Memory holds one entry's outputs on one benchmark at most.
    """
    with tempfile.TemporaryDirectory(prefix="nanolm-board-") as spool:
        letters: dict[str, dict[str, dict[str, str]]] = {slug: {} for slug in benchmarks}
        ids: dict[str, dict[str, None]] = {slug: {} for slug in benchmarks}
        for number, run in enumerate(runs):
            mine: dict[str, dict[str, dict[int, VerdictLine]]] = {}
            for line in run.verdicts():
                if line.benchmark in ids:
                    mine.setdefault(line.benchmark, {}).setdefault(line.item, {})[line.sample] = line
            _spool(run, mine, Path(spool), number)
            for slug, by_item in mine.items():
                letters[slug][run.name] = {
                    item: _letters(lines, run.score.samples) for item, lines in by_item.items()
                }
                ids[slug].update(dict.fromkeys(by_item))
        counts = {}
        for slug in benchmarks:
            items = _ordered(items_of(slug), ids[slug])
            _write_benchmark(folder / slug, slug, items, runs, letters[slug])
            for number, run in enumerate(runs):
                _write_outputs(
                    folder / slug, slug, run.file_name, items.ids, Path(spool) / f"{number}-{slug}"
                )
            counts[slug] = len(items.ids)
    return counts


def _ordered(items: BenchmarkItems | None, seen: Mapping[str, None]) -> BenchmarkItems:
    """The benchmark's own order, only items that some entry answered."""
    if items is None:
        return BenchmarkItems(sorted(seen), {})
    known = [item for item in items.ids if item in seen]
    return BenchmarkItems(known + sorted(seen.keys() - set(known)), items.shown)


def _spool(
    run: RunFolder, verdicts: Mapping[str, Mapping[str, Mapping[int, VerdictLine]]], folder: Path, number: int
) -> None:
    """Cut the entry's outputs and sort them into a file per benchmark."""
    files = {slug: (folder / f"{number}-{slug}").open("w", encoding="ascii") for slug in verdicts}
    try:
        for output in run.outputs():
            by_item = verdicts.get(output.benchmark)
            line = by_item.get(output.item, {}).get(output.sample) if by_item is not None else None
            if line is None:
                continue
            shown = {
                "parts": parts(output.text, line.verdict, run.closer),
                "reason": line.reason,
                "correct": line.correct,
                "answer": as_text(line.answer),
                "rule": line.rule,
                "detail": line.detail,
                "tokens": output.output_tokens,
                "finish": output.finish_reason,
                "error": output.error,
                "seconds": round(output.seconds, 2),
                "seed": output.seed,
            }
            files[output.benchmark].write(json.dumps([output.item, output.sample, shown]) + "\n")
    finally:
        for file in files.values():
            file.close()


def as_text(value: Any) -> str | None:
    """An answer or gold as people read it: text as it is, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=1)


def _letters(lines: Mapping[int, VerdictLine], samples: int) -> str:
    return "".join(LETTERS.get(lines[k].reason, "w") if k in lines else MISSING for k in range(samples))


def _write_benchmark(
    folder: Path,
    slug: str,
    items: BenchmarkItems,
    runs: Sequence[RunFolder],
    letters: Mapping[str, Mapping[str, str]],
) -> None:
    shown = [items.shown.get(item) for item in items.ids]
    index = {
        "ids": list(items.ids),
        "groups": [one.group if one else "" for one in shown],
        "snippets": [" ".join(one.question.split())[:SNIPPET] if one else "" for one in shown],
        "verdicts": {
            run.file_name: [letters[run.name].get(item, MISSING * run.score.samples) for item in items.ids]
            for run in runs
            if run.name in letters
        },
    }
    script(folder / "index.js", f"{slug}/index", index)
    for k, chunk in _chunks(shown):
        values = [{"prompt": one.prompt, "gold": as_text(one.gold)} if one else None for one in chunk]
        script(folder / f"items-{k}.js", f"{slug}/items-{k}", values)


def _write_outputs(folder: Path, slug: str, entry: str, ids: Sequence[str], spooled: Path) -> None:
    if not spooled.exists():
        return
    outputs: dict[Key, Any] = {}  # the last line of a sample counts: it replaced an error
    with spooled.open(encoding="ascii") as file:
        for line in file:
            item, sample, shown = json.loads(line)
            outputs[slug, item, sample] = shown
    by_item: dict[str, dict[int, Any]] = {}
    for (_, item, sample), shown in sorted(outputs.items(), key=lambda pair: pair[0]):
        by_item.setdefault(item, {})[sample] = shown
    for k, chunk in _chunks(ids):
        values = [by_item.get(item, {}) for item in chunk]
        if any(values):
            script(folder / f"{entry}-{k}.js", f"{slug}/{entry}-{k}", values)


def _chunks(values: Sequence[Any]) -> Iterator[tuple[int, Sequence[Any]]]:
    for start in range(0, len(values), CHUNK):
        yield start // CHUNK, values[start : start + CHUNK]


def script(path: Path, name: str, value: Any) -> None:
    """Write `nanolm(name, value)` as ASCII. `<` is escaped, so that no text can end a script element."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    path.write_text(f"nanolm({json.dumps(name)},{text});\n", encoding="ascii")
