"""Chance levels, §8."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.benchmarks.chance import chance
from nanolm.schema import Item

LABELS = ("a", "b", "c", "d")


def letter(gold: str, options: int) -> Item:
    texts = tuple(f"option {number}" for number in range(options))
    return Item(benchmark="b", id="x", answer_type="letter", question="?", gold=gold, options=texts)


def label(gold: str) -> Item:
    return Item(benchmark="b", id="x", answer_type="label", question="?", gold=gold, labels=LABELS)


def test_the_best_constant_answer() -> None:
    found = chance([letter(gold, 4) for gold in "ABBD"])
    assert (found.value, found.rule, found.answer, found.uniform) == (0.5, "constant", "B", 0.25)


def test_uniform_guessing_matters_when_option_counts_vary() -> None:
    found = chance([letter("A", 2), letter("B", 2), letter("C", 4), letter("D", 4)])
    assert (found.value, found.rule) == (0.375, "uniform")
    assert found.constant == 0.25


def test_a_tie_is_named_constant_and_the_first_answer_wins() -> None:
    found = chance([label(gold) for gold in "dcba"])
    assert (found.value, found.rule, found.answer) == (0.25, "constant", "a")


def test_three_sevenths_is_a_tie_exactly() -> None:
    assert chance([letter(gold, 3) for gold in "ABC" * 7]).rule == "constant"


@pytest.mark.parametrize("kind", ["number", "math_expression", "code", "tool_calls"])
def test_open_ended_answers_have_no_chance(kind: str) -> None:
    found = chance([Item(benchmark="b", id="x", answer_type=kind, question="?", gold="1")])  # type: ignore[arg-type]
    assert (found.value, found.rule, found.answer) == (0.0, "open-ended", None)


def test_no_items() -> None:
    assert chance([]).value == 0.0


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=60))
def test_no_constant_answer_beats_it(golds: list[str]) -> None:
    found = chance([letter(gold, 4) for gold in golds])
    assert found.value >= max(golds.count(each) for each in "ABCD") / len(golds) - 1e-12
    assert found.value >= 0.25
