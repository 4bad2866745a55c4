"""llama.cpp's process: it ends with the one that started it, whatever it is doing."""

import json
import subprocess
import sys
from pathlib import Path

STAND_IN = """
import threading, time, types, sys

class Server:
    listening_address = "http://127.0.0.1:9"
    def __init__(self, params): pass
    def handle_completions(self, parameters):
        print("writing", file=sys.stderr, flush=True)
        time.sleep(600)

class Params:
    def __init__(self): self.model, self.cpuparams = types.SimpleNamespace(), types.SimpleNamespace()

CommonParams = Params
"""


def test_the_worker_ends_at_once_when_its_input_does(tmp_path: Path) -> None:
    """Not after the replies in hand: nobody is there to read them (a kill -9 of the main process)."""
    (tmp_path / "xllamacpp.py").write_text(STAND_IN)
    settings = {"model": "x.gguf", "context": 64, "slots": 2, "threads": 1, "drafts": False}
    worker = subprocess.Popen(
        [sys.executable, "-m", "nanolm.engines.llamacpp_worker", json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).resolve().parents[2]}"},
    )
    try:
        assert worker.stdin
        assert worker.stdout
        assert worker.stderr
        assert json.loads(worker.stdout.readline()) == {"ready": True}
        for number in range(3):
            worker.stdin.write(json.dumps({"number": number, "parameters": {}}) + "\n")
        worker.stdin.flush()
        assert worker.stderr.readline() == "writing\n"
        worker.stdin.close()
        assert worker.wait(timeout=30) == 0
    finally:
        worker.kill()
        worker.wait()
        for stream in (worker.stdin, worker.stdout, worker.stderr):
            if stream:
                stream.close()
