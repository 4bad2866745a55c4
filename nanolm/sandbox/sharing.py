"""One pool for several processes: pytest's workers ask the pool of the process that started them.

Without it `-n N` would start N pools, each as large as the machine, and no sample would run alone.
"""

import itertools
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Future
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import msgspec

from nanolm.errors import NanoLMError, SandboxError
from nanolm.sandbox import stream
from nanolm.sandbox.pool import Evaluators
from nanolm.sandbox.program import Program, ProgramResult


class _Asked(msgspec.Struct, array_like=True):
    number: int
    dataset: str
    task: str
    program: bytes
    """UTF-8, lone surrogates kept; None in `task` asks for the cache key."""


class _Answer(msgspec.Struct, array_like=True):
    number: int
    result: ProgramResult | None = None
    key: str = ""
    error: str = ""


class Share:
    """The listening end; `address` is a text to hand to other processes of the same user."""

    def __init__(self, evaluators: Evaluators) -> None:
        self._evaluators = evaluators
        self._folder = tempfile.TemporaryDirectory(prefix="nanolm-")
        self._secret = secrets.token_bytes(16)
        path = os.path.join(self._folder.name, "evaluators")
        self._listener = Listener(path, family="AF_UNIX", backlog=64, authkey=self._secret)
        self.address = f"{path}#{self._secret.hex()}"
        self._closed = False
        threading.Thread(target=self._accept, name="nanolm-share", daemon=True).start()

    def close(self) -> None:
        """Stop listening; the pool itself stays open."""
        if not self._closed:
            self._closed = True
            self._wake()
            self._listener.close()
            self._folder.cleanup()

    def _wake(self) -> None:
        with socket.socket(socket.AF_UNIX) as knock:
            try:
                knock.connect(self.address.partition("#")[0])
            except OSError:
                return

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except Exception:  # a caller without the secret, or the end
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        sending = threading.Lock()

        def send(answer: _Answer) -> None:
            with sending:
                try:
                    connection.send_bytes(msgspec.msgpack.encode(answer))
                except OSError:
                    return  # the caller is gone; the verdict is not lost to others

        with connection:
            while True:
                try:
                    asked = msgspec.msgpack.decode(connection.recv_bytes(), type=_Asked)
                except (EOFError, OSError):
                    return
                try:
                    self._answer(asked, send)
                except NanoLMError as error:
                    send(_Answer(asked.number, error=str(error)))

    def _answer(self, asked: _Asked, send: Any) -> None:
        if not asked.task:
            send(_Answer(asked.number, key=self._evaluators.cache_key(asked.dataset)))
            return
        program = asked.program.decode("utf-8", "surrogatepass")

        def finished(future: "Future[ProgramResult]") -> None:
            failure = future.exception()
            if failure is not None:
                send(_Answer(asked.number, error=str(failure)))
            else:
                send(_Answer(asked.number, result=future.result()))

        self._evaluators.submit(asked.dataset, asked.task, program).add_done_callback(finished)


def share(evaluators: Evaluators) -> Share:
    """Let other processes use this pool."""
    return Share(evaluators)


def connect(address: str) -> "SharedEvaluators":
    """The pool of another process, by `Share.address`."""
    return SharedEvaluators(address)


class SharedEvaluators:
    """Looks like `Evaluators`; the sandboxes are another process's."""

    def __init__(self, address: str) -> None:
        path, _, secret = address.partition("#")
        try:
            self._connection = Client(path, family="AF_UNIX", authkey=bytes.fromhex(secret))
        except (OSError, ValueError, EOFError) as error:
            raise SandboxError(
                f"the evaluators at {path} can't be reached: {error}; is the main process gone?"
            ) from error
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[_Answer]] = {}
        self._lock = threading.Lock()
        self._gone = False
        threading.Thread(target=self._listen, name="nanolm-shared", daemon=True).start()

    def __enter__(self) -> "SharedEvaluators":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; the pool stays open for others."""
        self._gone = True
        try:
            # Ends the reading thread, which a plain close would leave waiting.
            with socket.socket(fileno=os.dup(self._connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def check(self, dataset: str, task: str, program: str) -> ProgramResult:
        """As `Evaluators.check`."""
        return self._result(self._ask(dataset, task, program))

    def check_all(self, programs: Iterable[Program]) -> Iterator[tuple[Hashable, ProgramResult]]:
        """As `Evaluators.check_all`."""
        return stream.verdicts(self.submit, programs)

    def submit(self, dataset: str, task: str, program: str) -> "Future[ProgramResult]":
        """As `Evaluators.submit`; every failure comes through the future."""
        future: Future[ProgramResult] = Future()

        def finished(answered: "Future[_Answer]") -> None:
            try:
                future.set_result(self._result(answered))
            except SandboxError as error:
                future.set_exception(error)

        self._ask(dataset, task, program).add_done_callback(finished)
        return future

    def cache_key(self, dataset: str) -> str:
        """As `Evaluators.cache_key`."""
        answer = self._ask(dataset, "", "").result()
        if answer.error:
            raise SandboxError(answer.error)
        return answer.key

    def _result(self, answered: "Future[_Answer]") -> ProgramResult:
        answer = answered.result()
        if answer.result is None:
            raise SandboxError(answer.error)
        return answer.result

    def _ask(self, dataset: str, task: str, program: str) -> "Future[_Answer]":
        future: Future[_Answer] = Future()
        with self._lock:
            if self._gone:
                raise SandboxError(
                    "the process that holds the evaluators is gone, or the connection is closed"
                )
            number = next(self._numbers)
            self._waiting[number] = future
            asked = _Asked(number, dataset, task, program.encode("utf-8", "surrogatepass"))
            try:
                self._connection.send_bytes(msgspec.msgpack.encode(asked))
            except OSError as error:
                del self._waiting[number]
                raise SandboxError(f"the process that holds the evaluators is gone: {error}") from error
        return future

    def _listen(self) -> None:
        with self._connection:
            while True:
                try:
                    answer = msgspec.msgpack.decode(self._connection.recv_bytes(), type=_Answer)
                except (EOFError, OSError):
                    break
                with self._lock:
                    waiting = self._waiting.pop(answer.number)
                waiting.set_result(answer)
        with self._lock:
            self._gone = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for future in left:
            future.set_exception(SandboxError("the process that holds the evaluators is gone"))
