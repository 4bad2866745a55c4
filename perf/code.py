"""What a program costs: the sandboxed pool against the official checker on the same programs, in one run.

    python perf/code.py --from FOLDER [--json]

Runs MBPP+'s 377 references three ways on this machine, one after another, and prints CPU and wall time
per sample: `official`, EvalPlus's own `check_correctness` in its own environment with its own pool of
processes (as its command does, but on the prepared ground truth and without the excluded task); `ours`,
`Evaluators`; and the start-up of a worker for each data set. The official run is of trusted
references, yet it runs in the sandbox too: nothing here runs a program outside it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nanolm.sandbox import Evaluators, Program, bubblewrap, official
from nanolm.sandbox.bubblewrap import Mount
from nanolm.sandbox.worker import check_start
from nanolm.sources import cache_folder

# As evalplus.evaluate.evaluate does it: a pool of processes, one check_correctness a sample.
OFFICIAL = """
import json, os, pickle, resource, sys, time
from concurrent.futures import ProcessPoolExecutor, as_completed
from evalplus.evaluate import check_correctness
places = [json.loads(line) for line in open("/nanolm/index")]
problems = {}
with open("/nanolm/truth", "rb") as file:
    for place in places:
        file.seek(place["offset"])
        problems[place["task"]] = pickle.loads(file.read(place["bytes"]))
references = json.load(open("/nanolm/references"))
start = time.monotonic()
with ProcessPoolExecutor(max_workers=int(sys.argv[1])) as pool:
    asked = [
        pool.submit(check_correctness, "mbpp", 0, problem, references[task], expected, fast_check=True)
        for task, (problem, expected) in problems.items()
    ]
    passed = 0
    for future in as_completed(asked):
        found = future.result()
        passed += found["base"][0] == found["plus"][0] == "pass"
wall = time.monotonic() - start
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"samples": len(asked), "passed": passed, "wall": wall,
    "cpu": children.ru_utime + children.ru_stime}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--from", dest="folder", type=Path, required=True, help="folder of the official files"
    )
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    datasets = official(arguments.folder)
    with Evaluators(datasets, cache_folder(), workers=arguments.workers) as evaluators:
        prepared = evaluators.prepare("mbpp-plus")
        theirs = official_run(evaluators, arguments.workers)
    with Evaluators(datasets, cache_folder(), workers=arguments.workers) as evaluators:
        ours = our_run(evaluators)
        starts = {
            name: tuple(round(seconds, 3) for seconds in check_start(evaluators.locate(name)))
            for name in evaluators.datasets
            if evaluators.locate(name).ready()
        }
    report = {
        "official": theirs,
        "ours": ours,
        "cpu_ratio": round(ours["cpu_per_sample"] / theirs["cpu_per_sample"], 3),
        "start_seconds": starts,
        "workers": arguments.workers,
        "load": round(os.getloadavg()[0], 2),
        "environment": prepared.environment.folder.name,
    }
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    for name in ("official", "ours"):
        row = report[name]
        print(
            f"{name:<9} {row['passed']} of {row['samples']} pass, {row['wall']:.1f} s, "
            f"{1000 * row['cpu_per_sample']:.1f} ms of CPU a sample"
        )
    print(f"CPU a sample, ours to official: {report['cpu_ratio']} (at most 1.15)")
    print(
        "start-up: "
        + ", ".join(f"{name} {wall:.2f} s ({cpu:.2f} s CPU)" for name, (wall, cpu) in starts.items())
    )
    print(f"load {report['load']}, {arguments.workers} workers")


def official_run(evaluators: Evaluators, workers: int) -> dict[str, float]:
    """The official functions and pool on the prepared ground truth; CPU of the pool and its checks."""
    prepared = evaluators.locate("mbpp-plus")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "official.py")
        script.write_text(OFFICIAL)
        os.chmod(folder, 0o755)
        mounts = [
            *prepared.mounts(),
            Mount(prepared.truth, "/nanolm/truth"),
            Mount(prepared.index, "/nanolm/index"),
            Mount(prepared.folder / "references.json", "/nanolm/references"),
            Mount(script, "/nanolm/official.py"),
        ]
        inside = ["/nanolm/environment/bin/python", "/nanolm/official.py", str(workers)]
        process = bubblewrap.start(inside, mounts, user=60, errors=subprocess.DEVNULL)
        out, _ = process.communicate()
        if process.returncode:
            sys.exit(f"the official run failed: {process.returncode}")
    return per_sample(json.loads(out))


def our_run(evaluators: Evaluators) -> dict[str, float]:
    """The pool on the same programs; CPU of all checks and of the zygotes between them."""
    prepared = evaluators.locate("mbpp-plus")
    tasks = prepared.entries()
    programs = [Program(t, "mbpp-plus", t, p) for t, p in prepared.references().items() if t in tasks]
    start = time.monotonic()
    passed = sum(result.passed for _, result in evaluators.check_all(programs))
    wall = time.monotonic() - start
    cpu = sum(worker.cpu_seconds for worker in evaluators.workers)
    return per_sample({"samples": len(programs), "passed": passed, "wall": wall, "cpu": cpu})


def per_sample(found: dict[str, float]) -> dict[str, float]:
    return found | {"cpu_per_sample": found["cpu"] / found["samples"]}


if __name__ == "__main__":
    main()
