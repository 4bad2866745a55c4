"""The process that asks math-verify: `python -m nanolm.verdicts.worker PARENT SECONDS`.

Reads `[gold, expression]` as a JSON line from standard input and answers `1` or `0` in a line. Ends
when its input ends, when its parent dies, and when one question takes more than SECONDS of processor
time (the operating system ends it by SIGPROF, which also stops a computation inside C).
"""

import contextlib
import ctypes
import json
import logging
import os
import resource
import signal
import sys
import warnings
from typing import IO

READY = b"ready\n"
# sympy needs about 150 MB; a tower of powers would take all there is before its time is up.
_MEMORY = 2 << 30
_PR_SET_PDEATHSIG = 1


def main(parent: int, seconds: float) -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _die_with(parent)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = _channels()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    from nanolm.answers import math_expression

    math_expression.equal("1", "2")  # loads the grammar and sympy, before anyone's time runs
    answers.write(READY)
    for line in questions:
        gold, expression = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        correct = math_expression.equal(gold, expression)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(b"1\n" if correct else b"0\n")


def _die_with(parent: int) -> None:
    """Linux ends this process when the thread that started it ends, even by kill -9."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit()


def _channels() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output as they were; a library that prints writes to standard error instead."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return questions, answers


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
