"""Do the intervals cover the true index in 95% of boards?

    python perf/coverage.py [boards]

Entries with a known true index: on every board, items are drawn anew from a fixed population (each item has
its own chance of being answered right), answered by three made-up entries, scored, and the index interval
is compared with the population's index. Prints the share of intervals that hold it, with its own Wilson
interval. Sizes are V1's, divided by eight, so that 200 boards take about a minute.
"""

import sys
import time

import msgspec
import numpy as np
from bootstrap import SUITE, edition

from nanolm.scoring import BenchmarkResult, score_entries, skill
from nanolm.scoring.compare import wilson

SHARE = 8
ENTRIES = {"weak": (0.10, 1), "middle": (0.35, 4), "strong": (0.70, 4)}
"""Ability and samples per item."""


def true_raw(ability: float, chance: float) -> float:
    """The mean over the population of the chance of a right answer."""
    return chance + (1 - chance) * ability


def answer(generator: np.random.Generator, name: str, board: int) -> dict[str, BenchmarkResult]:
    """One entry's verdicts on a board's own draw of items."""
    ability, samples = ENTRIES[name]
    found = {}
    for slug, (category, size, chance) in SUITE.items():
        items = max(40, size // SHARE)
        # Beta with mean `ability`: some items are easy for the entry and some are hard
        right = chance + (1 - chance) * generator.beta(2 * ability, 2 * (1 - ability), items)
        found[slug] = BenchmarkResult(
            slug=slug,
            category=category,
            chance=chance,
            chance_rule="constant",
            items=tuple(f"{board}-{i:05d}" for i in range(items)),
            correct=generator.binomial(samples, right).astype(np.uint8),
            samples=samples,
        )
    return found


def main(boards: int) -> None:
    suite = edition()
    generator = np.random.default_rng(20_261_130)
    covered = dict.fromkeys(ENTRIES, 0)
    widths = dict.fromkeys(ENTRIES, 0.0)
    truth = {}
    for name, (ability, _) in ENTRIES.items():
        skills = [skill(true_raw(ability, chance), chance) for _, _, chance in SUITE.values()]
        truth[name] = 100 * sum(skills) / len(skills)  # two benchmarks in each category
    started = time.process_time()
    for board in range(boards):
        # Another slug seed per board, as another suite would have: the draws must not be the same each time.
        specs = {f"{slug}#{board}": spec for slug, spec in suite.benchmarks.items()}
        specs = {slug: msgspec.structs.replace(spec, slug=slug) for slug, spec in specs.items()}
        here = msgspec.structs.replace(suite, benchmarks=specs)
        results = {
            name: {
                f"{slug}#{board}": msgspec.structs.replace(result, slug=f"{slug}#{board}")
                for slug, result in answer(generator, name, board).items()
            }
            for name in ENTRIES
        }
        for name, scores in score_entries(here, results).items():
            index = scores.index
            assert index is not None
            assert index.low is not None
            assert index.high is not None
            covered[name] += index.low <= truth[name] <= index.high
            widths[name] += (index.high - index.low) / boards
    for name, count in covered.items():
        share = wilson(count, boards)
        print(
            f"{name:7s} true index {truth[name]:.2f}: in {count} of {boards} intervals = "
            f"{100 * share.value:.1f}% ({100 * (share.low or 0):.1f} to {100 * (share.high or 0):.1f}), "
            f"mean width {widths[name]:.2f}"
        )
    total, of = sum(covered.values()), boards * len(ENTRIES)
    share = wilson(total, of)
    print(
        f"all     {total} of {of} = {100 * share.value:.1f}% "
        f"({100 * (share.low or 0):.1f} to {100 * (share.high or 0):.1f}); "
        f"{time.process_time() - started:.0f} CPU s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
