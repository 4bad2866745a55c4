"""`nanolm rescore`."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from nanolm.errors import UsageError

_SHOWN = 200


@click.command()
@click.argument("entry", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every entry that has a record.")
@click.option("--edition", "edition_name", default="nano-lm-v1", show_default=True, help="Name or folder.")
@click.option("--reports-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option("--diff", is_flag=True, help="List every verdict that changed, with both rules.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an entry.")
def command(
    entry: tuple[str, ...], everything: bool, edition_name: str, reports_dir: Path, diff: bool, as_json: bool
) -> None:
    """Judge and score recorded outputs again; never generates.

    Writes verdicts.jsonl and score.json into reports/<edition>/<entry>. A patch edition judges the
    record of the edition it inherits from.
    """
    from nanolm.reports import rescore
    from nanolm.reports.folders import edition_named

    edition = edition_named(edition_name, reports_dir)
    names = rescore.recorded(reports_dir, edition) if everything else list(entry)
    if not names:
        found = ", ".join(rescore.recorded(reports_dir, edition)) or "none"
        raise UsageError(f"name an entry, or use --all; entries with a record in {reports_dir}: {found}")
    for name in names:
        start = time.perf_counter()
        found = _one(edition, name, reports_dir)
        _show(found, edition.index_title, time.perf_counter() - start, diff, as_json)


def _one(edition: Any, name: str, reports: Path) -> Any:
    from nanolm import entries
    from nanolm.plugin.checker import open_checking
    from nanolm.reports import rescore
    from nanolm.run import Suite
    from nanolm.sources.cache import cache_folder
    from nanolm.verdicts.judge import Judge

    if (reports / edition.name / name).is_dir() or any(reports.glob(f"*/{name}/outputs.jsonl*")):
        record, target = rescore.folders(reports, edition, name)
        who = rescore.entry_of(record) or entries.resolve(name, edition)
    else:
        who = entries.resolve(name, edition)
        record, target = rescore.folders(reports, edition, who.name)
    code = [slug for slug, spec in edition.benchmarks.items() if spec.answer_type == "code"]
    checking = open_checking(Suite(edition), code)
    try:
        with Judge.of(who, edition.extractors, checker=checking.checker, cache=cache_folder()) as judge:
            found = rescore.rescore_entry(
                edition, who, judge, record, target, code_marks=checking.marks, progress=_progress(name)
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
            "changed": len(found.changes),
            "kept": found.kept,
            "time_outs": found.time_outs,
            "index": found.score.index.value if found.score.index else None,
            **({"changes": changes} if diff else {}),
        }
        click.echo(msgspec.json.encode(content))
        return
    index = f"{found.score.index.value:.2f}" if found.score.index else "none (benchmarks are missing)"
    notes = [f"{found.kept:,} code verdicts taken over"] if found.kept else []
    notes += [f"{found.time_outs:,} math time-outs"] if found.time_outs else []
    click.echo(
        f"{found.entry}: {found.outputs:,} outputs judged in {seconds:.1f} s, "
        f"{len(found.changes):,} verdicts changed; {title} {index}"
        + (f" ({', '.join(notes)})" if notes else "")
    )
    if diff:
        for change in found.changes[:_SHOWN]:
            click.echo(f"  {change}")
        if len(found.changes) > _SHOWN:
            click.echo(f"  … {len(found.changes) - _SHOWN:,} more; all with --json --diff")
