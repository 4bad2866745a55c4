"""`--gate`: conditions that a score must meet for the exit status to be 0.

index >= 12.5
skill[gsm8k-platinum] > 0.1
category[coding] >= 0.2
raw[arc-easy] >= 0.3
truncated[math-500] <= 0.05
"""

import operator
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from nanolm.errors import UsageError, unknown
from nanolm.schema import EntryScore

_CONDITION = re.compile(r"\s*([a-z_]+)(?:\[([\w.-]+)\])?\s*(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_FIELDS = {"skill": "skill", "raw": "raw", "truncated": "truncated_share", "tokens": "mean_output_tokens"}
_NAMES = ("index", "raw_index", "category", *_FIELDS)


class Condition(msgspec.Struct, frozen=True):
    """One comparison."""

    text: str
    name: str
    key: str
    sign: str
    bound: float

    def value(self, score: EntryScore) -> float | None:
        """What it compares; None when the score does not hold it."""
        if self.name == "index":
            return score.index.value if score.index else None
        if self.name == "raw_index":
            return score.raw_index
        if self.name == "category":
            return score.categories[self.key].value if self.key in score.categories else None
        benchmark = score.benchmarks.get(self.key)
        return getattr(benchmark, _FIELDS[self.name]) if benchmark else None

    def problem(self, score: EntryScore) -> str:
        """Why it does not hold; empty when it does."""
        value = self.value(score)
        if value is None:
            return f"{self.text}: this run has no such score"
        return "" if _COMPARE[self.sign](value, self.bound) else f"{self.text}: it is {value:.6g}"


def conditions(gate: str, benchmarks: list[str], categories: list[str]) -> list[Condition]:
    """From `--gate`: one condition, several with commas, or a file with one a line (`#` comments).

    Raises `UsageError` for what can't be read and for names that do not exist.
    """
    path = Path(gate)
    where = "--gate"
    if path.is_file():
        where = str(path)
        lines = [line.partition("#")[0].strip() for line in _text(path).splitlines()]
    else:
        lines = [part.strip() for part in gate.split(",")]
    found = [_condition(line, where, benchmarks, categories) for line in lines if line]
    if not found:
        raise UsageError(f"{where}: no condition in {gate!r}; expected for example index >= 12.5")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--gate={path} can't be read: {error}; expected a text file with one condition a line"
        ) from None


def _condition(text: str, where: str, benchmarks: list[str], categories: list[str]) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{where}: can't read {text!r} as a condition or file; expected for example 'index >= 12.5' or"
            " 'skill[gsm8k-platinum] > 0.1'"
        )
    name, key, sign, bound = match.groups()
    if name not in _NAMES:
        raise unknown(f"{where} value", name, _NAMES)
    known = [] if name in ("index", "raw_index") else categories if name == "category" else benchmarks
    if (key or known) and key not in known:
        raise unknown(f"{where} {'category' if name == 'category' else 'benchmark'}", key or "", known)
    return Condition(text, name, key or "", sign, float(bound))
