"""The evaluators' data sets: which official suite judges them, their file, and what is left out."""

import gzip
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from nanolm.errors import SandboxError, UsageError

Suite = Literal["mbpp", "evoeval"]

SUBSETS = ("difficult", "creative", "subtle", "combine", "tool_use", "verbose", "concise")
"""EvoEval's seven, in the order of its own list."""

OFFICIAL = ("mbpp-plus", *(f"evoeval-{subset}" for subset in SUBSETS))

# §3, exclusions: the reference solution fails the official evaluator.
REFERENCE_FAILS = {
    "mbpp-plus": frozenset({"Mbpp/255"}),
    "evoeval-verbose": frozenset({"HumanEval/32", "HumanEval/130"}),
    "evoeval-concise": frozenset({"HumanEval/32", "HumanEval/130"}),
}


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """A data set of programs' tests, as the official evaluator reads it."""

    name: str
    """`mbpp-plus`, `evoeval-difficult`, `mbpp-plus-mini`, …"""
    suite: Suite
    file: Path
    """`.jsonl` or `.jsonl.gz`."""
    subset: str = ""
    """EvoEval's own name of the subset; it decides its special oracles and which inputs are used."""
    excluded: frozenset[str] = frozenset()
    """Task ids that are not items (§3)."""

    @property
    def raw(self) -> bool:
        """EvoEval's command gives these two subsets raw inputs and a second set of tests."""
        return self.subset in ("verbose", "concise")

    @property
    def inner_name(self) -> str:
        """The file name that the evaluator expects."""
        return "MbppPlus.jsonl" if self.suite == "mbpp" else f"EvoEval_{self.subset}.jsonl"


def dataset(name: str, file: Path) -> Dataset:
    """The data set that a name means: the suite and subset are read from it.

    `mbpp-plus` and `mbpp-plus-<edition>` are MBPP+'s, `evoeval-<subset>` and
    `evoeval-<subset>-<edition>` EvoEval's. Raises `UsageError` for any other name.
    """
    excluded = REFERENCE_FAILS.get(name, frozenset())
    parts = name.split("-")
    if parts[:2] == ["mbpp", "plus"]:
        return Dataset(name=name, suite="mbpp", file=file, excluded=excluded)
    if parts[0] == "evoeval" and len(parts) > 1 and parts[1] in SUBSETS:
        return Dataset(name=name, suite="evoeval", subset=parts[1], file=file, excluded=excluded)
    raise UsageError(
        f"{name!r} names no data set of a code evaluator; expected mbpp-plus or evoeval-<subset> with a subset of "
        f"{', '.join(SUBSETS)}, and for another edition its suffix (mbpp-plus-mini)"
    )


def official(folder: Path) -> dict[str, Dataset]:
    """The eight data sets of V1 from a folder of the official files, by name.

    Looks for `mbpp-plus/MbppPlus.jsonl[.gz]` and `evoeval/EvoEval_<subset>.jsonl[.gz]`, also without the
    folders. Raises `SandboxError` naming what is missing.
    """
    found = {}
    for name in OFFICIAL:
        made = dataset(name, Path())
        places = [
            folder / part / (made.inner_name + end)
            for part in ("mbpp-plus" if made.suite == "mbpp" else "evoeval", ".")
            for end in (".gz", "")
        ]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise SandboxError(
                f"{made.inner_name}[.gz] is not below {folder}; give the folder of the official files"
            )
        found[name] = msgspec.structs.replace(made, file=file)
    return found


def data_sum(data: Dataset) -> str:
    """SHA-256 of the file's plain text, whichever way it is packed."""
    digest = hashlib.sha256()
    try:
        with _plain(data.file) as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except (OSError, EOFError) as error:
        raise SandboxError(f"{data.file}, the tests of {data.name}, can't be read: {error}") from error
    return digest.hexdigest()


def unpacked(data: Dataset, folder: Path, digest: str) -> Path:
    """The plain file under the name the evaluator expects, below `folder`; made once."""
    home = folder / digest[:16]
    place = home / data.inner_name
    if not place.exists():
        home.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=home)
        with os.fdopen(handle, "wb") as out, _plain(data.file) as file:
            shutil.copyfileobj(file, out)
        os.chmod(partial, 0o444)
        os.replace(partial, place)
    return place


def _plain(path: Path) -> gzip.GzipFile:
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    return opened  # type: ignore[return-value]
