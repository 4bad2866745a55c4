"""Replies are cut without losing or changing a character."""

from hypothesis import given
from hypothesis import strategies as st

from nanolm.reports.reply import parts
from nanolm.schema import Verdict


def verdict(span: tuple[int, int] | None, reason: str | None = None) -> Verdict:
    return Verdict(correct=reason is None, reason=reason, span=span)  # type: ignore[arg-type]


def test_reasoning_is_folded_and_the_span_marked() -> None:
    text = "<think>Is it A?</think>\n\nAnswer: B."
    start = text.index("B.")
    assert parts(text, verdict((start, start + 1)), "</think>") == (
        "<think>Is it A?</think>\n\n",
        "Answer: ",
        "B",
        ".",
    )


def test_a_block_that_never_closed_is_all_reasoning() -> None:
    text = "<think>on and on"
    assert parts(text, verdict(None, "truncated"), "</think>") == (text, "", "", "")
    assert parts(text, verdict(None, "wrong"), "</think>") == ("", text, "", "")


def test_a_span_inside_the_reasoning_stays_visible() -> None:
    assert parts("ab</think>c", verdict((0, 1)), "</think>") == ("", "", "a", "b</think>c")


@given(st.text(), st.integers(-5, 80), st.integers(-5, 80), st.sampled_from(["</think>", "[/THINK]"]))
def test_the_parts_joined_are_the_output(text: str, start: int, stop: int, closer: str) -> None:
    for whole in (text, f"<think>{text}{closer}{text}"):
        for span in (None, (start, stop)):
            for reason in (None, "truncated"):
                assert "".join(parts(whole, verdict(span, reason), closer)) == whole
