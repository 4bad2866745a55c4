"""What goes into the evaluators and what comes out."""

from collections.abc import Hashable
from typing import Literal

import msgspec

SLOW_SECONDS = 1.0
"""No input's time limit is shorter: what fails faster did not run into one."""
ENOUGH_CPU = 0.8
PREEMPTIONS = 15.0
"""Seconds of processor time, and preemptions, in a second on the clock: what a starved check has less, and
more, of. With 40 busy processes on 2 cores a looping check had 0.12 and 34 to 80, a sleeping one 0.02 and 6.
"""

Status = Literal["pass", "fail", "timeout", "error"]
"""The official evaluator's word, and `error` when the evaluator itself was brought down."""


class Program(msgspec.Struct, frozen=True):
    """One program to run: the preamble followed by the extracted code (§7)."""

    key: Hashable
    """The caller's own name for it; comes back with the result."""
    dataset: str
    task: str
    program: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One official check of one program."""

    base: Status
    plus: Status | None
    """None for the EvoEval subsets that have one set of tests."""
    seconds: float
    """Wall time of the check."""
    cpu: float = 0.0
    """CPU seconds of the check and of the zygote for it; 0 when the sandbox died."""
    preemptions: int = 0
    """How often a process of the check had to give way to another while it could have run."""
    note: str = ""
    """Why it is an `error`."""

    @property
    def passed(self) -> bool:
        """§7: a sample passes only if every test the official evaluator runs passes."""
        return self.base == "pass" and self.plus in ("pass", None)

    @property
    def starved(self) -> bool:
        """It did not pass, and for want of processor time it may have run into its time limits.

        A program that only sleeps is not preempted; one that loops on a quiet machine has all the time.
        """
        wanting = self.cpu < ENOUGH_CPU * self.seconds and self.preemptions > PREEMPTIONS * self.seconds
        return not self.passed and self.seconds >= SLOW_SECONDS and wanting

    @property
    def status(self) -> Status:
        """The one word for both test sets: the first that is not `pass`."""
        return self.base if self.base != "pass" or self.plus is None else self.plus

    def __str__(self) -> str:
        words = f"base {self.base}, plus {self.plus}" if self.plus is not None else self.base
        little = f" with {self.cpu:.2f} s of processor time" if self.starved else ""
        return f"{words} in {self.seconds:.2f} s{little}" + (f" ({self.note})" if self.note else "")


class ProgramResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a program, with all the runs that led to it."""

    passed: bool
    status: Status
    """`fail` and `timeout` are the evaluator's; `error`: the program brought its checker down, or the
    sandbox died of it. Whichever it is, only `pass` scores."""
    seconds: float
    """Wall time of the run that decided."""
    cpu: float = 0.0
    """Its CPU seconds."""
    detail: str
    """For people: each test set's status and wall time, and the first run when there were two."""
    retried: bool = False
    """The first run did not pass and took a second or more, so it was run once more alone."""
    first: Run | None = None
    """The first run, when there were two."""
    starved: bool = False
    """It did not pass, and the machine was too busy to say that it would not have (`Run.starved`)."""


def result(run: Run, first: Run | None = None) -> ProgramResult:
    """The verdict: the last run decides; an earlier one is kept beside it."""
    detail = str(run) if first is None else f"{run}, alone; at first {first}"
    return ProgramResult(
        passed=run.passed,
        status=run.status,
        seconds=run.seconds,
        cpu=run.cpu,
        detail=detail,
        retried=first is not None,
        first=first,
        starved=run.starved,
    )
