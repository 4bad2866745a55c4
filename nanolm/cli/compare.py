"""`nanolm compare`."""

from pathlib import Path

import click


@click.command()
@click.argument("entries", nargs=-1, required=True)
@click.option("--reports-dir", default="reports", type=click.Path(path_type=Path), show_default=True)
@click.option("--edition", help="The edition, where an entry has runs of several (name or folder).")
@click.option("--items", "list_items", is_flag=True, help="List the items on which the entries differ.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    entries: tuple[str, ...], reports_dir: Path, edition: str | None, list_items: bool, as_json: bool
) -> None:
    """Paired comparison of two or more entries on the same items.

    ENTRIES are names below the reports folder, or run folders. The first is compared with each of the
    others by a paired bootstrap; where an interval holds 0, the two are not shown to differ.

    Two of the form RUN#BENCHMARK compare two formulations of the same questions, of one edition or two:
    `nanolm compare my-model#arc-easy my-model#arc-easy-letter`.
    """
    from nanolm.reports import formulations

    if any(map(formulations.is_formulation, entries)):
        two = formulations.read(entries, reports_dir, edition)
        if as_json:
            click.echo(formulations.as_json(entries, two))
        else:
            formulations.show(entries, two, list_items)
        return
    from nanolm.reports import compare as report

    found = report.read(entries, reports_dir, edition)
    if as_json:
        click.echo(report.as_json(found))
    else:
        report.show(found, list_items)
