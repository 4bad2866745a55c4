"""`nanolm groups`."""

from pathlib import Path

import click

from nanolm.cli import tables


@click.command()
@click.argument("entry")
@click.argument("benchmarks", nargs=-1)
@click.option("--edition", "-e", help="The edition, where the entry has runs of several (name or folder).")
@click.option("--reports-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    entry: str, benchmarks: tuple[str, ...], edition: str | None, reports_dir: Path, as_json: bool
) -> None:
    """Raw accuracy by group: sets of BLiMP, subjects of MMLU-CF, variants of HellaSwag-Pro.

    ENTRY is a name below the reports folder, or a run folder; with BENCHMARKS only theirs.
    """
    import msgspec

    from nanolm.reports import groups
    from nanolm.reports.folders import edition_named, find

    asked = edition_named(edition, reports_dir) if edition is not None else None
    folder = find(entry, reports_dir, asked.name if asked else None)
    chosen = asked or edition_named(folder.parent.name, folder.parent.parent)
    found = groups.by_group(chosen, folder, benchmarks)
    if as_json:
        tables.print_json([{**msgspec.to_builtins(one), "accuracy": one.accuracy} for one in found])
        return
    rows = [
        (one.benchmark, one.group, f"{one.replies:,}", f"{one.correct:,}", f"{one.accuracy:.4f}")
        for one in found
    ]
    tables.print_table(None, ["benchmark", "group", ">replies", ">right", ">raw"], rows)
