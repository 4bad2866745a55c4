"""`nanolm check`."""

import shlex
import subprocess
import sys
from pathlib import Path

import click


@click.command()
@click.option(
    "--edition", "-e", default="nano-lm-v1", show_default=True, help="Name of an edition, or its folder."
)
@click.option("--reports-dir", default="reports", type=click.Path(path_type=Path), show_default=True)
@click.option(
    "--no-run", is_flag=True, help="Check the runs that are there instead of making what is missing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def command(edition: str, reports_dir: Path, no_run: bool, as_json: bool) -> None:
    """The sanity gate: oracle 100, constant 0, random near its expectation.

    Runs the three synthetic entries through the whole suite (no model), scores them, and writes check.json
    beside the runs, which `nanolm board` asks for. The edition's data must be here (`nanolm fetch`); mini
    needs none. Exit status 1 when a check fails.
    """
    from nanolm.reports import check
    from nanolm.reports.folders import edition_named

    suite = edition_named(edition, reports_dir)
    if suite.custom_of:
        edition = str(suite.folder)
    if not no_run:
        check.require_data(suite)
        for name in check.ENTRIES:
            _run(name, edition, reports_dir, reports_dir / suite.name / name, quiet=as_json)
    found = check.check(reports_dir / suite.name, suite)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        check.show(suite, found)
    if not found.ok:
        raise SystemExit(1)


def _run(entry: str, edition: str, reports: Path, folder: Path, *, quiet: bool) -> None:
    """Through the door that every run takes: pytest. Its exit status is judged by what it leaves behind in
    `folder`."""
    import nanolm
    from nanolm.errors import UsageError

    beside = Path(nanolm.__file__).resolve().parents[1] / "tests_benchmarks"
    tests = next((folder for folder in (Path("tests_benchmarks"), beside) if folder.is_dir()), None)
    if tests is None:
        raise UsageError(
            "the folder tests_benchmarks is not here; run this in a checkout of nanolm, or --no-run"
        )
    words = [sys.executable, "-m", "pytest", str(tests), f"--entry={entry}", f"--edition={edition}"]
    done = subprocess.run(
        [*words, f"--reports-dir={reports}", "-q", "--tb=no", "-p", "no:cacheprovider"],
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        check=False,
    )
    scored = (folder / "score.json").exists()
    if done.returncode in (0, 1) and scored:
        return
    if quiet:
        click.echo(done.stdout, err=True)
    left = "" if scored else f" and left no score in {folder.absolute()}"
    raise UsageError(
        f"the run of {entry} ended with pytest's status {done.returncode}{left}: why is said above; the "
        f"command was {shlex.join(words)}"
    )
