"""Questions whose answers come later: an equal one under way is asked once, and its answer is kept."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import TypeVar

from nanolm.errors import SandboxError
from nanolm.schema import Verdict
from nanolm.verdicts.cache import VerdictCache

_Word = TypeVar("_Word")


class Questions:
    """Those of one judge, to the math pool and to the code evaluators. Safe to use from several threads."""

    def __init__(self, cache: VerdictCache) -> None:
        self._cache = cache
        self._under_way: dict[bytes, Future[str]] = {}
        self._lock = Lock()

    def ask(
        self,
        key: bytes,
        ask: "Callable[[], Future[_Word]]",
        text: Callable[[_Word], tuple[str, bool]],
        finish: Callable[[str], Verdict],
        failed: Callable[[SandboxError], Verdict] | None = None,
    ) -> "Future[Verdict]":
        """Ask, unless the same question is under way already.

        `key` is the question's in the cache. `text` says what of the answer is kept, and whether it is;
        `finish` makes the verdict from that, `failed` from the sandbox's failure to answer.
        """
        with self._lock:
            shared = self._under_way.get(key)
            first = shared is None
            if shared is None:
                shared = self._under_way[key] = Future()
        if first:
            self._ask(key, ask, text, shared)
        return _then(shared, finish, failed)

    def _ask(
        self,
        key: bytes,
        ask: "Callable[[], Future[_Word]]",
        text: Callable[[_Word], tuple[str, bool]],
        shared: "Future[str]",
    ) -> None:
        def answered(future: "Future[_Word]") -> None:
            try:
                kept, keep = text(future.result())
            except BaseException as error:
                self._forget(key)
                shared.set_exception(error)
                return
            if keep:
                self._cache.put(key, kept)
            self._forget(key)
            shared.set_result(kept)

        try:
            ask().add_done_callback(answered)
        except BaseException as error:
            self._forget(key)
            shared.set_exception(error)
            raise

    def _forget(self, key: bytes) -> None:
        with self._lock:
            del self._under_way[key]


def _then(
    shared: "Future[str]",
    finish: Callable[[str], Verdict],
    failed: Callable[[SandboxError], Verdict] | None = None,
) -> "Future[Verdict]":
    """The verdict that follows from a text that comes later, or from the sandbox's failure to give one."""
    result: Future[Verdict] = Future()

    def done(future: "Future[str]") -> None:
        try:
            result.set_result(finish(future.result()))
        except SandboxError as error:
            if failed is None:
                result.set_exception(error)
            else:
                result.set_result(failed(error))
        except BaseException as error:
            result.set_exception(error)

    shared.add_done_callback(done)
    return result
