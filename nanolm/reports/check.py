"""`nanolm check`: the sanity gate over the runs of oracle, constant and random (§10)."""

from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from nanolm.editions.edition import Edition
from nanolm.editions.items import fetch_command, load_items
from nanolm.editions.read import sources_of
from nanolm.errors import RecordError, ScoreError, SourceError
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.gate import FILE, CheckFile
from nanolm.scoring.sanity import Check, guess_chance, sanity
from nanolm.sources.files import held_files

ENTRIES = ("oracle", "constant", "random")


def require_data(edition: Edition) -> None:
    """Raises `SourceError`, saying what to do, unless all data of the edition are here: the gate is over whole
    runs only."""
    sources = dict.fromkeys(source for spec in edition.benchmarks.values() for source in spec.sources)
    try:
        held_files(sources_of(edition), list(sources), fetch_command(edition))
    except SourceError as error:
        raise SourceError(
            f"{edition.name} can't be checked: {error}; or check the edition that needs no data: "
            "`nanolm check --edition mini`"
        ) from None


def check(folder: Path, edition: Edition) -> CheckFile:
    """Check the three runs below `folder` and write check.json there, which a board asks for.

    Raises `RecordError` when one is not there, `ScoreError` when it belongs to another state of the
    edition or is not whole.
    """
    scores = {}
    for name in ENTRIES:
        if not (folder / name / "score.json").exists():
            raise RecordError(
                f"no run of {name!r} with a score in {folder.absolute()}: make it with `pytest tests_benchmarks "
                f"--entry={name} --edition={edition.name}`, or all three with `nanolm check` without --no-run"
            )
        run = RunFolder(folder / name)
        if run.score.edition_digest != edition.digest:
            raise ScoreError(
                f"{folder / name} was scored under {run.score.edition} ({run.score.edition_digest}), "
                f"expected {edition.name} ({edition.digest}); run or rescore {name} again"
            )
        if not run.score.complete:
            why = "; ".join(run.score.not_publishable_because) or "outputs are missing"
            raise ScoreError(f"the run of {name!r} in {folder} is not complete: {why}")
        scores[name] = run.score
    chances = {
        slug: [guess_chance(item) for item in load_items(edition, slug).items] for slug in edition.benchmarks
    }
    checks = tuple(sanity(edition, scores, chances))
    found = CheckFile(
        edition=edition.name,
        edition_digest=edition.digest,
        ok=all(one.ok for one in checks),
        checks=checks,
        notes=tuple(
            f"{name}: {'; '.join(scores[name].not_publishable_because)}"
            for name in ENTRIES
            if any(one.entry == name and not one.ok for one in checks)
        ),
    )
    path = folder / FILE
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    part.replace(path)
    return found


def show(edition: Edition, found: CheckFile) -> None:
    """Print a line per check."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("entry", "what", "found", "expected", "within", ""):
        table.add_column(column, justify="right" if column in ("found", "expected", "within") else "left")
    for one in found.checks:
        table.add_row(one.entry, *_cells(edition, one), "ok" if one.ok else "[red]FAILS[/red]")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "random: one seeded draw beside the exact expectation, within 5 standard deviations (ruling 78)."
    )
    for note in found.notes:
        console.print(note, markup=False)


def _cells(edition: Edition, one: Check) -> tuple[str, str, str, str]:
    if one.what == "index":
        return "index", f"{one.found:.4f}", f"{one.expected:.4f}", f"± {one.tolerance:.4f}"
    title = edition.benchmarks[one.what].title
    return (
        f"{title} raw",
        f"{100 * one.found:.2f}%",
        f"{100 * one.expected:.2f}%",
        f"± {100 * one.tolerance:.2f}%",
    )
