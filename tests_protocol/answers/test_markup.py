"""What may stand around an answer: tags, fences, answer lines, outer punctuation."""

import pytest

from nanolm.answers import markup


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("<answer> B </answer>", "B"),
        ("<answer>B</ANSWER >\r\n", "B"),
        ("```text\nAnswer: B\n```", "Answer: B"),
        ("~~~\nB\n~~~", "B"),
        ("\u200b ```\r\nB\r\n```", "B"),
        ("```\nx\n``` and ```\ny\n```", "```\nx\n``` and ```\ny\n```"),
        ("``` B ```", "``` B ```"),
        ("<b>B</i>", "<b>B</i>"),
        ("```\n```", "```\n```"),
        ("\u00a0plain\u3000", "plain"),
        ("", ""),
    ],
)
def test_unwrap_takes_one_enclosing_tag_or_fence(text: str, inner: str) -> None:
    assert text[slice(*markup.unwrap(text))] == inner


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Answer: a\nAnswer: b", " b"),
        ("**Answer:** b", "** b"),
        ("**Answer**: b", " b"),
        ("ANSWER：b\r\nmore", "b"),
        ("<b>Answer</b>: b", " b"),
        ("Answer:", ""),
        ('{"answer": "b"}', None),
        ("reanswer: b", None),
        ("The answer is b", None),
    ],
)
def test_answer_line(text: str, rest: str | None) -> None:
    line = markup.answer_line(text)
    assert (line and text[line[1] : line[2]]) == rest


def test_outer_punctuation_leaves_signs_that_can_be_content() -> None:
    text = " **“-5%”**. "
    assert text[slice(*markup.strip_outer(text, 0, len(text)))] == "-5%"
