"""Verdicts per second and core: tool calls, math (new, and from the cache), and a whole rescore.

    python perf/verdicts.py [--math N]      processor seconds; written replies, no model

The rescore is of 33,485 outputs of 500 characters in the suite's proportions, without code programs,
math from the cache.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from outputs import output

from nanolm.answers import tool_calls
from nanolm.schema import AnswerType, FunctionSignature, Item, Output
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.rescore import rescore

SUITE: tuple[tuple[str, AnswerType, int], ...] = (
    ("letters", "letter", 10_000 + 2_376 + 5_600 + 203 + 3_646),
    ("numbers", "number", 1_209),
    ("math", "math_expression", 500),
    ("calls", "tool_calls", 170),
    ("code", "code", 377 + 824),
    ("labels", "label", 3_080 + 5_500),
)
LABELS = tuple(sorted(f"label_number_{n}" for n in range(150)))
FUNCTIONS = {"bookTable": FunctionSignature(required=("place", "people"), optional=("time", "tags"))}
GOLD = [
    {"name": "bookTable", "arguments": {"place": "Lido", "people": 4, "tags": ["quiet", "window"]}},
    {"name": "bookTable", "arguments": {"place": "Casa Blu", "people": 2, "time": "20:00"}},
]
PROSE = "The question asks for the value, so we look at each part in turn and compare. "


def cpu() -> float:
    """Processor seconds of this process and of the children it has waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def item(benchmark: str, answer_type: AnswerType, number: int) -> Item:
    golds = {"letter": "B", "number": "42", "label": LABELS[7], "tool_calls": GOLD, "code": None}
    return Item(
        benchmark=benchmark,
        id=str(number),
        answer_type=answer_type,
        question="",
        gold=golds.get(answer_type, rf"\frac{{{number + 1}}}{{{number + 3}}}"),
        options=("red", "green", "blue", "none of the above") if answer_type == "letter" else (),
        labels=LABELS if answer_type == "label" else (),
        functions=FUNCTIONS if answer_type == "tool_calls" else {},
        function="area" if answer_type == "code" else None,
    )


def reply(one: Item) -> str:
    number = int(one.id)
    ends = {
        "letter": "Answer: B",
        "number": r"\boxed{42}",
        "label": f"Answer: {LABELS[7]}",
        "tool_calls": "```json\n" + json.dumps(GOLD[::-1], indent=2) + "\n```",
        "code": "```python\ndef area(w, h):\n    return w * h\n```",
        "math_expression": rf"\boxed{{\frac{{{2 * number + 2}}}{{{2 * number + 6}}}}}",
    }
    return PROSE * ((500 - len(ends[one.answer_type])) // len(PROSE)) + ends[one.answer_type]


def outputs(items: dict[str, list[Item]]) -> Iterator[Output]:
    return (output(one, reply(one)) for of in items.values() for one in of)


def rate(what: str, count: int, seconds: float, target: float) -> None:
    print(f"{what:<34} {count / seconds:>10,.0f} /s   (target {target:,.0f}; {count} in {seconds:.2f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--math", type=int, default=500, help="new math verdicts to time")
    count = parser.parse_args().math

    calls = item("calls", "tool_calls", 0)
    text = reply(calls)
    start = cpu()
    for _ in range(5_000):
        assert tool_calls.judge(tool_calls.extract(text, calls), calls).correct
    rate(f"tool calls, {len(text)} characters", 5_000, cpu() - start, 10_000)

    maths = [item("math", "math_expression", number) for number in range(count)]
    pairs = [(one, output(one, reply(one))) for one in maths]
    with tempfile.TemporaryDirectory() as folder:
        with Judge(workers=1, cache=Path(folder)) as judge:
            judge.verdict(
                item("math", "math_expression", count), output(maths[-1], reply(maths[-1]))
            )  # starts the worker
            clock = time.perf_counter()
            right = sum(verdict.correct for _, verdict in judge.verdicts(pairs))
            wall = time.perf_counter() - clock
            assert right == count
            rate("math, new, one worker, on the clock", count, wall, 150)
            start = cpu()
            for _ in range(20_000 // count):
                for pair in pairs:
                    judge.verdict(*pair)
            rate("math, from memory, whole path", 20_000 // count * count, cpu() - start, 100_000)
        suite = {slug: [item(slug, kind, n) for n in range(size)] for slug, kind, size in SUITE}
        suite["math"] = maths[:500]
        with Judge(workers=1, cache=Path(folder)) as judge:
            start = cpu()
            lines = rescore(suite, list(outputs(suite)), judge)
            seconds = cpu() - start
    rate("rescore of a whole greedy entry", len(lines), seconds, 33_485 / 20)


if __name__ == "__main__":
    main()
