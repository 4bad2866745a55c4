"""What a program costs: the sandboxed pool against the official checker on the same programs, in one run.

    python perf/code.py --from FOLDER [--workers N]

Runs MBPP+'s 377 references two ways on this machine, one after the other: `official`, EvalPlus's own
`check_correctness` in its own environment with its own pool of processes (as its command does, but on
the prepared ground truth and without the excluded task); `ours`, `Evaluators`. CPU a sample is compared
over the programs that pass at once in both (under load a time-out cuts some short). Then the start-up of
a worker for each data set, wall and CPU seconds. The official run goes through the sandbox too: nothing
here runs a program outside it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nanolm.sandbox import Evaluators, Program, bubblewrap, official
from nanolm.sandbox.bubblewrap import Mount
from nanolm.sandbox.worker import check_start
from nanolm.sources import cache_folder

# As evalplus.evaluate.evaluate does it: a pool of processes, one check_correctness a sample.
OFFICIAL = """
import json, pickle, resource, sys, time
from concurrent.futures import ProcessPoolExecutor, as_completed
from evalplus.evaluate import check_correctness
problems = {}
with open("/nanolm/truth", "rb") as file:
    for place in map(json.loads, open("/nanolm/index")):
        file.seek(place["offset"])
        problems[place["task"]] = pickle.loads(file.read(place["bytes"]))
references = json.load(open("/nanolm/references"))
def used():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)
def check(task, problem, reference, expected):
    before = used()
    found = check_correctness("mbpp", 0, problem, reference, expected, fast_check=True)
    return task, found["base"][0] == found["plus"][0] == "pass", used() - before
start = time.monotonic()
with ProcessPoolExecutor(max_workers=int(sys.argv[1])) as pool:
    asked = [pool.submit(check, task, p, references[task], e) for task, (p, e) in problems.items()]
    found = [future.result() for future in as_completed(asked)]
print(json.dumps({"wall": time.monotonic() - start, "cpu": {task: cpu for task, ok, cpu in found if ok}}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--from", dest="folder", type=Path, required=True, help="folder of the official files"
    )
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
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
    both = theirs["cpu"].keys() & ours["cpu"].keys()
    means = {
        name: sum(run["cpu"][t] for t in both) / len(both)
        for name, run in (("official", theirs), ("ours", ours))
    }
    report = {
        "programs": len(prepared.entries()),
        "passed_at_once": {"official": len(theirs["cpu"]), "ours": len(ours["cpu"]), "both": len(both)},
        "wall_seconds": {"official": round(theirs["wall"], 1), "ours": round(ours["wall"], 1)},
        "cpu_milliseconds_per_sample": {name: round(1000 * mean, 1) for name, mean in means.items()},
        "cpu_ratio": round(means["ours"] / means["official"], 3),
        "start_seconds": starts,
        "workers": arguments.workers,
        "load": round(os.getloadavg()[0], 2),
        "environment": prepared.environment.folder.name,
    }
    print(json.dumps(report, indent=1))


def official_run(evaluators: Evaluators, workers: int) -> dict[str, Any]:
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
    return dict(json.loads(out))


def our_run(evaluators: Evaluators) -> dict[str, Any]:
    """The pool on the same programs; CPU of each check with the zygote's own for it."""
    prepared = evaluators.locate("mbpp-plus")
    tasks = prepared.entries()
    programs = [Program(t, "mbpp-plus", t, p) for t, p in prepared.references().items() if t in tasks]
    start = time.monotonic()
    found = list(evaluators.check_all(programs))
    wall = time.monotonic() - start
    return {"wall": wall, "cpu": {str(t): r.cpu for t, r in found if r.passed and not r.retried}}


if __name__ == "__main__":
    main()
