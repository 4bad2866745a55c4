"""What a run has no verdict on: never wrong, but nothing that entries can be compared by."""

from collections.abc import Mapping

import msgspec

from nanolm.errors import counted
from nanolm.scoring.result import BenchmarkResult


class Unmeasured(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one benchmark that a run has no verdict on: they say nothing of the entry."""

    entry: str
    benchmark: str
    errors: int
    """Samples with the reason `error`: programs that were not run, or engine errors."""
    missing: int
    """Samples without an output, of items that have some."""
    of: int
    """All samples of these items."""

    def __str__(self) -> str:
        counts = [f"{self.errors:,} not judged (reason error)"] * bool(self.errors)
        counts += [f"{self.missing:,} missing"] * bool(self.missing)
        return (
            f"{self.benchmark}, not measured for {self.entry}: of {counted(self.of, 'sample')} {' and '.join(counts)}. "
            "The same run again, or `nanolm rescore` where programs can be run, measures them."
        )


def unmeasured(name: str, results: Mapping[str, BenchmarkResult]) -> list[Unmeasured]:
    """The benchmarks of `RunFolder.results` that are measured in part only; `name`: whose they are."""
    found = []
    for slug, result in results.items():
        of = result.samples * len(result.items)
        errors = result.reasons.get("error", 0)
        missing = of - int(result.correct.sum(dtype="int64")) - sum(result.reasons.values())
        if errors or missing:
            found.append(Unmeasured(entry=name, benchmark=slug, errors=errors, missing=missing, of=of))
    return found
