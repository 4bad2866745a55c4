"""`nanolm export`."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("entries", nargs=-1, required=True)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The folder to write to.")
@click.option("--reports-dir", default="reports", type=click.Path(path_type=Path), show_default=True)
@click.option("--edition", help="The edition, where an entry has runs of several (name or folder).")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(
    entries: tuple[str, ...], out: Path, reports_dir: Path, edition: str | None, as_json: bool
) -> None:
    """Write outputs and verdicts as Parquet, with a data card.

    ENTRIES are names below the reports folder, or run folders.
    """
    from nanolm.errors import counted
    from nanolm.reports.export import export
    from nanolm.reports.folders import named

    suite, runs = named(list(entries), reports_dir, edition)
    written = [export(run, suite, out) for run in runs]
    if as_json:
        click.echo(json.dumps([one.told for one in written]))
        return
    for one in written:
        partial = f", partial: {one.partial}" if one.partial else ""
        click.echo(f"{one.path}: {counted(one.rows, 'row')}{partial}; data card {one.card}")
