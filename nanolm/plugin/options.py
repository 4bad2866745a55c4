"""What is wrong with the options of a run, told at the door: before a folder or a record is made."""

import os
from pathlib import Path

import pytest

from nanolm.editions.edition import Edition
from nanolm.engines import NAMES, check_installed, check_options
from nanolm.entries import Entry
from nanolm.errors import EngineError, UsageError, unknown
from nanolm.run import RECORD_MODES


def check(config: pytest.Config) -> None:
    """Options that need no edition and no entry to be judged. Raises `UsageError`."""
    option = config.getoption
    mode, limit, replicas = option("record_mode"), option("limit"), option("replicas")
    if mode not in RECORD_MODES:
        raise unknown("record mode", mode, RECORD_MODES)
    if option("engine") not in NAMES:
        raise unknown("engine", option("engine"), NAMES)
    if limit is not None and limit < 1:
        raise UsageError(f"--limit={limit}: expected at least 1 item of each benchmark")
    if replicas < 1:
        raise UsageError(f"--replicas={replicas}: expected at least 1 vLLM engine")
    if not option("reports_dir").strip():
        raise UsageError("--reports-dir is empty; expected the folder where records and reports go")
    if option("xmlpath", None):
        _check_own_report(config.invocation_params.dir / Path(option("xmlpath")).expanduser())


def _check_own_report(path: Path) -> None:
    """Raises `UsageError` where pytest could not write its own report: it would fail at the very end."""
    folder = next(above for above in path.parents if above.exists())
    wrong = ""
    if not folder.is_dir():
        wrong = f"{folder} is no folder"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        wrong = "no permission to write it"
    if wrong:
        raise UsageError(f"--junitxml={path} can't be written: {wrong}; expected a file that can be")


def replayed(config: pytest.Config) -> Path | None:
    """The folder of `--replay-from`."""
    found = config.getoption("replay_from")
    return Path(found) if found else None


def check_engine(config: pytest.Config, entry: Entry, edition: Edition, recorded: Path | None) -> None:
    """Whether `--engine` can run the entry. Raises `UsageError` or `EngineError`.

    `recorded`: the folder whose record this run goes on with, None without one. With one it may be that
    nothing is missing, and no engine has to be installed: `require_engine` looks once that is known.
    """
    if config.getoption("record_mode") == "none":
        return
    name = config.getoption("engine")
    check_options(
        entry,
        edition,
        name=name,
        recorded=recorded,
        replay_from=replayed(config),
        replicas=config.getoption("replicas"),
    )
    if recorded is None:
        check_installed(entry, edition, name=name)


def require_engine(config: pytest.Config, entry: Entry, edition: Edition) -> None:
    """Raises `UsageError` where outputs are to be generated and the engine is not installed."""
    try:
        check_installed(entry, edition, name=config.getoption("engine"))
    except EngineError as error:
        raise UsageError(str(error)) from None
