"""The option with the greatest log-likelihood, from an engine's JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm import answers
from nanolm.answers import likeliest
from nanolm.errors import ItemError
from nanolm.schema import Item


def item(**fields: object) -> Item:
    values: dict[str, object] = {
        "benchmark": "b",
        "id": "1",
        "answer_type": "likeliest",
        "question": "?",
        "options": ("ab", "abcd", "é"),
        "gold": "B",
    }
    return Item(**(values | fields))  # type: ignore[arg-type]


def text(*values: float) -> str:
    return json.dumps({"loglikelihoods": values, "tokens": [1] * len(values)})


def test_the_greatest_sum_wins() -> None:
    verdict = likeliest.judge(likeliest.extract(text(-3.0, -2.0, -9.0), item()), item())
    assert (verdict.correct, verdict.answer, verdict.rule) == (True, "B", "greatest-sum")
    verdict = likeliest.judge(likeliest.extract(text(-1.0, -2.0, -9.0), item()), item())
    assert (verdict.correct, verdict.answer, verdict.reason) == (False, "A", "wrong")


@pytest.mark.parametrize(
    ("normalisation", "answer", "rule"),
    [
        ("none", "C", "greatest-sum"),  # -4, -6, -2.5
        ("characters", "B", "greatest-per-character"),  # -2, -1.5, -2.5
        ("bytes", "C", "greatest-per-byte"),  # -2, -1.5, -1.25: é is two bytes
    ],
)
def test_a_length_is_in_characters_or_bytes_of_the_option(normalisation: str, answer: str, rule: str) -> None:
    found = likeliest.extract(text(-4.0, -6.0, -2.5), item(normalisation=normalisation))
    assert (found.value, found.rule) == (answer, rule)


def test_of_equals_the_first_wins_and_the_rule_says_so() -> None:
    found = likeliest.extract(text(-5.0, -2.0, -2.0), item())
    assert (found.value, found.rule) == ("B", "tie")
    assert likeliest.extract(text(-2.0, -4.0, -9.0), item(normalisation="characters")).rule == "tie"


@pytest.mark.parametrize(
    "reply",
    [
        *("", "Answer: B", "[]", "{}", "null", text(-1.0, -2.0), text(-1.0, -2.0, -3.0, -4.0)),
        '{"loglikelihoods": [-1.0, "x", -2.0], "tokens": [1, 1, 1]}',
        '{"loglikelihoods": [-1.0, NaN, -2.0], "tokens": [1, 1, 1]}',
        '{"loglikelihoods": [-1.0, -1e999, -2.0], "tokens": [1, 1, 1]}',
    ],
)
def test_anything_else_is_unparseable(reply: str) -> None:
    verdict = likeliest.judge(likeliest.extract(reply, item()), item())
    assert (verdict.correct, verdict.reason) == (False, "unparseable")


@given(st.text(max_size=60))
def test_no_text_raises(reply: str) -> None:
    assert likeliest.judge(likeliest.extract(reply, item()), item()).reason in (None, "wrong", "unparseable")


@given(st.lists(st.floats(-1e4, 0), min_size=2, max_size=6))
def test_it_is_the_first_greatest(values: list[float]) -> None:
    asked = item(options=tuple(f"o{place}" for place in range(len(values))), gold="A")
    found = likeliest.extract(text(*values), asked)
    assert found.value == chr(ord("A") + values.index(max(values)))


def test_an_item_needs_options_and_the_letter_of_one_as_gold() -> None:
    module = answers.get("likeliest")
    module.check(item())
    for wrong in ({"options": ("one",)}, {"options": ("a", " ")}, {"gold": "D"}, {"gold": 1}):
        with pytest.raises(ItemError):
            module.check(item(**wrong))
