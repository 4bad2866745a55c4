"""Entries of known skill, recorded and judged for real, on a board; and how often intervals hold the truth.

    python perf/mixtures.py [--edition mini] [--reports-dir reports] [--boards 200]

A mixture writes the oracle's reply to an item with the chance `c + (1 - c) s` and a wrong one otherwise,
`c` being the benchmark's chance level: its true skill is `s` on every benchmark, its true index 100 s. Its
outputs are put into a record as an engine's would be and go through the judge (`nanolm rescore`); the raw
accuracies that come out must be those that were drawn. Then boards are simulated on the same items: what
share of the index intervals holds the true index?
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
from outputs import output

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.engines.synthetic import constant, oracle
from nanolm.entries.entry import Entry
from nanolm.records import Record
from nanolm.run import Suite
from nanolm.schema import Item
from nanolm.scoring import BenchmarkResult, score_entries
from nanolm.scoring.compare import wilson

MIXTURES = {"mixture-20": (0.2, 1), "mixture-50": (0.5, 4), "mixture-80": (0.8, 4)}
"""Skill and samples per item."""


def wrong(item: Item, items: tuple[Item, ...]) -> str:
    """A reply in the right form that is not right."""
    if item.answer_type == "letter":
        return f"Answer: {'B' if item.gold == 'A' else 'A'}"
    if item.answer_type == "label":
        return f"Answer: {next(label for label in item.labels if label != item.gold)}"
    return constant(items)


def draw(suite: Suite, skill: float, samples: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """For each benchmark, whether each sample of each item is right; shape (items, samples)."""
    found = {}
    for slug in suite.edition.benchmarks:
        chance, _ = suite.chance(slug)
        right = chance + (1 - chance) * skill
        found[slug] = generator.random((len(suite.ids(slug)), samples)) < right
    return found


def record(suite: Suite, reports: Path, name: str, samples: int, drawn: dict[str, np.ndarray]) -> None:
    """The record of a mixture and its run.json."""
    folder = reports / suite.edition.name / name
    entry = Entry(
        name=name,
        title=f"Mixture, true index {name.removeprefix('mixture-')}",
        artefact="synthetic",
        context=2**31 - 1,
        samples=samples,
        not_publishable_because=("a synthetic entry is a check of the scoring, not a model",),
        digest=name,
    )
    with Record(folder, write=True, fresh=True) as written:
        for slug, right in drawn.items():
            items = suite.items(slug)
            for place, item in enumerate(items):
                for sample in range(samples):
                    text = oracle(item) if right[place, sample] else wrong(item, items)
                    written.append(
                        output(
                            item, text, sample, (suite, entry),
                            output_tokens=len(text.split()), engine="synthetic",
                        )
                    )  # fmt: skip
    (folder / "run.json").write_bytes(msgspec.json.encode({"entry": entry}))


def results(suite: Suite, drawn: dict[str, np.ndarray], board: str = "") -> dict[str, BenchmarkResult]:
    """The counts. `board` renames the benchmarks, so that every simulated board has resamples of its own."""
    found = {}
    for slug, right in drawn.items():
        chance, rule = suite.chance(slug)
        found[slug + board] = BenchmarkResult(
            slug=slug + board,
            category=suite.edition.benchmarks[slug].category,
            chance=chance,
            chance_rule=rule,
            items=suite.ids(slug),
            correct=right.sum(axis=1).astype(np.uint8),
            samples=right.shape[1],
        )
    return found


def renamed(edition: Edition, board: str) -> Edition:
    specs = {
        slug + board: msgspec.structs.replace(spec, slug=slug + board)
        for slug, spec in edition.benchmarks.items()
    }
    return msgspec.structs.replace(edition, benchmarks=specs)


def judged(suite: Suite, reports: Path, name: str, drawn: dict[str, np.ndarray]) -> None:
    """Rescore the record and hold what comes out against what was drawn."""
    words = ["rescore", name, f"--edition={suite.edition.folder}", f"--reports-dir={reports}"]
    call = "import sys; from nanolm.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", call, *words], check=True)
    score = msgspec.json.decode((reports / suite.edition.name / name / "score.json").read_bytes())
    for slug, right in drawn.items():
        found, expected = score["benchmarks"][slug]["raw"], float(right.mean())
        assert abs(found - expected) < 1e-12, f"{name} {slug}: raw {found}, drawn {expected}"
    low, high = score["index"]["low"], score["index"]["high"]
    truth = 100 * MIXTURES[name][0]
    inside = "holds" if low <= truth <= high else "does not hold"
    print(f"{name}: every raw accuracy as drawn; index {score['index']['value']:.2f}", end=" ")
    print(f"({low:.2f} to {high:.2f}), which {inside} the true {truth:.2f}")


def simulate(suite: Suite, boards: int, generator: np.random.Generator) -> None:
    covered = dict.fromkeys(MIXTURES, 0)
    for number in range(boards):
        board = f"#{number}"
        counts = {
            name: results(suite, draw(suite, skill, samples, generator), board)
            for name, (skill, samples) in MIXTURES.items()
        }
        for name, score in score_entries(renamed(suite.edition, board), counts).items():
            index, truth = score.index, 100 * MIXTURES[name][0]
            assert index is not None
            assert index.low is not None
            assert index.high is not None
            covered[name] += index.low <= truth <= index.high
    for name, count in [*covered.items(), ("all", sum(covered.values()))]:
        of = boards * (len(MIXTURES) if name == "all" else 1)
        share = wilson(count, of)
        bounds = f"{100 * (share.low or 0):.1f} to {100 * (share.high or 0):.1f}"
        print(f"{name:11s} true index in {count} of {of} intervals = {100 * share.value:.1f}% ({bounds})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edition", default="mini")
    parser.add_argument("--reports-dir", type=Path, default=Path("reports"))
    parser.add_argument("--boards", type=int, default=200)
    options = parser.parse_args()
    suite = Suite(editions.load(options.edition))
    generator = np.random.default_rng(20_261_130)
    for name, (skill, samples) in MIXTURES.items():
        drawn = draw(suite, skill, samples, generator)
        record(suite, options.reports_dir, name, samples, drawn)
        judged(suite, options.reports_dir, name, drawn)
    simulate(suite, options.boards, generator)


if __name__ == "__main__":
    main()
