"""`nanolm edition`."""

from typing import Any

import click

from nanolm.cli import tables


@click.group()
def command() -> None:
    """List, show, lock and compare editions.

    NAME is an edition's name, or a folder with an edition.toml.
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_editions(as_json: bool) -> None:
    """The editions of this package."""
    from nanolm.editions.read import load, names

    found = [load(name) for name in names()]
    if as_json:
        tables.print_json(
            [
                {"name": each.name, "title": each.title, "version": each.version, "digest": each.digest}
                for each in found
            ]
        )
        return
    rows = [
        [
            each.name,
            each.version,
            f"{sum(spec.items for spec in each.benchmarks.values()):,}",
            each.digest,
            each.title,
        ]
        for each in found
    ]
    tables.print_table(None, ["edition", "version", ">items", "digest", "title"], rows)


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the suite table as Markdown.")
def show(name: str, as_json: bool, as_markdown: bool) -> None:
    """The suite table from the data: items, chance levels, licences, pins and sources' states."""
    from nanolm.editions.datasheet import datasheet, markdown
    from nanolm.editions.read import load

    sheet = datasheet(load(name))
    if as_json:
        tables.print_json(sheet)
    elif as_markdown:
        click.echo(markdown(sheet), nl=False)
    else:
        _print_sheet(sheet)


def _print_sheet(sheet: Any) -> None:
    from nanolm.editions.datasheet import level
    from nanolm.errors import counted

    tables.print_line(f"{sheet.title} ({sheet.name} {sheet.version}, digest {sheet.digest}): {sheet.summary}")
    tables.print_line(
        f"{counted(sheet.items, 'item')}; {counted(sheet.samples['sampled'], 'sample')}, "
        f"{sheet.samples['greedy']} when greedy; "
        f"budget {counted(sheet.budget, 'token')}; {' '.join(sheet.engine.values())}"
    )
    prescribed = []
    if sheet.decoding is not None:
        how = "greedy" if sheet.decoding.greedy else f"temperature {sheet.decoding.temperature:g}"
        prescribed.append(f"decoding prescribed for every entry: {how}")
    if sheet.prompting == "bare":
        prescribed.append("every model is asked with the bare text")
    elif sheet.base_models:
        prescribed.append("base models may answer, asked with the bare text")
    if prescribed:
        tables.print_line("; ".join(prescribed).capitalize())
    rows = []
    for line in sheet.benchmarks.values():
        difference = "-" if line.difference is None else f"{round(line.difference, 4) + 0.0:+.4f}"
        frozen = line.chance_rule or "not frozen"
        rows.append(
            [
                *(line.title, f"{line.items:,}", line.answer_type.replace("_", " ")),
                *(level(line.chance), frozen, level(line.published_chance), difference),
            ]
        )
    head = ["benchmark", ">items", "answer type", ">chance", "rule", ">published", ">differs"]
    tables.print_table("Suite", head, rows)
    used = {source.name: source for line in sheet.benchmarks.values() for source in line.sources}
    rows = [
        [source.name, source.state, source.revision[:12] or "-", source.repository or source.kind]
        for source in used.values()
    ]
    tables.print_table("Sources", ["source", "state here", "revision", "repository"], rows)
    rows = [
        [source.name, source.licence_protocol, source.licence_repository or "not stated"]
        for source in used.values()
    ]
    tables.print_table("Licences", ["source", "by the protocol", "by the repository"], rows)
    for reason in sheet.not_publishable_because:
        tables.print_line(f"Scores can't be published: {reason}.")


@command.command()
@click.argument("name")
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; rebuild and compare with what is frozen."
)
@click.option(
    "--replace", is_flag=True, help="Overwrite what is frozen, while the edition is not published yet."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def lock(name: str, only_check: bool, replace: bool, as_json: bool) -> None:
    """Fill in sums of first downloads; freeze items, prompts and chance levels.

    Over-long items that are not listed yet are found with the tokenizers of the edition's entries. What is
    frozen stays: a change is refused and the first item that differs is named. Exit status 1 on a change
    (with --check: on any drift, and when there is no data to check).
    """
    from nanolm.editions import lock as locking
    from nanolm.editions.read import load
    from nanolm.entries.counters import counters

    edition = load(name)
    if only_check:
        absent: dict[str, str] = {}
        checked, drifts = locking.check(edition, absent)
        if as_json:
            tables.print_json({"checked": checked, "drifts": drifts, "not_checked": absent})
        else:
            tables.print_line(
                f"Checked {len(checked)} of {len(edition.benchmarks)}: {', '.join(checked) or 'none'}"
            )
            for drift in drifts:
                tables.print_line(f"Drift: {drift.benchmark}: {drift.what}")
            for slug, why in absent.items():
                tables.print_line(f"Not checked: {slug}: {why}")
        if drifts or not checked:
            raise SystemExit(1)
        return
    report = locking.lock(edition, replace=replace, counters=lambda: counters(edition))
    if as_json:
        tables.print_json(report)
        return
    tables.print_line(f"Frozen: {', '.join(report.frozen) or 'nothing'}")
    if report.kept:
        tables.print_line(f"Kept as frozen before (no data here): {', '.join(report.kept)}")
    for what in report.filled:
        tables.print_line(f"Sum filled in: {what}")
    for slug, found in report.too_long.items():
        each = ", ".join(f"{item} ({tokenizer})" for item, tokenizer in found.items())
        tables.print_line(f"Over-long items of {slug}, left out from now on: {each}")
    if report.verified:
        tables.print_line(f"Data verified: {', '.join(report.verified)}")
    for slug, why in report.doubtful.items():
        tables.print_line(f"Data not verified: {slug}: {why}")
    for slug, why in report.missing.items():
        tables.print_line(f"Not frozen: {slug}: {why}")


@command.command()
@click.argument("before")
@click.argument("after")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def diff(before: str, after: str, as_json: bool) -> None:
    """What changed from edition BEFORE to edition AFTER, and what protocol section 10 asks for."""
    from nanolm.editions.difference import diff as difference
    from nanolm.editions.read import load

    found = difference(load(before, any_name=True), load(after, any_name=True))
    if as_json:
        tables.print_json(found)
        return
    for each in found.differences:
        tables.print_line(f"{each.what}: {_short(each.before)} -> {_short(each.after)}")
    for what, shown in found.untouched.items():
        tables.print_line(f"Untouched: {what} ({shown})")
    if found.not_shown:
        tables.print_line(f"Not frozen in both, so nothing is shown of: {', '.join(found.not_shown)}")
    follows = {
        "nothing": "No number changes.",
        "patch": "A patch edition: every stored output is rescored, nothing is generated anew.",
        "version": "A new version: every entry is run on it before the board switches.",
    }
    if found.needs == "nothing" and found.differences:
        tables.print_line(
            f"Only sources differ; `nanolm edition lock {after} --check` shows whether items do."
        )
        return
    tables.print_line(follows[found.needs])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:157]}..."
