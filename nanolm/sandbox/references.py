"""Does this machine give the references their due? The reference solutions through the samples' path (§7).

A machine that fails some is too slow or too busy: it would fail right programs too. What was found is
kept beside the ground truth, and `marks` says what stands against a machine's code scores.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from nanolm.errors import counted
from nanolm.sandbox.pool import Evaluators
from nanolm.sandbox.program import Program, ProgramResult
from nanolm.sandbox.truth import Prepared, cpu_model


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a data set's references."""

    dataset: str
    key: str
    """`Evaluators.cache_key`."""
    passed: int
    total: int
    failed: dict[str, str]
    """Task to the verdict's detail."""
    retried: int
    """How many passed, or failed, only after a second run alone."""
    seconds: float
    load: float
    """The machine's load average (1 minute) at the end."""
    cores: int
    cpu: str
    when: str


def check(
    evaluators: Evaluators,
    datasets: Sequence[str],
    tasks: Iterable[str] | None = None,
    report: Callable[[str, str, ProgramResult], None] | None = None,
) -> list[Checked]:
    """Run the reference solutions of these data sets; `report` gets data set, task and verdict of each.

    With `tasks` only those, and nothing is kept.
    """
    chosen = None if tasks is None else frozenset(tasks)
    found = []
    for name in datasets:
        start = time.monotonic()
        prepared = evaluators.prepare(name)
        wanted = {
            task: program
            for task, program in prepared.references().items()
            if task not in prepared.dataset.excluded and (chosen is None or task in chosen)
        }
        failed: dict[str, str] = {}
        retried = 0
        for task, verdict in evaluators.check_all(
            Program(task, name, task, program) for task, program in wanted.items()
        ):
            retried += verdict.retried
            if not verdict.passed:
                failed[str(task)] = verdict.detail
            if report:
                report(name, str(task), verdict)
        checked = Checked(
            dataset=name,
            key=prepared.key(),
            passed=len(wanted) - len(failed),
            total=len(wanted),
            failed=failed,
            retried=retried,
            seconds=round(time.monotonic() - start, 1),
            load=round(os.getloadavg()[0], 2),
            cores=len(os.sched_getaffinity(0)),
            cpu=cpu_model(),
            when=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        if chosen is None:
            _place(prepared).write_text(json.dumps(msgspec.to_builtins(checked), indent=1), encoding="utf-8")
        found.append(checked)
    return found


def marks(evaluators: Evaluators) -> tuple[str, ...]:
    """What stands against code scores of this machine; empty when all references pass here.

    To be asked when all programs are judged: it counts those that a busy machine may have failed.
    """
    found = []
    if evaluators.starved:
        found.append(
            f"{counted(evaluators.starved, 'program')} that did not pass ran short of processor time: "
            "rescore on a machine that does nothing else"
        )
    for name in evaluators.datasets:
        prepared = evaluators.locate(name)
        try:
            checked = msgspec.json.decode(_place(prepared).read_bytes(), type=Checked)
        except (FileNotFoundError, msgspec.DecodeError):
            found.append(f"the references of {name} were not run here (nanolm evaluators check)")
            continue
        if checked.key != prepared.key():
            found.append(f"the references of {name} were run with other versions")
        elif checked.failed:
            found.append(
                f"{len(checked.failed)} of {checked.total} references of {name} fail on this machine"
            )
    return tuple(found)


def _place(prepared: Prepared) -> Path:
    return prepared.folder / "references-checked.json"
