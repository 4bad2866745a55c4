"""`nanolm board`."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--reports-dir",
    type=click.Path(path_type=Path),
    default=Path("reports"),
    show_default=True,
    help="Where FOLDER is looked for when it is not given.",
)
@click.option("-o", "--out", default="site", type=click.Path(path_type=Path), help="Where the pages go.")
@click.option("--edition", help="The edition, by name or folder (default: the one the runs name).")
@click.option(
    "--private", is_flag=True, help="Include items that must not be redistributed. For your own eyes only."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(
    folder: Path | None, reports_dir: Path, out: Path, edition: str | None, private: bool, as_json: bool
) -> None:
    """Build the board and item viewer from reports.

    FOLDER holds one edition's runs, e.g. reports/nano-lm-v1 (default: the only folder below the reports
    folder, or with --edition that edition's). The result opens from the file system, without a server. It
    is refused when runs of several editions lie there, and while a sanity check fails.
    """
    from nanolm.errors import counted
    from nanolm.reports.board import build
    from nanolm.reports.folders import edition_folder, edition_named, edition_of, runs
    from nanolm.reports.items import items_of

    named = edition_named(edition, folder.parent if folder else reports_dir) if edition is not None else None
    folder = edition_folder(folder, reports_dir, named.name if named else None)
    found = named or edition_of(runs(folder))
    built = build(folder, out, found, items_of(found), private=private)
    if as_json:
        click.echo(json.dumps({**built._asdict(), "page": str(built.page)}))
        return
    click.echo(
        f"{built.page}: {counted(built.entries, 'entry', 'entries')}, {built.ranked} ranked, "
        f"{counted(built.items, 'item')} to look at"
    )
    for note in (*built.evidence, *built.notes):
        click.echo(note)
    if built.left_out:
        click.echo(f"Items of {', '.join(built.left_out)} are left out: not to be redistributed (--private)")
