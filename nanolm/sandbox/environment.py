"""The two environments of the official evaluators, installed from hash-pinned requirements (§7)."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import msgspec

from nanolm.errors import SandboxError
from nanolm.sandbox.datasets import Suite

RELEASES: dict[Suite, dict[str, str]] = {
    "mbpp": {"evalplus": "0.3.1"},
    "evoeval": {"evoeval": "0.1.0", "evalplus": "0.2.0"},
}
"""§7."""

LOCKS: dict[Suite, str] = {"mbpp": "evalplus-0.3.1.txt", "evoeval": "evoeval-0.1.0.txt"}
BUILD_LOCK = "build.txt"
"""Two small packages come as source; what builds them is pinned too, so nothing unpinned is fetched."""

MARK = "installed.json"
Notice = Callable[[str], None]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluator's own Python."""

    suite: Suite
    folder: Path
    lock: str
    """SHA-256 of the requirements, the first 16 hex digits."""

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def installed(self) -> bool:
        return (self.folder / MARK).is_file() and self.python.exists()


def environment(suite: Suite, cache: Path) -> Environment:
    """Where an evaluator's environment is, or will be; its name changes with what is in it."""
    lock = hashlib.sha256(_lock(BUILD_LOCK) + _lock(LOCKS[suite])).hexdigest()[:16]
    name = f"{LOCKS[suite].removesuffix('.txt')}-py{sys.version_info[0]}.{sys.version_info[1]}-{lock[:8]}"
    return Environment(suite=suite, folder=cache / "evaluators" / "environments" / name, lock=lock)


def require(suite: Suite, cache: Path) -> Environment:
    """The installed environment; `SandboxError` says how to install it."""
    found = environment(suite, cache)
    if not found.installed:
        release = " with ".join(f"{name} {version}" for name, version in RELEASES[suite].items())
        raise SandboxError(f"{release} is not installed in {found.folder}; run: nanolm evaluators install")
    return found


def check_versions(found: Environment, versions: Mapping[str, str]) -> None:
    """`SandboxError` when the environment holds other releases than the protocol's (§7), as it may after a
    `pip install` into it; `versions` are those that the zygote saw."""
    wrong = [
        f"{name} {versions.get(name, 'none')}, expected {version}"
        for name, version in RELEASES[found.suite].items()
        if versions.get(name) != version
    ]
    if wrong:
        raise SandboxError(
            f"{found.folder} holds {'; '.join(wrong)}, so no program is run. Delete that folder, then run: "
            "nanolm evaluators install"
        )


def install(suite: Suite, cache: Path, notice: Notice) -> Environment:
    """Install from the package index with every file's hash checked; does nothing if it is there.

    Raises `SandboxError` with pip's last words.
    """
    made = environment(suite, cache)
    made.folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(made.folder.with_suffix(".lock")):
        if made.installed:
            notice(f"{made.folder.name}: installed")
            return made
        shutil.rmtree(made.folder, ignore_errors=True)
        notice(f"{made.folder.name}: making the environment")
        _run([sys.executable, "-m", "venv", str(made.folder)], "the environment can't be made")
        folder = resources.files("nanolm.sandbox") / "locks"
        with resources.as_file(folder) as locks:
            for name in (BUILD_LOCK, LOCKS[suite]):
                notice(f"{made.folder.name}: installing {name} with hashes")
                _run(
                    [
                        *(str(made.python), "-m", "pip", "install", "--quiet", "--require-hashes"),
                        *("--no-deps", "--no-build-isolation", "--disable-pip-version-check"),
                        *("-r", str(locks / name)),
                    ],
                    "the evaluator can't be installed",
                )
        _readable(made.folder)
        (made.folder / MARK).write_text(json.dumps({"releases": RELEASES[suite], "lock": made.lock}))
        notice(f"{made.folder.name}: done, {_megabytes(made.folder)} MB")
        return made


def _lock(name: str) -> bytes:
    return (resources.files("nanolm.sandbox") / "locks" / name).read_bytes()


def _run(command: list[str], failed: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SandboxError(f"{failed}: {' '.join(command[:4])}… said: {' / '.join(words[-4:])[:800]}")


def _readable(folder: Path) -> None:
    """Inside the sandbox another user reads the files, whatever the umask was here."""
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files, "."):
            path = os.path.join(base, name)
            if not os.path.islink(path):
                mode = os.stat(path).st_mode
                os.chmod(path, mode | 0o444 | (0o111 if mode & 0o100 else 0))


def _megabytes(folder: Path) -> int:
    return (
        sum(os.lstat(os.path.join(b, f)).st_size for b, _, files in os.walk(folder) for f in files)
        // 1_000_000
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes; it goes with its holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
