"""Killed with SIGKILL at random moments and started again: is the record the one of an undisturbed run?

    .venv-vllm/bin/python perf/soak.py [--model FOLDER_OR_GGUF] [--items 1000 1000] [--kills 20]

Real items (ARC-Easy and Banking77 as V1 asks them, so many of each; `nanolm fetch --edition nano-lm-v1`
gets them), a budget of a few tokens, float32. Without --model, a tiny model with random weights answers:
what is tested is that nothing is lost and nothing is twice, and a small model leaves the time to start.
With --stand-in a worker without a model echoes, in the same processes: the quick check of the harness alone.
Checked after every kill: no process of the run is left, and what was recorded stays as it was, byte for
byte. At the end: the same texts, key by key, as the undisturbed run.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nanolm import editions

ROOT = Path(__file__).resolve().parents[1]
V1 = ROOT / "nanolm" / "editions" / "nano_lm_v1"
BENCHMARKS = {
    "arc-easy": "test_knowledge.py::test_arc_easy",
    "banking77": "test_classification_and_extraction.py::test_banking77",
}
STAND_IN = """
import functools
from nanolm.engines import vllm
vllm.installed_version = lambda: "0.31.0"
vllm.VLLMEngine.__init__ = functools.partialmethod(
    vllm.VLLMEngine.__init__, worker="tests_protocol.engines.stand_in_worker", version="0.31.0"
)
"""
Key = tuple[str, str, int]


def edition(folder: Path, budget: int) -> Path:
    """V1's two benchmarks in an edition of their own."""
    folder.mkdir(parents=True)
    text = (V1 / "edition.toml").read_text()
    text = re.sub(r"(?m)^budget = .*", f"budget = {budget}", text)
    text = text.replace('name = "nano-lm-v1"', 'name = "soak"').replace("bfloat16", "float32")
    (folder / "edition.toml").write_text(_only(text, "benchmark"))
    (folder / "sources.lock.toml").write_text(_only((V1 / "sources.lock.toml").read_text(), "source"))
    return folder


def _only(text: str, kind: str) -> str:
    """Without the tables of other benchmarks or sources."""
    kept = []
    for table in re.split(r"(?m)^(?=\[)", text):
        found = re.match(rf"\[+{kind}\.([\w-]+)", table)
        if found is None or found[1] in BENCHMARKS:
            kept.append(table)
    return "".join(kept)


def tests(folder: Path, items: list[int]) -> list[str]:
    """The first so many of each benchmark's tests."""
    known = editions.load(str(folder))
    return [
        f"tests_benchmarks/{test}[{item}]"
        for (slug, test), count in zip(BENCHMARKS.items(), items, strict=True)
        for item in editions.load_ids(known, slug, count)
    ]


def tiny_model(folder: Path) -> Path:
    """Random weights, two layers, a context long enough for Banking77's labels as bytes."""
    sys.path.insert(0, str(ROOT))
    from tests_protocol.engines import tiny_model

    return tiny_model.write(folder, positions=8192, greedy=True)


class Soak:
    """One record under `folder`, written by as many processes as it takes."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command = [*command, f"--reports-dir={folder}"]
        self.folder = folder

    def start(self) -> "subprocess.Popen[bytes]":
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(self.command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)

    @property
    def record(self) -> bytes:
        """The record's bytes up to its last whole line."""
        found = next(iter(self.folder.glob("*/*/outputs.jsonl")), None)
        data = found.read_bytes() if found else b""
        return data[: data.rfind(b"\n") + 1]

    def texts(self) -> dict[Key, str]:
        """Every output once; `SystemExit` for one that is twice or an error."""
        texts: dict[Key, str] = {}
        for line in self.record.splitlines():
            output = json.loads(line)
            key = (output["benchmark"], output["item"], output["sample"])
            if key in texts or output["finish_reason"] == "error":
                sys.exit(f"{key} is {'recorded twice' if key in texts else output['error']}")
            texts[key] = output["text"]
        return texts

    def finish(self) -> float:
        """Run to the end; seconds."""
        begin = time.monotonic()
        status = self.start().wait()
        if status:
            sys.exit(f"exit status {status}; see {self.folder / 'log'}")
        return time.monotonic() - begin


def tree(pid: int) -> list[int]:
    """The process's descendants."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, task.read_text().split()):
                found += [child, *tree(child)]
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(soak: Soak, lines: int | None, seconds: float) -> tuple[bool, float, int]:
    """Start, kill when so many lines are recorded and so many seconds later; whether it was still running.

    Also the seconds it ran and the processes that were there.
    """
    before = soak.record
    begin = time.monotonic()
    process = soak.start()
    while lines is not None and process.poll() is None and soak.record.count(b"\n") < lines:
        time.sleep(0.02)
    time.sleep(seconds)
    family = tree(process.pid)
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    ran = time.monotonic() - begin
    until = time.monotonic() + 30
    while left := [pid for pid in family if alive(pid)]:
        if time.monotonic() > until:
            sys.exit(f"processes {left} are left behind by a killed run")
        time.sleep(0.05)
    if not soak.record.startswith(before):
        sys.exit("what was recorded before the kill has changed")
    return running, ran, len(family)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="default: a tiny one with random weights")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--stand-in", action="store_true", help="no model, a worker that echoes")
    parser.add_argument("--items", type=int, nargs=2, default=[1000, 1000], help="of ARC-Easy and Banking77")
    parser.add_argument("--budget", type=int, default=8)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="default: a temporary one")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="nanolm-soak-"))
    model = options.model or tiny_model(folder / "model")
    asked = edition(folder / "edition", options.budget)
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests(asked, options.items),
        f"--entry={model}", f"--edition={asked}", f"--engine={options.engine}",
    ]  # fmt: skip
    if options.stand_in:
        (folder / "soak_stand_in.py").write_text(STAND_IN)
        (folder / "model" / "slow").touch()
        os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{ROOT}"
        command += ["-p", "soak_stand_in", "--engine=vllm"]
    undisturbed, killed = Soak(command, folder / "undisturbed"), Soak(command, folder / "killed")
    seconds = undisturbed.finish()
    expected = undisturbed.texts()
    print(f"undisturbed: {len(expected):,} outputs in {seconds:.0f} s", flush=True)
    choose = random.Random(options.seed)
    moments = sorted(choose.randrange(len(expected)) for _ in range(options.kills))
    for number, lines in enumerate(moments, 1):
        early = number % 4 == 0  # while it starts
        wait = choose.uniform(0, 15) if early else choose.uniform(0, 1)
        running, ran, family = kill(killed, None if early else lines, wait)
        print(
            f"kill {number}: after {ran:.1f} s with {len(killed.texts()):,} outputs recorded and"
            f" {family} processes below it{'' if running else ' (it had ended)'}",
            flush=True,
        )
    killed.finish()
    found = killed.texts()
    differ = sum(found.get(key) != text for key, text in expected.items())
    lost, more = len(expected.keys() - found.keys()), len(found.keys() - expected.keys())
    print(
        f"{len(found):,} outputs after {options.kills} kills: {lost} lost, {more} too many, {differ} texts"
        f" differ; load {os.getloadavg()[0]:.1f}"
    )
    sys.exit(int(found != expected))


if __name__ == "__main__":
    main()
