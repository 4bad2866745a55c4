"""One run: what the record lacks, to requests, to the engine, into the record, while verdicts follow."""

from nanolm.run.outputs import Followed, Outputs
from nanolm.run.run import RECORD_MODES, RecordMode, Run
from nanolm.run.suite import Selection, Suite

__all__ = ["RECORD_MODES", "Followed", "Outputs", "RecordMode", "Run", "Selection", "Suite"]
