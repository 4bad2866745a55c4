"""`nanolm rescore`."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from nanolm.errors import UsageError, counted

_SHOWN = 200


@click.command()
@click.argument("entry", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every entry that has a record.")
@click.option(
    "--edition",
    "edition_name",
    help="The edition, by name or folder (default: the only one with a record of the entry).",
)
@click.option("--reports-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option("--diff", is_flag=True, help="List every verdict that changed, with both rules.")
@click.option(
    "--against",
    metavar="EDITION",
    help="Compare with the verdicts under this edition, by name (default: with the last ones).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object an entry.")
def command(
    entry: tuple[str, ...],
    everything: bool,
    edition_name: str | None,
    reports_dir: Path,
    diff: bool,
    against: str | None,
    as_json: bool,
) -> None:
    """Judge and score recorded outputs again; never generates.

    Writes verdicts.jsonl, score.json and rescore.json into reports/<edition>/<entry>. A patch edition
    judges the record of the edition it inherits from. An entry that can't be judged does not stop the
    others; exit status 1 when there was one.
    """
    from nanolm.errors import NanoLMError
    from nanolm.reports import recorded
    from nanolm.reports.folders import edition_named

    if edition_name is not None:
        edition = edition_named(edition_name, reports_dir)
        known = recorded.recorded(reports_dir, edition)
    elif entry or everything:
        edition = recorded.only_edition(reports_dir, () if everything else entry)
        known = recorded.recorded(reports_dir, edition)
    else:
        known = list(recorded.recorded_anywhere(reports_dir))
    names = list(dict.fromkeys([*entry, *(known if everything else [])]))
    if not names:
        found = ", ".join(known) or "none"
        where = reports_dir.absolute()
        raise UsageError(
            f"name an entry, or use --all; entries with a record in {where}: {found} (another folder: "
            "--reports-dir)"
        )
    failed = False
    for name in names:
        start = time.perf_counter()
        try:
            found = _one(edition, name, reports_dir, against)
        except NanoLMError as error:
            if len(names) == 1:
                raise
            click.echo(f"nanolm: {name}: {error}", err=True)
            failed = True
            continue
        _show(
            found,
            edition.index_title if edition.headline == "skill" else "",
            time.perf_counter() - start,
            diff,
            as_json,
        )
    if failed:
        raise SystemExit(1)


def _one(edition: Any, name: str, reports: Path, against: str | None) -> Any:
    from nanolm.plugin.checker import open_checking
    from nanolm.records.lock import held
    from nanolm.reports import recorded, rescore
    from nanolm.run import Suite
    from nanolm.verdicts import cache as caches
    from nanolm.verdicts import versions
    from nanolm.verdicts.judge import Judge

    versions.check(edition.extractors, edition.name)
    if name in recorded.recorded(reports, edition):
        record, target = recorded.folders(reports, edition, name)
        who = recorded.entry_of(record) or recorded.entry_named(name, edition, reports)
    else:
        who = recorded.entry_named(name, edition, reports)
        record, target = recorded.folders(reports, edition, who.name)
    before = None
    if against is not None:
        before = reports / against / target.name
        if not (before / "verdicts.jsonl").exists():
            raise UsageError(
                f"--against {against}: {before} has no verdicts.jsonl to compare with; expected the name of "
                f"an edition under which {target.name} was judged"
            )
    if held(record):
        click.echo(f"{name}: a run is writing this record; what it holds by now is judged", err=True)
    code = [slug for slug, spec in edition.benchmarks.items() if spec.answer_type == "code"]
    checking = open_checking(Suite(edition), code)
    try:
        with Judge.of(
            who,
            edition.extractors,
            checker=checking.checker,
            why_no_checker=checking.why_not,
            cache=caches.place(),
        ) as judge:
            found = rescore.rescore_entry(
                edition,
                who,
                judge,
                record,
                target,
                code_marks=lambda: checking.marks,  # asked after judging
                against=before,
                command=[Path(sys.argv[0]).name, *sys.argv[1:]],
                progress=_progress(name),
            )
    finally:
        checking.close()
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)
    if checking.why_not:
        click.echo(f"{name}: code was not run: {checking.why_not}", err=True)
    return found


def _progress(name: str) -> Any:
    if not sys.stderr.isatty():
        return None

    def tell(done: int) -> None:
        if done % 1000 == 0:
            click.echo(f"\r{name}: {done:,} judged", nl=False, err=True)

    return tell


def _show(found: Any, title: str, seconds: float, diff: bool, as_json: bool) -> None:
    import msgspec

    if as_json:
        changes = [msgspec.to_builtins(change) for change in found.changes] if diff else None
        content = {
            "entry": found.entry,
            "outputs": found.outputs,
            "missing": found.missing,
            "changed": len(found.changes),
            "kept": found.kept,
            "time_outs": found.time_outs,
            "index": found.score.index.value if found.score.index else None,
            **({"changes": changes} if diff else {}),
        }
        click.echo(msgspec.json.encode(content))
        return
    index = f"; {title} {found.score.index.value:.2f}" if found.score.index else f"; {title} none"
    changed = "no verdicts were there before"
    if found.compared:
        changed = f"{counted(len(found.changes), 'verdict')} changed"
    missing = counted(found.missing, "output is", "outputs are")
    notes = [f"incomplete: {missing} missing"] if found.missing else []
    notes += [f"{counted(found.kept, 'code verdict')} taken over"] if found.kept else []
    notes += [counted(found.time_outs, "math time-out")] if found.time_outs else []
    click.echo(
        f"{found.entry}: {counted(found.outputs, 'output')} judged in {seconds:.1f} s, "
        f"{changed}{index if title else ''}" + (f" ({', '.join(notes)})" if notes else "")
    )
    if found.beside_complete:
        click.echo(
            f"{found.entry}: the record holds less than score.json counts; score.json and verdicts.jsonl "
            "stay as they are, these numbers are in score.partial.json. Was the record damaged?",
            err=True,
        )
    if diff:
        for change in found.changes[:_SHOWN]:
            click.echo(f"  {change}")
        if len(found.changes) > _SHOWN:
            click.echo(f"  … {len(found.changes) - _SHOWN:,} more; all with --json --diff")
