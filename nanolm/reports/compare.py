"""`nanolm compare`: reads runs, compares them pairwise, prints tables or JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nanolm.editions.edition import Edition
from nanolm.errors import ScoreError, UsageError
from nanolm.reports import extent
from nanolm.reports.extent import Extent
from nanolm.reports.folders import named
from nanolm.reports.unmeasured import Unmeasured, unmeasured
from nanolm.scoring.compare import Comparison, Difference, Results, Usefulness, compare, useful_middle


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The first entry against each of the others, and which benchmarks can tell all of them apart."""

    edition: Edition
    comparisons: tuple[Comparison, ...]
    middle: tuple[Usefulness, ...]
    partial: tuple[Extent, ...] = ()
    """Runs that lack verdicts: compared is only what all of them have."""
    left_out: tuple[Unmeasured, ...] = ()
    """Benchmarks that some entry has unmeasured items of: what was not measured is not wrong."""


def read(entries: Sequence[str], reports: Path, edition: str | None) -> Compared:
    """Find the runs and compare them. Raises `UsageError` for names without a run, `ScoreError` otherwise."""
    if len(entries) < 2:
        raise UsageError("a comparison needs two entries or more, e.g. `nanolm compare A B`")
    found, runs = named(list(entries), reports, edition)
    results = {name: run.results(found) for name, run in zip(entries, runs, strict=True)}
    if len(results) < len(entries):
        raise UsageError("the same entry is named twice; a comparison needs different entries")
    extents = [extent.of_results(run, found, results[name]) for name, run in zip(entries, runs, strict=True)]
    for each in extents:
        if not each.found:
            raise ScoreError(
                f"nothing to compare: {each.entry} has {each}; `nanolm rescore` judges its outputs, the same "
                "run again generates what is missing"
            )
    left_out = tuple(each for name in entries for each in unmeasured(name, results[name]))
    measured = _measured(results, left_out)
    first = entries[0]
    pairs = (compare(found, (first, measured[first]), (name, measured[name])) for name in entries[1:])
    return Compared(
        edition=found,
        comparisons=tuple(_without_means(found, pair, left_out) for pair in pairs),
        middle=tuple(useful_middle(found, measured)),
        partial=tuple(each for each in extents if each.partial),
        left_out=left_out,
    )


def _measured(results: Mapping[str, Results], left_out: Sequence[Unmeasured]) -> dict[str, Results]:
    """The results without the benchmarks left out. Raises `ScoreError` where an entry then has none."""
    slugs = {each.benchmark for each in left_out}
    measured: dict[str, Results] = {
        name: {slug: result for slug, result in of.items() if slug not in slugs}
        for name, of in results.items()
    }
    if slugs and not all(measured.values()):
        raise ScoreError("no benchmark is left to compare. " + " ".join(map(str, left_out)))
    return measured


def _without_means(edition: Edition, pair: Comparison, left_out: Sequence[Unmeasured]) -> Comparison:
    """No category of a benchmark left out, and no index, is the one that the edition defines (§8). An edition
    that leads with raw accuracies defines neither: each stands for a convention of its own."""
    if edition.headline == "raw":
        return msgspec.structs.replace(pair, index=None, categories={})
    if not left_out:
        return pair
    parts = {edition.benchmarks[each.benchmark].category for each in left_out}
    kept = {slug: difference for slug, difference in pair.categories.items() if slug not in parts}
    return msgspec.structs.replace(pair, index=None, categories=kept)


def as_json(found: Compared) -> str:
    """All numbers, as JSON."""
    value = {
        "edition": found.edition.name,
        "comparisons": [
            {
                **msgspec.to_builtins(each),
                "index": _told(each.index),
                "categories": {slug: _told(d) for slug, d in each.categories.items()},
                "benchmarks": {
                    slug: {**msgspec.to_builtins(b), "skill": _told(b.skill), "raw": _told(b.raw)}
                    for slug, b in each.benchmarks.items()
                },
            }
            for each in found.comparisons
        ],
        "useful_middle": msgspec.to_builtins(found.middle),
        "partial": msgspec.to_builtins(found.partial),
        "left_out": msgspec.to_builtins(found.left_out),
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()


def _told(difference: Difference | None) -> dict[str, object] | None:
    if difference is None:
        return None
    return {**msgspec.to_builtins(difference), "shown": difference.shown}


def show(found: Compared, list_items: bool) -> None:
    """Print a table per pair, then the useful middle and what was left out."""
    console = Console(highlight=False)
    for each in found.comparisons:
        console.print(_table(found.edition, each))
        if list_items:
            _show_items(console, each)
    at_edge = [line for line in found.middle if line.place != "middle"]
    for line in at_edge:
        title = found.edition.benchmarks[line.benchmark].title
        why = "every interval reaches chance" if line.place == "floor" else "every raw accuracy is above 90%"
        console.print(f"{title} can't tell these entries apart: at the {line.place}, {why}.", markup=False)
    for part in found.partial:
        console.print(f"{part.entry} is partial: {part}.", markup=False, soft_wrap=True)
    for missing in found.left_out:
        console.print(f"Left out: {missing}", markup=False, soft_wrap=True)
    if found.left_out and found.edition.headline != "raw":
        console.print("Without them there is no index, and no category that they belong to.", markup=False)


def _table(edition: Edition, each: Comparison) -> Table:
    """Fits 80 columns with titles of V1's length."""
    table = Table(
        title=escape(f"{each.first} minus {each.second}"),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("points", overflow="fold")
    for column in ("diff", "95% interval", "", "items", "need", "better on"):
        table.add_column(column, justify="left" if column == "" else "right", no_wrap=True)
    if each.index is not None:
        table.add_row("[b]Index[/b]", *_cells(each.index, 1.0))
    for category in edition.categories:
        if category.slug in each.categories:
            table.add_row(category.title, *_cells(each.categories[category.slug], 100.0))
    table.add_section()
    for slug, of in each.benchmarks.items():
        table.add_row(
            edition.benchmarks[slug].title,
            *_cells(of.raw, 100.0),
            f"{of.items:,}",
            "–" if of.items_needed is None else f"{of.items_needed:,}",
            f"{len(of.only_first)}:{len(of.only_second)}",
        )
    of_what = "raw accuracy"
    if edition.headline != "raw":
        of_what = "skill for the index and categories, raw accuracy for benchmarks"
    table.caption = (
        f"Paired bootstrap on the same items; {of_what}. ~: not shown to differ (the interval holds 0). need: items at which a difference "
        "of this size and spread would be shown. better on: items for the first : for the second."
    )
    return table


def _cells(difference: Difference, scale: float) -> tuple[str, str, str]:
    return (
        f"{scale * difference.value:+.2f}",
        f"{scale * difference.low:+.2f} to {scale * difference.high:+.2f}",
        "" if difference.shown else "~",
    )


def _show_items(console: Console, each: Comparison) -> None:
    for slug, of in each.benchmarks.items():
        for name, items in ((each.first, of.only_first), (each.second, of.only_second)):
            if items:
                console.print(f"{slug}, {name} does better: {' '.join(items)}", markup=False)
