"""The summary of a run: one table, what went wrong, and where the files are."""

import os
import shlex
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nanolm.editions import Edition
from nanolm.entries import Entry
from nanolm.reports import summary
from nanolm.reports.details import Details
from nanolm.run import Run, Suite
from nanolm.schema import BenchmarkScore, EntryScore

RAW_LINE = "[bold]Raw accuracies.[/bold] Each stands for its own convention; no mean is taken over them."
FEW = 20
"""So many items at most, and each wrong one is shown with its text."""


def show(
    reporter: Any,
    *,
    suite: Suite,
    entry: Entry,
    score: EntryScore | None,
    details: Details | None = None,
    folder: Path,
    files: Sequence[Path],
    problems: Sequence[str],
    missed: Sequence[str],
    advice: str,
    texts: Sequence[str],
) -> None:
    """Write the summary through pytest's terminal reporter.

    `problems`: why the run is not valid, then `advice` says what to do. `missed`: gates that are not met.
    """
    reporter.section(f"{suite.edition.title}: {entry.title}", "=")
    for text in texts:
        reporter.write_line(f"· {text}")
    width = max(reporter._tw.fullwidth, 80 if reporter.isatty else 110)
    out = StringIO()
    colours = bool(reporter._tw.hasmarkup)
    console = Console(
        file=out,
        width=width,
        force_terminal=colours,
        color_system="standard" if colours else None,
        highlight=False,
        legacy_windows=False,
    )
    if score is not None:
        if suite.edition.headline == "raw":
            console.print(raw_table(suite, score))
            console.print(RAW_LINE + ("" if score.complete else " [yellow]partial[/yellow]"))
        else:
            console.print(table(suite, score))
            console.print(index_line(score, suite.edition))
    if details is not None:
        console.print()
        summary.show(console, details)
    if score is not None and score.not_publishable_because:
        console.print("[dim]Not publishable:[/dim] " + "; ".join(map(_plain, score.not_publishable_because)))
    for problem in problems:
        console.print("[red]Not valid:[/red] " + _plain(problem), soft_wrap=True)
    for condition in missed:
        console.print("[red]Gate not met:[/red] " + _plain(condition), soft_wrap=True)
    if problems:
        console.print(_plain(advice), soft_wrap=True)
    record = "outputs.jsonl.zst" if (folder / "outputs.jsonl.zst").exists() else "outputs.jsonl"
    console.print(f"Files: {_plain(where([folder / record, *files]))}", soft_wrap=True)
    reporter.write(out.getvalue())


def where(files: Sequence[Path]) -> str:
    """The files by folder, each folder as it can be pasted: relative to the working directory where it lies
    below it, else absolute."""
    folders: dict[Path, dict[str, None]] = {}
    for path in files:
        folders.setdefault(Path(os.path.abspath(path.parent)), {})[path.name] = None
    here = Path.cwd()
    parts = []
    for folder, names in folders.items():
        shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
        text = shlex.quote(f"{shown}/") if " " in str(shown) else f"{shown}/"
        parts.append(f"{text} ({', '.join(names)})")
    return ", ".join(parts)


def advice(run: Run, *, stopped: bool = False, code_not_run: str = "") -> str:
    """What to do after a run that is not valid: the same again only where that can go better.

    `stopped`: at a wrong answer, as pytest was asked to. `code_not_run`: why programs can't be run here.
    """
    if run.mode == "none" and not all(map(run.record.has, run.keys)):
        return "What is recorded is kept: run it without --record-mode=none to generate what is missing."
    if run.never_began:
        return "Nothing new was generated: mend what is said above first, then run the command again."
    if stopped:
        return "What is recorded is kept: -x and --maxfail stop at wrong answers; run it without them to go on."
    if code_not_run:
        install = "nanolm evaluators install"
        first = f"run `{install}`" if install in code_not_run else "mend why code is not run (said above)"
        return f"What is recorded is kept: first {first}, then the same command again."
    return "What is recorded is kept: run the same command again to go on."


def items_were(count: int, subject: int | None = None) -> str:
    """The verb is the subject's, where there is one: `3 of 20 items were`.

    >>> items_were(1), items_were(1_000), f"1 of {items_were(20, 1)}"
    ('1 item was', '1,000 items were', '1 of 20 items was')
    """
    one = (count if subject is None else subject) == 1
    return f"{count:,} item{'' if count == 1 else 's'} {'was' if one else 'were'}"


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def index_line(score: EntryScore, edition: Edition) -> str:
    """The index with its interval, or why there is none."""
    title = _plain(edition.index_title)
    if score.index is None:
        asked = {spec.category for spec in edition.benchmarks.values()}
        empty = [category.title for category in edition.categories if category.slug not in asked]
        if empty:
            return f"[bold]{title}[/bold] none: {edition.name} has no benchmark of {_plain(', '.join(empty))}"
        return f"[bold]{title}[/bold] none: not every benchmark was run and measured"
    interval = ""
    if score.index.low is not None and score.index.high is not None:
        interval = f" (95% {score.index.low:.2f} to {score.index.high:.2f})"
    raw = f", raw index {score.raw_index:.2f}" if score.raw_index is not None else ""
    mark = "" if score.complete else " [yellow]partial[/yellow]"
    return f"[bold]{title} {score.index.value:.2f}[/bold]{interval}{raw}{mark}"


def table(suite: Suite, score: EntryScore) -> Table:
    """Per category and benchmark: items, raw, chance, skill, tokens, truncated, reasons."""
    found = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    found.add_column("benchmark", no_wrap=True)
    for name in ("items", "raw", "chance", "skill", "tokens", "trunc."):
        found.add_column(name, justify="right", no_wrap=True)
    found.add_column("not right")
    for category in suite.edition.categories:
        inside = [
            slug
            for slug, spec in suite.edition.benchmarks.items()
            if spec.category == category.slug and slug in score.benchmarks
        ]
        if not inside:
            continue
        interval = score.categories.get(category.slug)
        skill = f"{interval.value:.4f}" if interval else "–"
        found.add_row(
            f"[bold]{_plain(category.title)}[/bold]", "", "", "", f"[bold]{skill}[/bold]", "", "", ""
        )
        for slug in inside:
            found.add_row(*_row(suite.edition.benchmarks[slug].title, score.benchmarks[slug]))
    return found


def raw_table(suite: Suite, score: EntryScore) -> Table:
    """Per category and benchmark: items, raw accuracy with its interval, chance, reasons."""
    found = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    found.add_column("benchmark", no_wrap=True)
    for name in ("items", "raw", "95% interval", "chance"):
        found.add_column(name, justify="right", no_wrap=True)
    found.add_column("not right")
    for category in suite.edition.categories:
        inside = [slug for slug in score.benchmarks if suite.edition.benchmarks[slug].category == category.slug]
        if inside:
            found.add_row(f"[bold]{_plain(category.title)}[/bold]", "", "", "", "", "")
        for slug in inside:
            one = score.benchmarks[slug]
            known = one.raw_low is not None and one.raw_high is not None
            found.add_row(
                f"  {_plain(suite.edition.benchmarks[slug].title)}",
                f"{one.items:,}",
                f"{one.raw:.4f}",
                f"{one.raw_low:.4f} to {one.raw_high:.4f}" if known else "–",
                f"{one.chance:.4f}",
                _reasons(one),
            )
    return found


def _reasons(one: BenchmarkScore) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in one.reasons.items())


def _row(title: str, one: BenchmarkScore) -> list[str]:
    return [
        f"  {_plain(title)}",
        f"{one.items:,}",
        f"{one.raw:.4f}",
        f"{one.chance:.4f}",
        f"{one.skill:.4f}",
        f"{one.mean_output_tokens:,.0f}",
        f"{one.truncated_share:.0%}",
        _reasons(one),
    ]
