"""The plugin does not slow down a pytest run that has nothing to do with it."""

import subprocess
import sys
from pathlib import Path

import pytest

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


WITHOUT_HYPOTHESIS = """
import sys
import pytest

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hypothesis":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.exit(pytest.main(["-q", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("tests_protocl", "ERROR: file or directory not found: tests_protocl"),
        ("tests_protocol", "need hypothesis, which is not installed here: run `make test`, or pip install"),
        ("tests_protocol/test_errors.py", "need hypothesis, which is not installed here: run `make test`"),
    ],
)
def test_without_the_extra_test_one_line_says_what_to_do(path: str, said: str) -> None:
    """In the environment of the demo pytest reads this folder's conftest.py for mistyped paths, too."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HYPOTHESIS, path],
        capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert sum(said in line for line in (done.stdout + done.stderr).splitlines()) == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "conftest.py" not in done.stdout + done.stderr
