"""`nanolm fetch`."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from nanolm.cli import tables


@click.command()
@click.option(
    "--edition", "-e", default="nano-lm-v1", show_default=True, help="Name of an edition, or its folder."
)
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    help="Take the files from this folder (official paths or accepted mirror forms) instead of the network.",
)
@click.option("--again", is_flag=True, help="Download files whose sum is not pinned yet anew.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.argument("benchmarks", nargs=-1)
def command(
    edition: str, folder: Path | None, again: bool, as_json: bool, benchmarks: tuple[str, ...]
) -> None:
    """Get and verify an edition's sources, and build its item cache.

    Every file's SHA-256 is checked; wrong bytes are refused. With BENCHMARKS, only their sources.

    Exit status: 0 when everything that was offered is verified (with --from, what the folder lacks is
    listed, not an error); 1 on wrong bytes or when a download failed.
    """
    from nanolm.editions.fetch import fetch_edition
    from nanolm.editions.read import load
    from nanolm.errors import UsageError

    if again and folder is not None:
        raise UsageError("found --again with --from, expected one of them: --again is about downloads")
    chosen = load(edition)
    report = fetch_edition(chosen, benchmarks, from_folder=folder, progress=not as_json, again=again)
    if as_json:
        tables.print_json(report)
    else:
        _print_report(chosen, report)
    if report.errors:
        raise SystemExit(1)


def _print_report(edition: Any, report: Any) -> None:
    from nanolm.editions.items import fetch_command
    from nanolm.editions.read import sources_of
    from nanolm.sources.files import own_missing

    rows = []
    for source in report.sources:
        counts = Counter(file.state for file in source.files)
        forms = {file.form for file in source.files} - {"", "official"}
        state = ", ".join(f"{count} {name}" for name, count in counts.items())
        rows.append(
            [
                source.source,
                str(len(source.files)),
                f"{state} ({', '.join(sorted(forms))})" if forms else state,
            ]
        )
    tables.print_table(f"Sources of {edition.title}", ["source", ">files", "state"], rows)
    rows = [
        [each.benchmark, "-" if each.items is None else f"{each.items:,}", f"{each.expected:,}"]
        for each in report.benchmarks
    ]
    tables.print_table("Items", ["benchmark", ">items", ">expected"], rows)
    for each in report.benchmarks:
        if each.note:
            tables.print_line(f"{each.benchmark}: {each.note}")
    for error in dict.fromkeys(report.errors):
        click.echo(f"nanolm: {error}", err=True)
    lock = sources_of(edition)
    absent = {source.source: own_missing(lock, source.source) for source in report.sources if source.missing}
    for own in filter(None, absent.values()):
        click.echo(f"Missing: {own}")
    missing = [name for name, own in absent.items() if not own]
    if missing:
        click.echo(f"Missing: {', '.join(missing)}. Get them with: {fetch_command(edition)}")
