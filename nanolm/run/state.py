"""How far a run is, in a small file beside the record: for processes that only judge."""

import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from nanolm.records.lock import held

FILE = ".run"
Stage = Literal["preparing", "generating", "done", "failed"]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`run` names the run, so that a file left by an earlier one is not believed."""

    run: str
    stage: Stage = "preparing"
    error: str = ""


def write(folder: Path, state: State) -> None:
    """Written whole or not at all. A full disk is no reason to fail: the record says so itself."""
    temporary = folder / f"{FILE}.{os.getpid()}"
    try:
        temporary.write_bytes(msgspec.json.encode(state))
        temporary.replace(folder / FILE)
    except OSError:
        temporary.unlink(missing_ok=True)


def read(folder: Path, run: str) -> State:
    """The state of this run; `failed` when its process is gone."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        found = State(run=run)
    if found.run != run:
        found = State(run=run)
    if found.stage in ("preparing", "generating") and not held(folder):
        time.sleep(0.05)  # it may have ended between the two looks
        if not held(folder) and read_raw(folder, run) not in ("done", "failed"):
            return State(run=run, stage="failed", error="the process that generates is gone")
    return found


def read_raw(folder: Path, run: str) -> str:
    """The stage as it stands in the file, empty for another run's file."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return ""
    return found.stage if found.run == run else ""


def remove(folder: Path) -> None:
    """At the end of a run."""
    (folder / FILE).unlink(missing_ok=True)
