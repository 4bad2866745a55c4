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
    from nanolm.reports.compare import find
    from nanolm.reports.export import export
    from nanolm.reports.folders import RunFolder, edition_named, edition_of

    written = []
    for name in entries:
        run = RunFolder(find(name, reports_dir, edition))
        own = run.score.edition
        found = edition_named(edition, reports_dir) if edition else edition_of(run.path.parent, own)
        path, rows = export(run, found, out)
        written.append({"file": str(path), "rows": rows, "card": str(path.with_suffix(".md"))})
    if as_json:
        click.echo(json.dumps(written))
        return
    for one in written:
        click.echo(f"{one['file']}: {one['rows']:,} rows; data card {one['card']}")
