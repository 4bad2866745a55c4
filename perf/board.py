"""Seconds, memory and size of a board at V1's size: entries × 33,485 items × 4 samples.

    python perf/board.py [entries] [folder]

Made-up outputs of about 1,000 characters, in the record's own format.
"""

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from bootstrap import SUITE, edition, results

from nanolm.entries.entry import Entry
from nanolm.reports.board import build
from nanolm.scoring import entry_score, score_entry


def write_run(folder: Path, name: str, ability: float, samples: int, seed: int) -> None:
    """A run folder with score.json, outputs.jsonl and verdicts.jsonl."""
    suite, draw = edition(), random.Random(seed)
    counts = results(ability, samples, seed)
    score = entry_score(
        suite,
        Entry(name=name, title=name, artefact="transformers", samples=samples, parameters=350_000_000),
        score_entry(suite, counts, intervals=False),
        complete=True,
        engine={"name": "vllm", "version": "0.31.0"},
    )
    folder.mkdir(parents=True)
    (folder / "score.json").write_bytes(msgspec.json.encode(score))
    words = ["the", "number", "of", "apples", "is", "larger", "than", "it", "was", "<b>", "before", "\n"]
    with (folder / "outputs.jsonl").open("w") as outputs, (folder / "verdicts.jsonl").open("w") as verdicts:
        for slug, result in counts.items():
            for item, right in zip(result.items, result.correct.tolist(), strict=True):
                for sample in range(samples):
                    text = " ".join(draw.choices(words, k=200)) + " Answer: B"
                    key = {"benchmark": slug, "item": item, "sample": sample}
                    output = {
                        **key,
                        "seed": 1,
                        "entry": "e" * 16,
                        "prompt_digest": "p" * 16,
                        "rendered_digest": "r" * 16,
                        "decoding": {"temperature": 0.7},
                        "max_tokens": 32_768,
                        "text": text,
                        "finish_reason": "stop",
                        "output_tokens": 250,
                    }
                    correct = sample < right
                    verdict = {
                        **key,
                        "correct": correct,
                        "reason": None if correct else "wrong",
                        "answer": "B",
                        "rule": "answer-line",
                        "span": [len(text) - 1, len(text)],
                    }
                    outputs.write(json.dumps(output) + "\n")
                    verdicts.write(json.dumps(verdict) + "\n")


def main(entries: int, folder: Path) -> None:
    for k in range(entries):
        write_run(folder / "reports" / f"entry-{k}", f"entry-{k}", 0.1 + 0.05 * k, 4, k)
    suite = edition()
    cpu, wall = time.process_time(), time.perf_counter()
    built = build(folder / "reports", folder / "site", suite, lambda slug: None)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    files = [path for path in (folder / "site").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{built.entries} entries, {built.items:,} items: {cpu:.1f} CPU s, {wall:.1f} s, peak {peak:.0f} MB; "
        f"{len(files):,} files, {size / 1e6:.0f} MB, largest "
        f"{max(p.stat().st_size for p in files) / 1e6:.2f} MB"
    )
    print(f"first page: {(folder / 'site' / 'board.html').stat().st_size / 1e3:.0f} kB of HTML")
    print(f"benchmarks: {len(SUITE)}; site in {folder / 'site'}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    if len(sys.argv) > 2:
        main(count, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(count, Path(scratch))
