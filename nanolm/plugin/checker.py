"""The code evaluators of a run: opened once, by the process that holds the record; others ask it."""

import contextlib
from pathlib import Path
from typing import Any

from nanolm.editions import Edition
from nanolm.editions.items import fetch_command
from nanolm.editions.read import sources_of
from nanolm.errors import NanoLMError
from nanolm.run import Suite
from nanolm.sources.cache import cache_folder
from nanolm.sources.files import held_files


class Checking:
    """`checker` is None where code can't be run; `why_not` then says why and what to do."""

    def __init__(self, checker: Any = None, why_not: str = "", share: Any = None) -> None:
        self.checker, self.why_not, self._share = checker, why_not, share

    @property
    def address(self) -> str:
        """For processes that judge too; empty without evaluators."""
        if self.checker is None:
            return ""
        if self._share is None:
            from nanolm.sandbox import share

            self._share = share(self.checker)
        return str(self._share.address)

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands against this machine's code verdicts; empty where no code was asked for."""
        if self.checker is None:
            return ()
        from nanolm.sandbox import references

        return references.marks(self.checker)

    def close(self) -> None:
        """May be called twice."""
        for one in (self._share, self.checker):
            if one is not None:
                one.close()
        self.checker = self._share = None


def open_checking(suite: Suite, code: list[str]) -> Checking:
    """The evaluators for these code benchmarks. Never raises: code is `unsupported` without them."""
    if not code:
        return Checking()
    from nanolm.sandbox import Evaluators

    try:
        return Checking(Evaluators(_datasets(suite, code), cache_folder()))
    except NanoLMError as error:
        return Checking(why_not=str(error))


def connect_checking(address: str) -> Checking:
    """In a worker: the evaluators of the process that started it."""
    if not address:
        return Checking()
    from nanolm.sandbox import connect

    with contextlib.suppress(OSError):
        return Checking(connect(address))
    return Checking(why_not="the evaluators of the main process can't be reached")


def _datasets(suite: Suite, code: list[str]) -> dict[str, Any]:
    """Data set by name, from the file that its items come from."""
    from nanolm.sandbox import dataset

    found: dict[str, Any] = {}
    for slug in code:
        files = _files(suite.edition, slug)
        for item in suite.items(slug):
            if item.dataset not in found:
                name = Path(item.source.rpartition(":")[0]).name
                found[item.dataset] = dataset(item.dataset, files[name])
    return found


def _files(edition: Edition, slug: str) -> dict[str, Path]:
    spec = edition.benchmarks[slug]
    held = held_files(sources_of(edition), spec.sources, fetch_command(edition))
    return {Path(file.path).name: file.local for file in held if file.local is not None}
