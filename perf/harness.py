"""CPU seconds and memory of the harness over the whole of V1, beside plain pytest with as many no-ops.

    python perf/harness.py [--entry constant] [-n 2]

Prints both, the ratio, and the load of the machine: compare figures of one quiet run only. There are as many
no-ops as the run had items (33,485 when all of V1's data is there). Both sides start without pytest's cache.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NO_OPS = """import pytest


@pytest.mark.parametrize("number", range({items}))
def test_nothing(number):
    pass
"""


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and its children."""
    total = 0
    pending = [pid]
    while pending:
        one = pending.pop()
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for task in Path(f"/proc/{one}/task").iterdir():
                pending += map(int, (task / "children").read_text().split())
        except (OSError, IndexError, ValueError):
            continue
    return total


def measure(command: list[str], folder: Path) -> tuple[float, float, float, str]:
    """CPU seconds (children included), wall seconds, peak memory of the tree in MB, last line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    peak = 0
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        ended = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not ended.wait(0.3):
                peak = max(peak, tree_memory(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait(timeout=1800)
        ended.set()
        watcher.join()
        log.seek(0)
        last = log.read().strip().splitlines()[-1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - started, peak / 1e6, last


def main() -> None:
    """Measure both sides once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entry", default="constant")
    parser.add_argument("--edition", default="nano-lm-v1")
    parser.add_argument("-n", type=int, default=0)
    options = parser.parse_args()
    workers = ["-n", str(options.n)] if options.n else []
    python = [sys.executable, "-m", "pytest"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = [
            *python, f"--rootdir={ROOT}", f"--confcutdir={ROOT}", "-c", str(ROOT / "pyproject.toml"),
            str(ROOT / "tests_benchmarks"), f"--entry={options.entry}", f"--edition={options.edition}",
            f"--reports-dir={folder / 'reports'}", f"--override-ini=cache_dir={folder / 'cache'}", *workers,
        ]  # fmt: skip
        figures = [measure(ours, folder)]
        items = sum(map(int, re.findall(r"(\d+) (?:passed|wrong)", figures[0][3])))
        (folder / "test_no_ops.py").write_text(NO_OPS.format(items=items))
        plain = [*python, "test_no_ops.py", "--junitxml=junit.xml", "-p", "no:nanolm", *workers]
        figures.append(measure(plain, folder))
    for title, found in zip((f"nanolm, {options.entry}", "plain pytest, no-ops"), figures, strict=True):
        print(f"{title:28} {found[0]:7.1f} CPU s {found[1]:7.1f} s wall {found[2]:7.0f} MB   {found[3]}")
    (our_cpu, our_wall, our_memory, _), (cpu, wall, memory, _) = figures
    print(
        f"ratio: CPU {our_cpu / cpu:.2f}, wall {our_wall / wall:.2f}, memory {our_memory / memory:.2f};"
        f" load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
