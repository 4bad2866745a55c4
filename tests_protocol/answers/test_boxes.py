r"""The last `\boxed{}`: which one it is, and that finding it takes linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.answers import boxes


def _inner(text: str) -> str | None:
    box = boxes.last(text)
    if box is None or isinstance(box, str):
        return box
    assert text[box.start : box.start + 6] == "\\boxed"
    assert text[box.end - 1] == "}"
    return text[box.inner_start : box.inner_end]


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        (r"so \boxed{1} and \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{a \boxed{5} b}", "5"),
        (r"\boxed{cut \boxed{5}", "5"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\\boxed{7}", "7"),
        (r"\boxed {7}", "7"),
        (r"\boxed{}", ""),
        (r"\boxed{72", None),
        (r"\boxed 72", None),
        (r"\fbox{72}", None),
        (r"\boxed{10} then \boxed{72", boxes.UNCLOSED),
        (r"\boxed{72} is marked with \boxed", "72"),
        (r"{{\boxed{1}", "1"),
        ("no box at all", None),
    ],
)
def test_last_box(text: str, inner: str | None) -> None:
    assert _inner(text) == inner


@given(st.text(alphabet="\\boxed{} a"))
def test_any_text_is_read(text: str) -> None:
    inner = _inner(text)
    assert inner is None or inner == boxes.UNCLOSED or inner in text


@given(st.text(alphabet="ab{} "), st.text(alphabet="ab1 "))
def test_a_closed_box_at_the_end_is_the_last(before: str, inside: str) -> None:
    assert _inner(f"{before}\\boxed{{{inside}}}") == inside
