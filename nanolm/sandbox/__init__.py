"""Running untrusted programs with the official evaluators (protocol §7).

`Evaluators` gives official verdicts; `dataset` and `official` say what they read. `share` and
`connect` let several processes use one pool. Nothing here runs a program outside the sandbox.
"""

from nanolm.sandbox.datasets import Dataset, dataset, of_edition, official
from nanolm.sandbox.pool import Evaluators
from nanolm.sandbox.program import Program, ProgramResult, Run
from nanolm.sandbox.sharing import SharedEvaluators, connect, share

__all__ = [
    "Dataset",
    "Evaluators",
    "Program",
    "ProgramResult",
    "Run",
    "SharedEvaluators",
    "connect",
    "dataset",
    "of_edition",
    "official",
    "share",
]
