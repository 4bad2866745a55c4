"""Formats side by side: `summary.csv` and `summary.json` over all entries, and the table of one run."""

import csv
import io
import math
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from nanolm.errors import RecordError
from nanolm.reports import details
from nanolm.reports.details import Details, Format
from nanolm.sources import cache

CSV, JSON = "summary.csv", "summary.json"
_HEAD = ("model", "params", "prompt_style", "total", "correct", "accuracy", "parse_errors", "elapsed_seconds")
_TAIL = ("low", "high", "chance", "skill", "wrong_answers", "mode", "complete")


def write(folder: Path, found: Details) -> list[Path]:
    """Write `details.json` into the entry's folder, and the summaries of all entries beside it anew.

    Entries of another state of the edition are left out of the summaries. Returns what was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / details.FILE
    cache.write_atomically(path, msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    together = read(folder.parent, found.edition_digest)
    cache.write_atomically(folder.parent / CSV, as_csv(together).encode())
    cache.write_atomically(folder.parent / JSON, as_json(together))
    return [path, folder.parent / CSV, folder.parent / JSON]


def read(folder: Path, digest: str) -> list[Details]:
    """All entries' details below an edition's reports, the smallest model first."""
    found = []
    for path in sorted(folder.glob(f"*/{details.FILE}")):
        try:
            one = msgspec.json.decode(path.read_bytes(), type=Details)
        except (OSError, msgspec.DecodeError) as error:
            raise RecordError(f"{path} can't be read: {error}; rescore that entry (nanolm rescore)") from None
        if one.edition_digest == digest:
            found.append(one)
    return sorted(found, key=lambda one: (one.params, one.model))


def categories(found: list[Details]) -> list[str]:
    """All categories, in the order of the questions."""
    formats = (each for one in found for each in one.formats.values())
    return list(dict.fromkeys(category for each in formats for category in each.by_category))


def as_csv(found: list[Details]) -> str:
    """A line per entry and format: the columns of the authors' runner, the format's name, and intervals."""
    columns = categories(found)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = (f"category {name}" if name in (*_HEAD, *_TAIL) else name for name in columns)
    writer.writerow([*_HEAD, *heads, *_TAIL])
    for one in found:
        for slug, each in one.formats.items():
            parts = (each.by_category.get(category) for category in columns)
            writer.writerow(
                [
                    *(one.model, one.params or "", slug, each.total, each.correct, f"{each.accuracy:.4f}"),
                    *(each.parse_errors, each.elapsed_seconds),
                    *(f"{part.accuracy:.4f}" if part else "" for part in parts),
                    *(f"{value:.4f}" for value in (each.low, each.high, each.chance, each.skill)),
                    *(each.wrong_answers, one.mode, str(one.complete).lower()),
                ]
            )
    return text.getvalue()


def as_json(found: list[Details]) -> bytes:
    """The same for programs: all but the single questions."""
    value: dict[str, Any] = {
        "edition": found[0].edition,
        "edition_digest": found[0].edition_digest,
        "custom_of": found[0].custom_of,
        "categories": categories(found),
        "note": note(found),
        "summaries": [
            {
                "model": one.model,
                "title": one.title,
                "mode": one.mode,
                "params": one.params,
                "complete": one.complete,
                "engine": one.engine,
                "formats": {slug: _without_questions(each) for slug, each in one.formats.items()},
            }
            for one in found
        ],
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _without_questions(each: Format) -> dict[str, Any]:
    table: dict[str, Any] = msgspec.to_builtins(each)
    del table["details"]
    return table


def note(found: list[Details]) -> str:
    """One line on what so many questions can show."""
    formats = [each for one in found for each in one.formats.values()]
    if not formats:
        return ""
    questions = max(each.questions for each in formats)
    parts = [part.total for each in formats for part in each.by_category.values()]
    step = f"; one question is {100 / max(parts):.0f} points of its category" if parts else ""
    at_30, at_50 = (196 * math.sqrt(p * (1 - p) / questions) for p in (0.3, 0.5))
    return (
        f"{questions} questions show a score to about ±{at_30:.0f} points at 30% and ±{at_50:.0f} at 50% (95%)"
        f"{step}. Whether two entries differ, `nanolm compare` says."
    )


def show(console: Console, found: Details) -> None:
    """Accuracy in percent by category, parse errors, and which steps decided: a column per format."""
    formats = list(found.formats.values())
    table = _table("raw accuracy, %", found)
    for category in categories([found]):
        parts = [each.by_category.get(category) for each in formats]
        table.add_row(f"  {category}", *(f"{100 * part.accuracy:.0f}" if part else "–" for part in parts))
    table.add_row("[bold]all questions[/bold]", *(f"[bold]{100 * each.accuracy:.1f}[/bold]" for each in formats))
    table.add_row("  95% interval", *(f"{100 * each.low:.1f} to {100 * each.high:.1f}" for each in formats))
    table.add_row("  chance", *(f"{100 * each.chance:.1f}" for each in formats))
    table.add_row("  chance-corrected", *(f"{100 * each.skill:.1f}" for each in formats))
    table.add_row("replies", *(f"{each.total}" for each in formats))
    table.add_row("  wrong answers", *(f"{each.wrong_answers}" for each in formats))
    table.add_row("  parse errors (wrong too)", *(f"{each.parse_errors}" for each in formats))
    table.add_row("read by step: replies (right)", *("" for _ in formats))
    for step in dict.fromkeys(step for each in formats for step in each.steps):
        parts = [each.steps.get(step) for each in formats]
        if any(part and part.total for part in parts):
            table.add_row(f"  {step}", *(f"{p.total} ({p.correct})" if p else "0" for p in parts))
    console.print(table)
    for each in formats:
        if len(set(each.answer_positions.values())) > 1 and found.custom_of:
            counts = ", ".join(f"{answer} {count}" for answer, count in each.answer_positions.items())
            console.print(f"{each.title}: right answers are not balanced ({counts})", markup=False)
    console.print(note([found]), markup=False)


def _table(title: str, found: Details) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(title, no_wrap=True)
    for each in found.formats.values():
        table.add_column(each.title.replace("[", "\\["), justify="right")
    return table
