"""How long items take: reading all of an edition from the cache, and their ids alone.

    python perf/items.py [--edition nano-lm-v1]

Prints CPU seconds and peak memory, each measured in a process of its own. Targets for the 33,485
items of nano-lm-v1: items with prompts under 3 s and 300 MB, ids under 0.3 s. Needs the sources
(`nanolm fetch`); benchmarks whose data is missing are left out and named.
"""

import argparse
import json
import subprocess
import sys

MEASURE = """
import json, resource, sys, time
edition_name, what = sys.argv[1:]
from nanolm import editions
from nanolm.errors import SourceError
imported = time.process_time()
edition = editions.load(edition_name)
loaded = time.process_time()
kept, count, missing = [], 0, []
for slug in edition.benchmarks:
    try:
        found = editions.load_ids(edition, slug) if what == "ids" else editions.load_items(edition, slug)
    except SourceError:
        missing.append(slug)
        continue
    kept.append(found)
    count += len(found) if what == "ids" else len(found.ids)
done = time.process_time()
print(json.dumps({"count": count, "missing": missing, "import": imported, "edition": loaded - imported,
                  "read": done - loaded, "total": done,
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measure(edition: str, what: str) -> dict[str, object]:
    """The figures of one kind of reading, in a process of its own."""
    command = [sys.executable, "-c", MEASURE, edition, what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edition", default="nano-lm-v1")
    edition = parser.parse_args().edition
    measure(edition, "items")  # builds the cache if there is none
    for what in ("ids", "items"):
        found = measure(edition, what)
        print(
            f"{what}: {found['count']:,} in {found['total']:.3f} s CPU (imports {found['import']:.3f}, "
            f"edition {found['edition']:.3f}, reading {found['read']:.3f}), peak {found['peak_mb']:.0f} MB"
            + (f"; no data for {', '.join(found['missing'])}" if found["missing"] else "")
        )


if __name__ == "__main__":
    main()
