"""Verdicts on a stream of programs, whichever pool gives them."""

import queue
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future

from nanolm.sandbox.program import Program, ProgramResult

Submit = Callable[[str, str, str], "Future[ProgramResult]"]
"""Takes data set, task and program."""

_Finished = tuple[Hashable, "Future[ProgramResult]"]


def verdicts(submit: Submit, programs: Iterable[Program]) -> Iterator[tuple[Hashable, ProgramResult]]:
    """Verdicts as they finish, in whatever order.

    `programs` may be slow or endless (generation is going on): it is read in a thread of its own,
    and results come while it is being read. Its exception is raised here, after the results of what
    it had given.
    """
    done: queue.SimpleQueue[_Finished | BaseException | int] = queue.SimpleQueue()

    def read() -> None:
        count = 0
        try:
            for asked in programs:
                future = submit(asked.dataset, asked.task, asked.program)
                future.add_done_callback(lambda f, key=asked.key: done.put((key, f)))  # type: ignore[misc]
                count += 1
        except BaseException as error:
            done.put(error)
        done.put(count)

    threading.Thread(target=read, name="nanolm-programs", daemon=True).start()
    given: int | None = None
    seen = 0
    failure: BaseException | None = None
    while given is None or seen < given:
        got = done.get()
        if isinstance(got, int):
            given = got
        elif isinstance(got, BaseException):
            failure = got
        else:
            seen += 1
            yield got[0], got[1].result()
    if failure is not None:
        raise failure
