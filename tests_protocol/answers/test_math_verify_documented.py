"""Each example of docs/math-verify.md is what the pinned library says."""

import re
from pathlib import Path

import pytest

from nanolm.answers import math_expression

PAGE = Path(__file__).resolve().parents[2] / "docs" / "math-verify.md"
EXAMPLES = re.findall(
    r"^\| `(.+?)` \| `(.+?)` \| (equal|not equal) \|", PAGE.read_text(encoding="utf-8"), re.M
)


def test_all_tables_are_read() -> None:
    assert len(EXAMPLES) == 41
    assert {word for _, _, word in EXAMPLES} == {"equal", "not equal"}


@pytest.mark.parametrize(("gold", "reply", "word"), EXAMPLES)
def test_documented(gold: str, reply: str, word: str) -> None:
    assert math_expression.equal(gold, reply) == (word == "equal")
