"""Odd but honest programs, from the reply to the verdict: what the official evaluator makes of them."""

from collections.abc import Iterator

import pytest

from nanolm import editions
from nanolm.editions import load_items
from nanolm.sandbox import Evaluators
from nanolm.schema import Decoding, Item, Output, Verdict
from nanolm.verdicts.judge import Judge

pytestmark = pytest.mark.code

SLUG, TASK = "mbpp-plus-mini", "Mbpp/10004"
DEF = "def largest(numbers):\n"
RIGHT = DEF + "    return max(numbers)\n"
WRONG = DEF + "    return min(numbers)\n"
MEGABYTE = 1_000_000

PASS: dict[str, str] = {
    "as asked": RIGHT,
    "a megabyte of comments": "# x\n" * (MEGABYTE // 4) + RIGHT,
    "a megabyte in one line": RIGHT + "x = '" + "x" * MEGABYTE + "'\n",
    "a hundred kilobytes of statements": "x = 1\n" * (MEGABYTE // 60) + RIGHT,
    "Windows line ends": RIGHT.replace("\n", "\r\n"),
    "old Macintosh line ends": RIGHT.replace("\n", "\r"),
    "tabs": RIGHT.replace("    ", "\t"),
    "no line end": RIGHT.rstrip("\n"),
    "form feed": "\f" + RIGHT,
    "other alphabets": "größe = 'ß漢字🙂'\n" + RIGHT,
    "defined twice, right last": WRONG + RIGHT,
    "a method of the same name": "class A:\n    def largest(self): return None\n" + RIGHT,
    "a lambda": "largest = lambda numbers: max(numbers)\n",
    "another name for a builtin": "largest = max\n",
    "a decorator": "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n"
    "    return g\n@d\n" + RIGHT,
    "a callable object": "class A:\n    def __call__(self, numbers): return max(numbers)\nlargest = A()\n",
    "an optional argument": "def largest(numbers, key=None):\n    return max(numbers, key=key)\n",
    "a main guard that would fail": RIGHT + "if __name__ == '__main__':\n    print(largest([]))\n",
    "prints": RIGHT.replace("    return", "    print('here', numbers)\n    return"),
    "its own tests, which hold": RIGHT + "assert largest([1, 3, 2]) == 3\n",
    "numpy": "import numpy as np\n" + DEF + "    return int(np.max(numbers))\n",
    "an answer that equals it": DEF + "    return float(max(numbers))\n",
    "a future import": "from __future__ import annotations\n" + RIGHT,
    "a process of its own that is left": "import threading\n"
    + RIGHT
    + "threading.Thread(target=print).start()\n",
}

FAIL: dict[str, str] = {
    "wrong": WRONG,
    "a null character": RIGHT + "x = '\0'\n",
    "a lone surrogate": RIGHT + "x = '\udc80'\n",
    "a byte order mark": "\ufeff" + RIGHT,
    "a no-break space": RIGHT.replace("    return", "\u00a0   return"),
    "typographic quotes": RIGHT + "x = “x”\n",
    "tabs and spaces mixed": DEF + "    x = 1\n\treturn max(numbers)\n",
    "indented as a whole": "  " + RIGHT.replace("\n", "\n  "),
    "Python 2": DEF + "    print numbers\n    return max(numbers)\n",
    "defined twice, wrong last": RIGHT + WRONG,
    "only a method of the name": "class A:\n    def largest(self, numbers): return max(numbers)\n",
    "only a nested function": "def outer():\n    def largest(numbers): return max(numbers)\n",
    "async def": "async " + RIGHT,
    "a generator": DEF + "    yield max(numbers)\n",
    "no return": DEF + "    max(numbers)\n",
    "a cache of what can't be hashed": "import functools\n@functools.lru_cache\n" + RIGHT,
    "a package that is not there": "import torch\n" + RIGHT,
    "a relative import": "from .solution import largest\n",
    "asks for input": "n = int(input())\n" + RIGHT,
    "its own tests, which fail": RIGHT + "assert largest([1, 3, 2]) == 1\n",
    "raises": DEF + "    raise ValueError(numbers)\n",
    "too many arguments": "def largest(numbers, much, more):\n    return max(numbers)\n",
    "a comparison that raises": "class A:\n    def __eq__(self, other): raise RuntimeError\n"
    + DEF
    + "    return A()\n",
    "an object that can't be printed": "class A:\n    def __repr__(self): raise RuntimeError\n"
    + DEF
    + "    return A()\n",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('x')\n" + RIGHT,
}

NEVER_ENDS: dict[str, str] = {
    "an event loop at import": "import asyncio\nasyncio.new_event_loop().run_forever()\n" + RIGHT,
    "a server at import": "import http.server\nhttp.server.HTTPServer(('', 0), None).serve_forever()\n"
    + RIGHT,
    "waits for a lock at import": "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()\n"
    + RIGHT,
}


def _item() -> Item:
    items = load_items(editions.load("mini"), SLUG).items
    return next(item for item in items if item.task == TASK)


@pytest.fixture(scope="module")
def verdicts(evaluators: Evaluators) -> Iterator[dict[str, Verdict]]:
    """All replies in one go: each a fenced block, as a model would write it."""
    item = _item()
    found: dict[str, Verdict] = {}
    with Judge(checker=evaluators) as judge:
        asked = {}
        for name, program in (PASS | FAIL | NEVER_ENDS).items():
            end = "\r\n" if "\r\n" in program else "\n"
            text = f"Here it is:{end}{end}```python{end}{program.removesuffix(end)}{end}```{end}"
            asked[name] = judge.submit(
                item,
                Output(
                    benchmark=SLUG,
                    item=item.id,
                    sample=0,
                    seed=0,
                    entry="",
                    prompt_digest="",
                    rendered_digest="",
                    decoding=Decoding(),
                    max_tokens=9,
                    text=text,
                    finish_reason="stop",
                    output_tokens=5,
                    engine="synthetic",
                ),
            )
        for name, future in asked.items():
            found[name] = future.result()
        yield found


@pytest.mark.parametrize("name", list(PASS))
def test_passes(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].correct, verdicts[name].detail


@pytest.mark.parametrize("name", list(FAIL))
def test_fails(name: str, verdicts: dict[str, Verdict]) -> None:
    found = verdicts[name]
    assert (found.correct, found.reason) == (False, "wrong")
    assert "base fail" in found.detail


@pytest.mark.parametrize("name", list(NEVER_ENDS))
def test_never_ends(name: str, verdicts: dict[str, Verdict]) -> None:
    found = verdicts[name]
    assert (found.correct, found.reason) == (False, "wrong")
    assert "timeout" in found.detail or "base fail" in found.detail
