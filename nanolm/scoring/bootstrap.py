"""The bootstrap of §8: 10,000 resamples of items within a benchmark, the same ones for every entry.

Everything up to the sums is integer arithmetic, so the result is equal on any machine:

- The generator is PCG64, seeded from SHA-256 of the benchmark's slug. Only its raw 64-bit words are used,
  whose stream NumPy guarantees to keep.
- A word is two draws. A 32-bit draw u names item `u * n >> 32`. (Items' chances differ by less than
  n / 2^32, that is 3 in a million for 10,000 items.)
- Scores are counts of right samples on a common scale (quarters for four samples), so that sums are
  integers far below 2^24 and float32 matrix products are exact, in any order of summation.
- The interval's bounds are the 250th smallest and the 250th largest of the 10,000 values.
"""

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nanolm.errors import ScoreError

RESAMPLES = 10_000
LEVEL = 0.95

_ROWS = 32  # resamples drawn at a time: small enough to stay in the processor's cache
_FLOAT32_EXACT = 1 << 24
_ONE_THREAD = 1 << 18  # multiplications; a larger product starts BLAS threads that spin between products
_GATHER_AT_MOST = 2  # with more columns, counting once for all of them is quicker

Sums = npt.NDArray[np.int64]


def _generator(slug: str) -> np.random.PCG64:
    seed = int.from_bytes(hashlib.sha256(slug.encode()).digest(), "big")
    return np.random.PCG64(np.random.SeedSequence(seed))


def resampled_items(slug: str, items: int, resamples: int = RESAMPLES) -> Iterator[npt.NDArray[np.int64]]:
    """Blocks of shape (rows, items) of item positions; all blocks together have `resamples` rows.

    A block is only valid until the next one is asked for: its memory is used again.
    """
    if not 0 < items < 1 << 31:
        raise ScoreError(f"benchmark {slug!r}: {items} items can't be resampled")
    bits, half = _generator(slug), (items + 1) // 2
    drawn = np.empty((_ROWS, 2, half), dtype=np.uint64)
    positions = np.empty((_ROWS, items), dtype=np.int64)
    for start in range(0, resamples, _ROWS):
        rows = min(_ROWS, resamples - start)
        words = bits.random_raw(rows * half).reshape(rows, half)
        block = drawn[:rows]
        np.bitwise_and(words, np.uint64(0xFFFFFFFF), out=block[:, 0])
        np.right_shift(words, np.uint64(32), out=block[:, 1])
        block *= np.uint64(items)
        block >>= np.uint64(32)
        if items % 2 == 0:
            yield block.reshape(rows, items).view(np.int64)
        else:  # an odd number of items leaves the last half word unused
            positions[:rows] = block.reshape(rows, 2 * half)[:, :items]
            yield positions[:rows]


def resampled_sums(slug: str, values: npt.NDArray[np.integer], resamples: int = RESAMPLES) -> Sums:
    """Sums of `values` over resampled items: shape (items, columns) in, (resamples, columns) out, exact.

    Values are small integers (counts of right samples, or differences of them). Columns whose values are
    all equal need no draws, so an oracle's interval costs nothing and changes nothing.
    """
    items, columns = values.shape
    sums = np.empty((resamples, columns), dtype=np.int64)
    constant = (values == values[0]).all(axis=0)
    sums[:, constant] = items * values[0, constant].astype(np.int64)
    varying = np.flatnonzero(~constant)
    if varying.size == 0:
        return sums
    if varying.size <= _GATHER_AT_MOST:
        sums[:, varying] = _by_gathering(slug, values[:, varying], resamples)
    else:
        sums[:, varying] = _by_counting(slug, values[:, varying], resamples)
    return sums


def _by_gathering(slug: str, values: npt.NDArray[np.integer], resamples: int) -> Sums:
    """Look up every drawn item's value: one pass per column."""
    columns = [np.ascontiguousarray(column, dtype=np.int16) for column in values.T]
    sums = np.empty((resamples, len(columns)), dtype=np.int64)
    start = 0
    for block in resampled_items(slug, len(values), resamples):
        for k, column in enumerate(columns):
            sums[start : start + len(block), k] = column.take(block).sum(axis=1, dtype=np.int32)
        start += len(block)
    return sums


def _by_counting(slug: str, values: npt.NDArray[np.integer], resamples: int) -> Sums:
    """Count how often every item was drawn, then one matrix product for all columns."""
    items = len(values)
    exact = int(np.abs(values.astype(np.int64)).max()) * items < _FLOAT32_EXACT
    kind = np.float32 if exact else np.float64
    weights = values.astype(kind)
    counts = np.empty((_ROWS, items), dtype=kind)
    width = max(1, _ONE_THREAD // (_ROWS * values.shape[1]))
    sums = np.empty((resamples, values.shape[1]), dtype=np.int64)
    start = 0
    for block in resampled_items(slug, items, resamples):
        for row, drawn in enumerate(block):
            counts[row] = np.bincount(drawn, minlength=items)
        product = np.zeros((len(block), weights.shape[1]), dtype=kind)
        for first in range(0, items, width):
            product += counts[: len(block), first : first + width] @ weights[first : first + width]
        sums[start : start + len(block)] = product
        start += len(block)
    return sums


def bounds(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The 95% percentile interval of resampled values: with 10,000, the 250th smallest and largest."""
    tail = max(1, round(len(values) * (1 - LEVEL) / 2))
    ordered = np.partition(values, (tail - 1, len(values) - tail))
    return float(ordered[tail - 1]), float(ordered[len(values) - tail])
