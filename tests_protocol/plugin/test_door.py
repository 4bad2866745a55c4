"""The plugin does not slow down a pytest run that has nothing to do with it."""

import subprocess
import sys

HEAVY = ("msgspec", "numpy", "rich", "nanolm.plugin.session", "nanolm.editions", "xllamacpp", "vllm", "click")


def test_the_entry_point_imports_nothing_heavy() -> None:
    script = (
        "import sys, time\n"
        "import pytest\n"
        "before = set(sys.modules)\n"
        "started = time.process_time()\n"
        "import nanolm.plugin\n"
        "seconds = time.process_time() - started\n"
        f"loaded = [name for name in {HEAVY!r} if name in set(sys.modules) - before]\n"
        "print(seconds, ' '.join(loaded))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    seconds, _, loaded = done.stdout.strip().partition(" ")
    assert loaded == ""
    assert float(seconds) < 0.03
