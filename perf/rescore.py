"""Seconds of a whole `nanolm rescore`: record, judging, scores with intervals, files; and of a whole board.

    python perf/rescore.py [--edition nano-lm-v1] [--samples 1] [--times 2]

On the items that are here (`nanolm fetch`), replies of about 500 characters that end in the gold answer; code
programs are read but not run. The second time, math comes from the cache.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import msgspec
from outputs import output

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.engines.synthetic import oracle
from nanolm.entries.entry import Entry
from nanolm.errors import NanoLMError
from nanolm.records import Record
from nanolm.reports.rescore import rescore_entry
from nanolm.run import Suite
from nanolm.verdicts.judge import Judge

PROSE = "The question asks for the value, so we look at each part in turn and compare. " * 6 + "\n\n"


def here(edition: Edition) -> Edition:
    """The edition with the benchmarks whose items are here."""
    found = {}
    for slug, spec in edition.benchmarks.items():
        try:
            editions.load_items(edition, slug)
        except NanoLMError as error:
            print(f"without {slug}: {str(error).splitlines()[0][:100]}")
            continue
        found[slug] = spec
    return msgspec.structs.replace(edition, benchmarks=found)


def write(edition: Edition, folder: Path, entry: Entry) -> int:
    suite = Suite(edition)
    with Record(folder, write=True) as record:
        for slug in edition.benchmarks:
            for item in editions.load_items(edition, slug).items:
                for sample in range(entry.samples):
                    record.append(
                        output(
                            item, PROSE + oracle(item), sample, (suite, entry), rendered_digest="0" * 16,
                            output_tokens=120, engine="vllm", engine_version="0.31.0",
                        )
                    )  # fmt: skip
        return len(record)


def cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edition", default="nano-lm-v1")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    edition = here(editions.load(options.edition))
    entry = Entry(name="perf", title="perf", artefact="transformers", samples=options.samples)
    with tempfile.TemporaryDirectory(prefix="nanolm-perf-") as temporary:
        folder = Path(temporary) / "reports" / edition.name / "perf"
        count = write(edition, folder, entry)
        for number in range(options.times):
            start, clock = cpu(), time.perf_counter()
            with Judge.of(entry, edition.extractors, cache=Path(temporary) / "cache") as judge:
                found = rescore_entry(edition, entry, judge, folder, folder)
            seconds, wall = cpu() - start, time.perf_counter() - clock
            wrong = sum(
                not json.loads(line)["correct"] and json.loads(line)["reason"] != "unsupported"
                for line in (folder / "verdicts.jsonl").open()
            )
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"time {number + 1}: {found.outputs:,} of {count:,} outputs, {len(found.changes):,} changed, "
                f"{wrong:,} not right: {seconds:.1f} CPU s, {wall:.1f} s, peak {peak:.0f} MB; "
                f"for 33,485: {seconds * 33_485 / count:.1f} CPU s"
            )


if __name__ == "__main__":
    main()
