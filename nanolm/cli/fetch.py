"""`nanolm fetch`."""

from pathlib import Path

import click


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
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.argument("benchmarks", nargs=-1)
def command(edition: str, folder: Path | None, as_json: bool, benchmarks: tuple[str, ...]) -> None:
    """Get and verify an edition's sources, and build its item cache.

    Every file's SHA-256 is checked; wrong bytes are refused. With BENCHMARKS, only their sources.

    Exit status: 0 when everything that was offered is verified (with --from, what the folder lacks is
    listed, not an error); 1 on wrong bytes or when a download failed.
    """
    from nanolm.editions.fetch import fetch_edition, print_report, report_json
    from nanolm.editions.read import load

    chosen = load(edition)
    report = fetch_edition(chosen, benchmarks, from_folder=folder, quiet=as_json)
    if as_json:
        click.echo(report_json(report))
    else:
        print_report(chosen, report)
    if report.errors:
        raise SystemExit(1)
