"""Ground truth: what the reference solutions give on each input, and how long they take here.

Computed by the official functions, inside the sandbox, once per machine and data set; kept task by
task, so that an interrupted run goes on where it stopped. The time limits of every sample follow
from the reference times, so this is to be done on a quiet machine.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from nanolm.errors import SandboxError, UsageError, unknown
from nanolm.sandbox import bubblewrap
from nanolm.sandbox.bubblewrap import Mount
from nanolm.sandbox.datasets import Dataset, data_sum, unpacked
from nanolm.sandbox.environment import Environment, check_versions, locked, require

INSIDE = "/nanolm"
ZYGOTE = Path(__file__).with_name("zygote.py")
POLICY = "1"
"""Changes when the sandbox or the zygote changes in a way that could change a verdict."""


class Progress(msgspec.Struct, frozen=True):
    """How far the ground truth of a data set is."""

    dataset: str
    done: int
    total: int
    task: str
    seconds: float


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A data set with its evaluator, its plain file and its ground truth, all on this machine."""

    dataset: Dataset
    environment: Environment
    digest: str
    """SHA-256 of the data."""
    plain: Path
    folder: Path

    @property
    def truth(self) -> Path:
        return self.folder / "tasks.pickles"

    @property
    def index(self) -> Path:
        return self.folder / "tasks.jsonl"

    @property
    def about(self) -> Path:
        return self.folder / "about.json"

    def entries(self) -> dict[str, dict[str, Any]]:
        """By task: offset and bytes in the file of pickles, seconds, the reference's time."""
        try:
            lines = self.index.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        return {entry["task"]: entry for entry in map(json.loads, lines)}

    def ready(self) -> bool:
        return self.about.is_file()

    def references(self) -> dict[str, str]:
        """The reference solution of each task, as the official ground truth runs it."""
        return dict(json.loads((self.folder / "references.json").read_text(encoding="utf-8")))

    def key(self) -> str:
        """Changes with everything but the program that decides a verdict."""
        python = ".".join(platform.python_version_tuple()[:2])
        return f"{self.environment.lock}-{self.digest[:16]}-py{python}-sandbox{POLICY}"

    def mounts(self) -> list[Mount]:
        """What the zygote sees beside the system."""
        return [
            Mount(self.environment.folder, f"{INSIDE}/environment"),
            Mount(self.plain, f"{INSIDE}/data/{self.plain.name}"),
            Mount(ZYGOTE, f"{INSIDE}/zygote.py"),
        ]

    def inside(self, *arguments: str) -> list[str]:
        """The zygote's command inside the sandbox."""
        data = f"{INSIDE}/data"
        return [
            *("/usr/bin/env", f"MBPP_OVERRIDE_PATH={data}/MbppPlus.jsonl", f"EVOEVAL_OVERRIDE_PATH={data}"),
            *(f"{INSIDE}/environment/bin/python", f"{INSIDE}/zygote.py"),
            *(arguments[0], self.dataset.suite, self.dataset.subset or "-", *arguments[1:]),
        ]


def locate(dataset: Dataset, cache: Path) -> Prepared:
    """Where everything of a data set is. Needs the evaluator installed and the data file at hand."""
    environment = require(dataset.suite, cache)
    digest = data_sum(dataset)
    home = cache / "evaluators"
    folder = (
        home
        / "truth"
        / f"{dataset.inner_name.removesuffix('.jsonl')}-{digest[:16]}-{environment.folder.name}"
    )
    plain = unpacked(dataset, home / "data", digest)
    return Prepared(dataset=dataset, environment=environment, digest=digest, plain=plain, folder=folder)


def prepare(
    prepared: Prepared, report: Callable[[Progress], None] | None = None, tasks: frozenset[str] | None = None
) -> None:
    """Compute what is missing. Safe in several processes at once: one works, the others wait.

    `tasks`: only these (a part; the data set is then not marked as ready). Raises `SandboxError` when the
    official functions can't compute a task that is not excluded.
    """
    if prepared.ready():
        return
    prepared.folder.mkdir(parents=True, exist_ok=True)
    with locked(prepared.folder / "lock"):
        if not prepared.ready():
            _prepare(prepared, report, tasks)


def _prepare(
    prepared: Prepared, report: Callable[[Progress], None] | None, tasks: frozenset[str] | None
) -> None:
    load, start = os.getloadavg()[0], time.time()
    log = prepared.folder / "log.txt"
    with open(log, "wb") as errors:
        sandbox = bubblewrap.start(
            prepared.inside("truth"), prepared.mounts(), user=61, errors=errors.fileno()
        )
        try:
            assert sandbox.stdin
            assert sandbox.stdout
            head = _line(sandbox.stdout, log)
            check_versions(prepared.environment, head["versions"])
            (prepared.folder / "references.json").write_text(json.dumps(head["tasks"]), encoding="utf-8")
            done = prepared.entries()
            wanted = [task for task in head["tasks"] if task not in prepared.dataset.excluded]
            missing = [t for t in wanted if t not in done and (tasks is None or t in tasks)]
            for entry in _compute(sandbox.stdin, sandbox.stdout, log, prepared, missing):
                done[entry["task"]] = entry
                if report:
                    report(
                        Progress(
                            prepared.dataset.name, len(done), len(wanted), entry["task"], entry["seconds"]
                        )
                    )
        finally:
            sandbox.kill()
            sandbox.wait()
            for pipe in (sandbox.stdin, sandbox.stdout):
                if pipe:
                    pipe.close()
    if all(task in done for task in wanted):
        about = {
            "dataset": prepared.dataset.name,
            "data_sha256": prepared.digest,
            "versions": head["versions"],
            "lock": prepared.environment.lock,
            "tasks": len(wanted),
            "reference_seconds": round(sum(done[t]["reference"] for t in wanted), 3),
            "cpu": cpu_model(),
            "load_before": round(load, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "cores": len(os.sched_getaffinity(0)),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)),
        }
        partial = prepared.about.with_suffix(".part")
        partial.write_text(json.dumps(about, indent=1), encoding="utf-8")
        os.replace(partial, prepared.about)


def _compute(
    into: Any, out: BinaryIO | Any, log: Path, prepared: Prepared, missing: list[str]
) -> Iterator[dict[str, Any]]:
    """Ask for each task and append what comes; yields the index entries."""
    with open(prepared.truth, "ab") as truth, open(prepared.index, "a", encoding="utf-8") as index:
        # A pickle without its index line (an interruption) stays as unused bytes.
        for task in missing:
            into.write(json.dumps(task).encode() + b"\n")
            into.flush()
            entry = _line(out, log)
            if "error" in entry:
                raise SandboxError(
                    f"{prepared.dataset.name} {task}: the official evaluator can't run the reference: "
                    f"{entry['error']}. A task like this must be excluded by the edition"
                )
            payload = out.read(entry["bytes"])
            if len(payload) != entry["bytes"]:
                raise SandboxError(f"the sandbox ended while preparing {task}; {_tail(log)}")
            entry["offset"] = truth.tell()
            truth.write(payload)
            truth.flush()
            index.write(json.dumps(entry) + "\n")
            index.flush()
            yield entry
    # Inside the sandbox another user reads them, whatever the umask was here.
    for path in (prepared.truth, prepared.index):
        path.chmod(0o644)


def _line(out: Any, log: Path) -> dict[str, Any]:
    line = out.readline()
    if not line.endswith(b"\n"):
        raise bubblewrap.explain(_tail(log))
    return dict(json.loads(line))


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:]


def cpu_model() -> str:
    """The processor's name, for the record of reference times."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def require_task(prepared: Prepared, task: str, known: dict[str, Any]) -> None:
    """`UsageError` for a task that does not exist or is excluded."""
    if task in prepared.dataset.excluded:
        raise UsageError(f"{prepared.dataset.name} {task} is excluded (protocol §3): it has no verdict")
    if task not in known:
        raise unknown(f"task of {prepared.dataset.name}", task, known)
