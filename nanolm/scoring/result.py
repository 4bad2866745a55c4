"""What scoring starts from: how many samples of each item are right, per benchmark."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from nanolm.editions.edition import BenchmarkSpec
from nanolm.errors import ScoreError
from nanolm.schema import Verdict

Counts = npt.NDArray[np.uint8]


class BenchmarkResult(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One entry's verdicts on one benchmark, as counts. Raises `ScoreError` when they can't be."""

    slug: str
    category: str
    chance: float
    """The chance level (§8), in [0, 1)."""
    chance_rule: str
    """`constant`, `uniform` or `open-ended`."""
    items: tuple[str, ...]
    """Item ids, each once, in any order."""
    correct: Counts
    """Shape (items,): the number of right samples of each item, 0 to `samples`."""
    samples: int
    """Samples per item, 1 or more."""
    mean_output_tokens: float = 0.0
    truncated_share: float = 0.0
    """Truncated samples over all samples (§9)."""
    reasons: Mapping[str, int] = {}
    """Samples that are not correct, by reason (§6.3)."""

    def __post_init__(self) -> None:
        where = f"benchmark {self.slug!r}"
        if not self.items:
            raise ScoreError(f"{where} has no items, so it has no score; expected at least one")
        if len(set(self.items)) != len(self.items):
            twice = next(item for item in self.items if self.items.count(item) > 1)
            raise ScoreError(f"{where}: item {twice!r} stands twice among its items; ids must be unique")
        if self.correct.shape != (len(self.items),) or self.correct.dtype != np.uint8:
            raise ScoreError(
                f"{where}: counts have shape {self.correct.shape} and type {self.correct.dtype}; "
                f"expected ({len(self.items)},) and uint8, one count per item"
            )
        if not 1 <= self.samples <= 255 or int(self.correct.max()) > self.samples:
            raise ScoreError(
                f"{where}: {int(self.correct.max())} right samples of an item of {self.samples} samples"
            )
        if not 0.0 <= self.chance < 1.0:
            raise ScoreError(f"{where}: chance level {self.chance!r}; expected a value in [0, 1)")

    @property
    def raw(self) -> float:
        """raw_b (§8): the mean over items of the mean over samples. One rounding: both are integers."""
        return int(self.correct.sum(dtype=np.int64)) / (self.samples * len(self.items))

    def in_order_of_ids(self) -> "BenchmarkResult":
        """The same with items in ascending order of id (by code point): the order that is resampled, so
        that an interval depends on the verdicts only and not on the order of a file."""
        order = sorted(range(len(self.items)), key=self.items.__getitem__)
        return self.only(order)

    def only(self, positions: Sequence[int]) -> "BenchmarkResult":
        """The same for some of the items, by position."""
        return msgspec.structs.replace(
            self, items=tuple(self.items[i] for i in positions), correct=self.correct[list(positions)]
        )


class Tally:
    """Counts verdicts of one benchmark until its result is asked for."""

    def __init__(
        self, spec: BenchmarkSpec, chance: float, chance_rule: str, items: Sequence[str], samples: int
    ) -> None:
        self.spec, self.chance, self.chance_rule = spec, chance, chance_rule
        self.items, self.samples = tuple(items), samples
        self._position = {item: i for i, item in enumerate(self.items)}
        self._seen = np.zeros((len(self.items), samples), dtype=np.bool_)
        self._correct = np.zeros((len(self.items), samples), dtype=np.bool_)
        self._reasons: dict[str, int] = {}
        self._tokens = 0

    def add(self, item: str, sample: int, verdict: Verdict, output_tokens: int) -> None:
        """Count one output. Raises `ScoreError` for an item or sample that is not asked, or a second time."""
        position = self._position.get(item)
        if position is None or not 0 <= sample < self.samples:
            raise ScoreError(
                f"benchmark {self.spec.slug!r}: verdict on item {item!r}, sample {sample}, not among "
                f"its {len(self.items)} items with {self.samples} samples each"
            )
        if self._seen[position, sample]:
            raise ScoreError(
                f"benchmark {self.spec.slug!r}: two verdicts on item {item!r}, sample {sample}; expected one"
            )
        self._seen[position, sample] = True
        self._correct[position, sample] = verdict.correct
        self._tokens += output_tokens
        if not verdict.correct:
            reason = verdict.reason or "wrong"
            self._reasons[reason] = self._reasons.get(reason, 0) + 1

    @property
    def missing(self) -> int:
        """Samples without a verdict. They count as not correct (principle 5) and make a run incomplete."""
        return int(self._seen.size - self._seen.sum())

    def result(self) -> BenchmarkResult:
        """The counts so far."""
        seen = int(self._seen.sum())
        return BenchmarkResult(
            slug=self.spec.slug,
            category=self.spec.category,
            chance=self.chance,
            chance_rule=self.chance_rule,
            items=self.items,
            correct=self._correct.sum(axis=1, dtype=np.uint8),
            samples=self.samples,
            mean_output_tokens=self._tokens / seen if seen else 0.0,
            truncated_share=self._reasons.get("truncated", 0) / seen if seen else 0.0,
            reasons=dict(sorted(self._reasons.items())),
        )
