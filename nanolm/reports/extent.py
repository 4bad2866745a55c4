"""How much of what an edition asks a run holds: outputs or verdicts, of how many."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from nanolm.editions.edition import Edition
from nanolm.errors import counted
from nanolm.reports.run_folder import RunFolder
from nanolm.scoring.result import BenchmarkResult
from nanolm.verdicts.file import Key

_NAMED = 3  # benchmarks that a message names


class Short(msgspec.Struct, frozen=True):
    """A benchmark of which a run does not hold all."""

    benchmark: str
    found: int
    of: int

    def __str__(self) -> str:
        return f"{self.benchmark} {self.found:,} of {self.of:,}"


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """What a run holds of one kind."""

    entry: str
    what: str
    """`output` or `verdict`."""
    found: int
    of: int
    """All items of the edition times the entry's samples."""
    short: tuple[Short, ...]

    @property
    def partial(self) -> bool:
        """Whether anything is missing."""
        return bool(self.short)

    def __str__(self) -> str:
        return f"{self.found:,} of {counted(self.of, self.what)}" + (f" ({self.lacking})" if self.short else "")

    @property
    def lacking(self) -> str:
        """The first benchmarks that are short, each with its counts, and how many more there are."""
        more = len(self.short) - _NAMED
        named = ", ".join(map(str, self.short[:_NAMED]))
        return named + (f" and {counted(more, 'more benchmark')}" if more > 0 else "")


def of_counts(run: RunFolder, edition: Edition, what: str, found: Mapping[str, int]) -> Extent:
    """From how many there are, by benchmark; what is not the edition's does not count."""
    asked = {slug: spec.items * run.score.samples for slug, spec in edition.benchmarks.items()}
    return Extent(
        entry=run.name,
        what=what,
        found=sum(found.get(slug, 0) for slug in asked),
        of=sum(asked.values()),
        short=tuple(
            Short(slug, found.get(slug, 0), of) for slug, of in asked.items() if found.get(slug, 0) < of
        ),
    )


def of_keys(run: RunFolder, edition: Edition, what: str, keys: Iterable[Key]) -> Extent:
    """From the samples there are; one that stands twice counts once."""
    return of_counts(run, edition, what, Counter(benchmark for benchmark, _, _ in set(keys)))


def of_results(run: RunFolder, edition: Edition, results: Mapping[str, BenchmarkResult]) -> Extent:
    """From what scoring counted of the verdicts."""
    return of_counts(
        run,
        edition,
        "verdict",
        {
            slug: int(result.correct.sum(dtype="int64")) + sum(result.reasons.values())
            for slug, result in results.items()
        },
    )
