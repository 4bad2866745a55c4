"""The end of a process whose engine's thread can't be cut short."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading, time
from nanolm.plugin.leaving import Leaving
thread = threading.Thread(target=time.sleep, args=({seconds},), daemon=True)
thread.start()
leaving = Leaving(thread.is_alive)
leaving.status = lambda: 2
if {forgotten}:
    leaving.forget()
if {seconds} < 1:
    thread.join()
atexit.register(print, "what others do at the end")
print("reports are written", end=" and ")
sys.exit(5)
"""


@pytest.mark.parametrize(
    ("seconds", "forgotten", "status"), [(100, False, 2), (100, True, 5), (0.01, False, 5)]
)
def test_only_a_thread_at_work_ends_the_process_at_once(seconds: float, forgotten: bool, status: int) -> None:
    program = PROGRAM.format(seconds=seconds, forgotten=forgotten)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    assert done.stdout == "reports are written and what others do at the end\n"
    assert done.stderr == ""
