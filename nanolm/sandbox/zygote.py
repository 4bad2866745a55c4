"""Runs inside the sandbox, by the evaluators' own Python: the only code that touches programs.

Standard library and the official evaluators only; nothing of nanolm is imported. The file is mounted
alone into the sandbox, so it stays one file, however long. It is process 1 of its own pid namespace:
signals from inside can't kill it, and what a sample leaves behind becomes its child and is killed.

    zygote.py truth SUITE SUBSET                reads task ids, writes frames of ground truth
    zygote.py serve SUITE SUBSET TRUTH INDEX    reads programs, writes verdicts

A verdict travels as the checker's exit code. The checker has no file descriptor of the zygote, so a
program that writes to every descriptor it can find reaches nobody.
"""

import ctypes
import gc
import importlib.metadata
import json
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO

STATUSES = ("pass", "fail", "timeout")
# Ruling 49: exit status 0 is no evidence of a pass. Only a check that came to its own end gives one
# of these; everything else (0, 1, a signal) is an error.
FIRST_CODE = 64
SINGLE_CODE = FIRST_CODE + 9

CHECKER_CPU_SECONDS = 300
STOPPED_MILLISECONDS = 400
CACHED_TASKS = 32
CACHED_BYTES = 200_000_000
SCRATCH = ("/tmp", "/dev/shm")

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4

Problem = dict[str, Any]
Check = Callable[[Problem, Any, str], int]


def mbpp() -> tuple[dict[str, Problem], Callable[[str, Problem], Any], Check]:
    """EvalPlus 0.3.1 on MBPP+, at its command line's defaults (1 s and 4 x the reference, §7)."""
    from evalplus.data import get_mbpp_plus
    from evalplus.data.utils import CACHE_DIR
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.evaluate import check_correctness, get_groundtruth

    def truth(task: str, problem: Problem) -> Any:
        # The function always writes a cache file and reads an existing one; the name is one task's.
        name = "truth-" + task.replace("/", "-")
        try:
            return get_groundtruth({task: problem}, name, MBPP_OUTPUT_NOT_NONE_TASKS)[task]
        finally:
            os.unlink(os.path.join(CACHE_DIR, name + ".pkl"))

    def check(problem: Problem, expected: Any, program: str) -> int:
        found = check_correctness("mbpp", 0, problem, program, expected, fast_check=True)
        return code(found["base"][0], found["plus"][0])

    return get_mbpp_plus(), truth, check


def evoeval(subset: str) -> tuple[dict[str, Problem], Callable[[str, Problem], Any], Check]:
    """EvoEval 0.1.0 with EvalPlus 0.2.0, at its command line's defaults.

    The functions' own defaults (0.1 s and 2 x) are not those of the official command: 1 s and 4 x.
    """
    from evoeval.data import get_evo_eval
    from evoeval.evaluate import check_correctness, get_groundtruth

    raw = subset in ("verbose", "concise")
    dataset = f"EvoEval_{subset}"

    def truth(task: str, problem: Problem) -> Any:
        return get_groundtruth({task: problem}, None, use_raw_inputs=raw, compute_plus_inputs=raw)[task]

    def check(problem: Problem, expected: Any, program: str) -> int:
        found = check_correctness(
            dataset,
            0,
            problem,
            program,
            expected,
            fast_check=True,
            min_time_limit=1,
            gt_time_limit_factor=4.0,
            use_raw_inputs=raw,
            compute_plus_inputs=raw,
        )
        return code(found["result"][0], found["plus"][0] if raw else None)

    return get_evo_eval(dataset), truth, check


def code(base: str, plus: str | None) -> int:
    """A verdict as an exit code."""
    if plus is None:
        return SINGLE_CODE + STATUSES.index(base)
    return FIRST_CODE + 3 * STATUSES.index(base) + STATUSES.index(plus)


def load(suite: str, subset: str) -> tuple[dict[str, Problem], Callable[[str, Problem], Any], Check]:
    return mbpp() if suite == "mbpp" else evoeval(subset)


def write_truth(out: BinaryIO, suite: str, subset: str) -> None:
    """For each task id read: a JSON line `{task, bytes, seconds, reference}` and the pickle it announces.

    Problem and expected outputs go into one pickle, from the process that ran the reference:
    EvalPlus 0.2.0's `trusted_exec` lets a reference change its inputs, and the official run then
    tests on the changed inputs. `reference` is the reference solution's total time, in seconds.
    """
    problems, truth, _ = load(suite, subset)
    say(out, {"versions": versions(), "tasks": {t: reference(suite, p) for t, p in problems.items()}})
    for line in sys.stdin.buffer:
        task = json.loads(line)
        start = time.monotonic()
        try:
            expected = truth(task, problems[task])
            payload = pickle.dumps((problems[task], expected), protocol=5)
        except BaseException as error:
            say(out, {"task": task, "error": f"{type(error).__name__}: {error}"[:500]})
            continue
        took = sum(sum(expected[name]) for name in ("base_time", "plus_time") if name in expected)
        seconds = round(time.monotonic() - start, 3)
        say(out, {"task": task, "bytes": len(payload), "seconds": seconds, "reference": round(took, 4)})
        out.write(payload)
        out.flush()
        problems[task] = {}


def reference(suite: str, problem: Problem) -> str:
    """The reference solution as the official ground truth runs it."""
    glue = "" if suite == "mbpp" else "\n"
    return f"{problem['prompt']}{glue}{problem['canonical_solution']}"


def versions() -> dict[str, str]:
    names = ("evalplus", "evoeval", "numpy")
    found = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    return {"python": sys.version.split()[0]} | {n: found[n] for n in names if n in found}


class Tasks:
    """Ground truth read task by task, so that a start costs nothing and memory stays bounded."""

    def __init__(self, truth: str, index: str) -> None:
        self.file = open(truth, "rb")  # noqa: SIM115 (open as long as the zygote lives)
        with open(index, encoding="utf-8") as lines:
            self.places = {entry["task"]: entry for entry in map(json.loads, lines)}
        self.cached: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def get(self, task: str) -> tuple[Problem, Any]:
        if task in self.cached:
            self.cached.move_to_end(task)
        else:
            place = self.places[task]
            self.file.seek(place["offset"])
            self.cached[task] = (place["bytes"], pickle.loads(self.file.read(place["bytes"])))
            while len(self.cached) > 1 and (
                len(self.cached) > CACHED_TASKS or sum(n for n, _ in self.cached.values()) > CACHED_BYTES
            ):
                self.cached.popitem(last=False)
            gc.collect()
            gc.freeze()
        problem, expected = self.cached[task][1]
        return problem, expected


def serve(out: BinaryIO, suite: str, subset: str, truth: str, index: str) -> None:
    """Answer each line `{task, program}` with `{code, seconds, cpu, preempted, last}`; ends at end of input.

    `preempted`: how often a process of the check had to give way to another while it could have run.
    `last`: what the program left can't be cleared away; the zygote ends, and the sandbox with it.
    """
    _, _, check = load(suite, subset)
    tasks = Tasks(truth, index)
    gc.collect()
    gc.freeze()
    say(out, {"ready": True, "versions": versions(), "cpu": used()})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        problem, expected = tasks.get(asked["task"])
        before = preempted()
        start = time.monotonic()
        status = run_checker(check, problem, expected, asked["program"])
        seconds = time.monotonic() - start
        cleared = clear()
        say(
            out,
            {
                "code": status,
                "seconds": round(seconds, 4),
                "cpu": used(),
                "preempted": preempted() - before,
                "last": not cleared,
            },
        )
        if not cleared:
            return


def run_checker(check: Check, problem: Problem, expected: Any, program: str) -> int:
    """Fork a process that makes the official call; its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            become_checker()
            status = check(problem, expected, program)
        finally:
            os._exit(status)
    watch = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        poll.register(0, 0)  # only "hung up": the main process is gone
        ended = False
        while not ended:
            events = dict(poll.poll(STOPPED_MILLISECONDS))
            ended = watch in events
            if not events and os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG) is not None:
                os.kill(pid, signal.SIGKILL)  # a program stopped its checker; nobody would wake it
            if not ended and events.get(0, 0) & (select.POLLHUP | select.POLLERR):
                os._exit(3)  # process 1 ends, and the kernel ends all others with it
    finally:
        os.close(watch)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def become_checker() -> None:
    """Let go of everything that belongs to the zygote."""
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, 4096)
    resource.setrlimit(resource.RLIMIT_CPU, (CHECKER_CPU_SECONDS, CHECKER_CPU_SECONDS))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def clear() -> bool:
    """Kill all that is left of a sample and empty its scratch; False if that can't be done."""
    try:
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                break
            try:
                while True:
                    os.waitpid(-1, 0)
            except ChildProcessError:
                continue
        for folder in SCRATCH:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
        remove_ipc()
    except (OSError, RecursionError):
        return False
    return True


def remove_ipc() -> None:
    """System V memory, queues and semaphores outlive the processes that made them."""
    libc = ctypes.CDLL(None)
    about = ctypes.create_string_buffer(1024)
    for control, info, stat in ((libc.shmctl, 14, 13), (libc.msgctl, 12, 11)):  # SHM_INFO, SHM_STAT, …
        for index in range(control(0, info, about) + 1):
            number = control(index, stat, about)
            if number >= 0:
                control(number, 0, None)  # IPC_RMID
    for index in range(libc.semctl(0, 0, 19, about) + 1):  # SEM_INFO
        number = libc.semctl(index, 0, 18, about)  # SEM_STAT
        if number >= 0:
            libc.semctl(number, 0, 0)


def used() -> float:
    """CPU seconds of this process and of all that it has seen end."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def preempted() -> int:
    """How often the processes that it has seen end were made to wait for a processor."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw


def say(out: BinaryIO, message: Any) -> None:
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def main() -> None:
    # Not dumpable: no process of the same user may trace this one, read or write its memory, or
    # take its file descriptors. What is forked from it inherits that.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # References and evaluators print; the channel to the host is a descriptor nobody else knows.
    out = os.fdopen(os.dup(1), "wb")
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1)
    verb, suite, subset = sys.argv[1:4]
    if verb == "truth":
        write_truth(out, suite, subset)
    else:
        serve(out, suite, subset, *sys.argv[4:6])


if __name__ == "__main__":
    main()
