"""The evaluators' data sets: which official suite judges them, their file, and what is left out."""

import gzip
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from nanolm.editions.edition import Edition
from nanolm.editions.items import fetch_command
from nanolm.editions.read import sources_of
from nanolm.errors import SandboxError, UsageError
from nanolm.sources.files import held_files, source_file

Suite = Literal["mbpp", "evoeval"]

SUBSETS = ("difficult", "creative", "subtle", "combine", "tool_use", "verbose", "concise")
"""EvoEval's seven, in the order of its own list."""

OFFICIAL = ("mbpp-plus", *(f"evoeval-{subset}" for subset in SUBSETS))

# §3, exclusions: the reference solution fails the official evaluator. By the evaluator's file.
REFERENCE_FAILS = {
    "MbppPlus.jsonl": frozenset({"Mbpp/255"}),
    "EvoEval_verbose.jsonl": frozenset({"HumanEval/32", "HumanEval/130"}),
    "EvoEval_concise.jsonl": frozenset({"HumanEval/32", "HumanEval/130"}),
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

    @property
    def excluded(self) -> frozenset[str]:
        """Task ids that are not items (§3)."""
        return REFERENCE_FAILS.get(self.inner_name, frozenset())

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
    parts = name.split("-")
    if parts[:2] == ["mbpp", "plus"]:
        return Dataset(name=name, suite="mbpp", file=file)
    if parts[0] == "evoeval" and len(parts) > 1 and parts[1] in SUBSETS:
        return Dataset(name=name, suite="evoeval", subset=parts[1], file=file)
    raise UsageError(
        f"{name!r} names no data set of a code evaluator; expected mbpp-plus or evoeval-<subset>, of "
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


def of_edition(edition: Edition, benchmarks: Iterable[str] | None = None) -> dict[str, Dataset]:
    """The data sets of an edition's code benchmarks, by the name that `Item.dataset` has.

    Raises `SourceError` when the files have not been fetched.
    """
    found = {}
    for slug in edition.benchmarks if benchmarks is None else benchmarks:
        spec = edition.benchmarks[slug]
        if spec.answer_type != "code":
            continue
        files = held_files(sources_of(edition), spec.sources, fetch_command(edition))
        for file in map(source_file, files):
            stem = Path(file.name).name.partition(".")[0]
            if stem == "MbppPlus":
                found[slug] = Dataset(name=slug, suite="mbpp", file=file.local)
            elif stem.startswith("EvoEval_") and (subset := stem.removeprefix("EvoEval_")) in SUBSETS:
                suffix = slug.removeprefix("evoeval") if slug.startswith("evoeval") else f"-{slug}"
                name = f"evoeval-{subset}{suffix}"
                found[name] = Dataset(name=name, suite="evoeval", subset=subset, file=file.local)
            else:
                raise SandboxError(
                    f"{slug}: {file.name} is no file of an official evaluator; expected "
                    "MbppPlus.jsonl[.gz] or EvoEval_<subset>.jsonl[.gz]"
                )
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


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    with open(path, "rb") as file:
        if path.suffix == ".gz":
            with gzip.open(file) as plain:
                yield cast(IO[bytes], plain)
        else:
            yield file
