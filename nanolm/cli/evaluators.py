"""`nanolm evaluators`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanolm.sandbox import Dataset, ProgramResult
    from nanolm.sandbox.truth import Progress

EDITION = click.option(
    "--edition", "-e", default="nano-lm-v1", show_default=True, help="Name of an edition, or its folder."
)
FOLDER = click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Read V1's official files from this folder instead of the fetched sources.",
)
DATASETS = click.argument("names", nargs=-1, metavar="[DATASET]...")


@click.group()
def command() -> None:
    """Install, prepare and check the official code evaluators.

    EvalPlus 0.3.1 judges MBPP+, EvoEval 0.1.0 with EvalPlus 0.2.0 judges EvoEval. Programs run in a
    bubblewrap sandbox; without a working one nothing is run. See docs/code-execution.md.
    """


@command.command()
def install() -> None:
    """Install both evaluators into the cache, every file's hash checked (about 900 MB).

    Nothing is fetched afterwards. Does nothing for what is there already.
    """
    from nanolm.sandbox import environment, probe
    from nanolm.sandbox.bubblewrap import bwrap
    from nanolm.sources import cache_folder

    for suite in environment.LOCKS:
        environment.install(suite, cache_folder(), click.echo)
    path, version = bwrap()
    probe.probe()
    click.echo(f"sandbox: {path} {'.'.join(map(str, version))} holds")


@command.command()
@EDITION
def status(edition: str) -> None:
    """Say whether programs can be run here, and what stands against their scores.

    Exit status 1 when they can't: the last line says why and what to do.
    """
    from nanolm.editions.read import load
    from nanolm.errors import NanoLMError
    from nanolm.sandbox import Evaluators, bubblewrap, environment, of_edition, probe, references
    from nanolm.sources import cache_folder

    chosen = load(edition)
    try:
        path, version = bubblewrap.bwrap()
        probe.probe()
        click.echo(f"sandbox: {path} {'.'.join(map(str, version))} holds")
        for suite in environment.LOCKS:
            click.echo(f"evaluator: {environment.require(suite, cache_folder()).folder.name} is installed")
        with Evaluators(of_edition(chosen), cache_folder()) as evaluators:
            marks = references.marks(evaluators)
    except NanoLMError as error:
        click.echo(f"Programs can't be run here: {error}")
        raise SystemExit(1) from None
    for mark in marks:
        click.echo(f"mark: {mark}")
    click.echo("Programs can be run here" + ("; code scores are marked" if marks else ""))


@command.command()
@EDITION
@FOLDER
@DATASETS
def prepare(edition: str, folder: Path | None, names: tuple[str, ...]) -> None:
    """Compute ground truth and reference times, once per machine and data set.

    Every sample's time limit follows from these times: keep the machine quiet. An interrupted run
    goes on where it stopped.
    """
    from nanolm.sandbox.probe import probe
    from nanolm.sandbox.truth import locate
    from nanolm.sandbox.truth import prepare as compute
    from nanolm.sources import cache_folder

    _warn_of_load()
    probe()
    for name, dataset in _datasets(edition, folder, names).items():
        prepared = locate(dataset, cache_folder())
        if not prepared.ready():
            compute(prepared, _progress())
        about = json.loads(prepared.about.read_text(encoding="utf-8"))
        click.echo(
            f"{name}: {about['tasks']} tasks, references {about['reference_seconds']:.1f} s "
            f"({about['cpu']}, load {about['load_before']})"
        )


@command.command()
@EDITION
@FOLDER
@click.option("--workers", type=click.IntRange(1), help="Sandboxes at once; default: the cores.")
@click.option("--task", "tasks", multiple=True, help="Only this task; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@DATASETS
def check(
    edition: str,
    folder: Path | None,
    workers: int | None,
    tasks: tuple[str, ...],
    as_json: bool,
    names: tuple[str, ...],
) -> None:
    """Run all reference solutions through the path that samples take (1,201 in V1).

    Prints each that failed and why. Exit status 1 when one did: this machine is too slow or too busy
    to give right programs their due, and its code scores are marked.
    """
    from nanolm.sandbox import Evaluators, references
    from nanolm.sources import cache_folder

    _warn_of_load()
    datasets = _datasets(edition, folder, names)
    with Evaluators(datasets, cache_folder(), workers=workers, report=_progress()) as evaluators:
        total = [0, 0]

        def report(name: str, task: str, verdict: "ProgramResult") -> None:
            total[0] += 1
            total[1] += verdict.passed
            if not verdict.passed:
                click.echo(f"{name} {task}: {verdict.detail}", err=True)
            elif total[0] % 50 == 0:
                click.echo(f"{total[1]} of {total[0]} references pass so far ({name})", err=True)

        found = references.check(evaluators, tuple(datasets), tasks or None, report)
    _show(found, as_json)
    if any(checked.failed for checked in found):
        raise SystemExit(1)


def _show(found: list[Any], as_json: bool) -> None:
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
        return
    for checked in found:
        click.echo(
            f"{checked.dataset:<22} {checked.passed:>5} of {checked.total:>4}  {checked.retried:>3} run again"
            f" alone  {checked.seconds:>7.1f} s  load {checked.load}"
        )
    passed, total = sum(c.passed for c in found), sum(c.total for c in found)
    seconds = sum(c.seconds for c in found)
    click.echo(f"{'all':<22} {passed:>5} of {total:>4}  {'':>19}  {seconds:>7.1f} s")
    if passed < total:
        click.echo(
            f"{total - passed} references fail here: the machine is too slow or too busy, and right "
            "programs of models would fail too. Check again with nothing else running; until then "
            "code scores are marked"
        )


def _datasets(edition: str, folder: Path | None, names: tuple[str, ...]) -> "dict[str, Dataset]":
    from nanolm.editions.read import load
    from nanolm.errors import unknown
    from nanolm.sandbox import of_edition, official

    known = official(folder) if folder is not None else of_edition(load(edition))
    for name in names:
        if name not in known:
            raise unknown("data set", name, known)
    return {name: known[name] for name in names or known}


def _progress() -> "Callable[[Progress], None]":
    import time

    last = [0.0]

    def show(progress: "Progress") -> None:
        if progress.done == progress.total or time.monotonic() - last[0] >= 2:
            last[0] = time.monotonic()
            click.echo(f"{progress.dataset}: ground truth {progress.done} of {progress.total}", err=True)

    return show


def _warn_of_load() -> None:
    import os

    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > cores:
        click.echo(
            f"warning: the load is {load:.1f} on {cores} cores; time limits are wall time, so do this on a "
            "quiet machine",
            err=True,
        )
