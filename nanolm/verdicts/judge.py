"""From an output to its verdict: the one path of a run, a rescore and `nanolm judge` (§6).

Reasoning is removed, the answer type's module reads and judges. Two types need help: math asks a pool
of processes, code asks the evaluators in the sandbox; both are remembered (`cache`), asked once for
equal questions under way, and come later than they are asked for.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Protocol, Self

from nanolm.answers import code, math_expression
from nanolm.entries.entry import Entry, Reasoning
from nanolm.errors import SandboxError
from nanolm.schema import Answer, Item, Output, Verdict
from nanolm.verdicts import cache as caches
from nanolm.verdicts import reading, versions
from nanolm.verdicts.asked import Questions
from nanolm.verdicts.pool import SECONDS, Equality, MathPool

Pair = tuple[Item, Output]


class Checked(Protocol):
    """What an evaluator says about a program (`sandbox.ProgramResult`)."""

    @property
    def passed(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def detail(self) -> str: ...
    @property
    def starved(self) -> bool: ...


class Checker(Protocol):
    """The evaluators, as `sandbox` offers them (`Evaluators`, `SharedEvaluators`)."""

    def submit(self, dataset: str, task: str, program: str) -> "Future[Any]":
        """A future of `Checked`; may be called from several threads."""
        ...

    def cache_key(self, dataset: str) -> str:
        """Versions and data sums that decide a verdict of this data set."""
        ...


class Judge:
    """Judges outputs of one entry. A context manager; `close` leaves no process.

    `extractors` are the edition's pinned versions: `EditionError` when others are installed, unless
    `strict` is False; then `mismatches` says what differs and the scores must be marked.
    `checker` None: code is not run, a verdict with reason `error` that says why (`why_no_checker`) and
    what to do; so it is where the checker raises `SandboxError`. `cache` None: nothing is kept on disk.
    """

    def __init__(
        self,
        *,
        reasoning: Reasoning | None = None,
        end_markers: Sequence[str] = (),
        extractors: Mapping[str, str] | None = None,
        strict: bool = True,
        workers: int | None = None,
        seconds: float = SECONDS,
        checker: Checker | None = None,
        why_no_checker: str = "",
        cache: Path | None = None,
    ) -> None:
        self.mismatches = tuple(versions.mismatches(extractors or {}))
        if strict:
            versions.check(extractors or {})
        self.time_outs = 0
        """Math verdicts that ran out of time, those from the cache included (ruling 40)."""
        self._reasoning = reasoning
        self._end_markers = tuple(end_markers)
        self._checker = checker
        self._why_no_checker = why_no_checker
        self._cache = caches.VerdictCache(cache)
        self._versions = versions.key(math_expression.PACKAGES)
        self._math = MathPool(workers, seconds)
        self._questions = Questions(self._cache)
        self._lock = Lock()

    @classmethod
    def of(
        cls,
        entry: Entry,
        extractors: Mapping[str, str],
        *,
        strict: bool = True,
        workers: int | None = None,
        checker: Checker | None = None,
        why_no_checker: str = "",
        cache: Path | None = None,
    ) -> Self:
        """The judge of an entry's outputs under an edition's pins."""
        return cls(
            reasoning=entry.reasoning,
            end_markers=entry.end_markers,
            extractors=extractors,
            strict=strict,
            workers=workers,
            checker=checker,
            why_no_checker=why_no_checker,
            cache=cache,
        )

    def verdict(self, item: Item, output: Output) -> Verdict:
        """Judge one output; waits for it."""
        found = self._begin(item, output)
        return found if isinstance(found, Verdict) else found.result()

    def submit(self, item: Item, output: Output) -> "Future[Verdict]":
        """Judge one output while the caller goes on. All but math and code is done on return."""
        found = self._begin(item, output)
        if isinstance(found, Verdict):
            done: Future[Verdict] = Future()
            done.set_result(found)
            return done
        return found

    def verdicts(
        self, pairs: Iterable[Pair], *, in_order: bool = True, at_once: int = 10_000
    ) -> Iterator[tuple[Output, Verdict]]:
        """Judge a stream. In its own order, or each as it is done; `at_once` bounds what is under way."""
        return self._ordered(pairs, at_once) if in_order else self._as_done(pairs, at_once)

    def _ordered(self, pairs: Iterable[Pair], at_once: int) -> Iterator[tuple[Output, Verdict]]:
        under_way: deque[tuple[Output, Verdict | Future[Verdict]]] = deque()
        for item, output in pairs:
            found = self._begin(item, output)
            if isinstance(found, Verdict) and not under_way:
                yield output, found
                continue
            under_way.append((output, found))
            while under_way and (len(under_way) > at_once or _is_done(under_way[0][1])):
                yield _taken(*under_way.popleft())
        while under_way:
            yield _taken(*under_way.popleft())

    def _as_done(self, pairs: Iterable[Pair], at_once: int) -> Iterator[tuple[Output, Verdict]]:
        under_way: dict[Future[Verdict], Output] = {}
        for item, output in pairs:
            found = self._begin(item, output)
            if isinstance(found, Verdict):
                yield output, found
                continue
            under_way[found] = output
            if len(under_way) > at_once:
                yield from _finished(under_way)
        while under_way:
            yield from _finished(under_way)

    def _begin(self, item: Item, output: Output) -> "Verdict | Future[Verdict]":
        read = reading.read(item, output, self._reasoning, self._end_markers)
        if isinstance(read, Verdict):
            return read
        if item.answer_type == "math_expression":
            return self._begin_math(read, item)
        return self._begin_code(read, item)

    def _begin_math(self, answer: Answer, item: Item) -> "Verdict | Future[Verdict]":
        expression = math_expression.passed_on(answer.value)
        if expression == math_expression.passed_on(item.gold):
            return math_expression.verdict(answer, True)
        key = caches.key("math", self._versions, item.gold, expression)
        kept = self._cache.get(key)
        if kept is not None:
            return self._math_verdict(answer, kept)

        def ask() -> Future[Equality]:
            return self._math.submit(item.gold, answer.value)

        return self._questions.ask(key, ask, _math_text, lambda kept: self._math_verdict(answer, kept))

    def _math_verdict(self, answer: Answer, kept: str) -> Verdict:
        word, _, note = kept.partition(" ")
        if word == "late":
            with self._lock:
                self.time_outs += 1
        return math_expression.verdict(answer, word == "equal", note)

    def _begin_code(self, answer: Answer, item: Item) -> "Verdict | Future[Verdict]":
        if self._checker is None:
            why = self._why_no_checker
            return code.not_run(answer, why) if why else code.judge(answer, item)
        try:
            return self._begin_program(self._checker, answer, item)
        except SandboxError as error:
            return code.not_run(answer, str(error))

    def _begin_program(self, checker: Checker, answer: Answer, item: Item) -> "Verdict | Future[Verdict]":
        program = code.program(answer, item)
        key = caches.key("code", checker.cache_key(item.dataset), item.dataset, item.task, program)

        def ask() -> Future[Checked]:
            return checker.submit(item.dataset, item.task, program)

        def finish(kept: str) -> Verdict:
            status, _, detail = kept.partition(" ")
            return code.verdict(answer, status, detail)

        def failed(error: SandboxError) -> Verdict:
            return code.not_run(answer, str(error))

        kept = self._cache.get(key)
        return finish(kept) if kept is not None else self._questions.ask(key, ask, _code_text, finish, failed)

    def close(self) -> None:
        """Ends the math workers and writes the cache. What is under way is cancelled. The checker is the
        caller's to close."""
        self._math.close()
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _math_text(found: Equality) -> tuple[str, bool]:
    """What is kept of the library's word, and whether it is: not a process that died."""
    word = "late" if found.timed_out else "equal" if found.equal else "other"
    return f"{word} {found.note}".rstrip(), found.timed_out or not found.note


def _code_text(found: Checked) -> tuple[str, bool]:
    """What is kept of an evaluator's word. Asked anew the next time: an `error`, and a program that a busy
    machine may have failed."""
    status = "pass" if found.passed else found.status
    return f"{status} {found.detail}", status != "error" and not found.starved


def _is_done(found: "Verdict | Future[Verdict]") -> bool:
    return isinstance(found, Verdict) or found.done()


def _taken(output: Output, found: "Verdict | Future[Verdict]") -> tuple[Output, Verdict]:
    return output, found if isinstance(found, Verdict) else found.result()


def _finished(under_way: "dict[Future[Verdict], Output]") -> Iterator[tuple[Output, Verdict]]:
    """Waits for one at least; takes out and gives all that are done."""
    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
        yield under_way.pop(future), future.result()
