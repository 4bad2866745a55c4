"""Option order: rulings 71 and 72."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.benchmarks.shuffle import LETTERS, names_letters, order, refers_to_options

ABOVE = "None of the above"


def test_the_hash_decides() -> None:
    keys = [sha256(f"arc-easy/Mercury_417466/{index}".encode()).hexdigest() for index in range(4)]
    expected = tuple(sorted(range(4), key=lambda index: keys[index]))
    assert order("arc-easy", "Mercury_417466", list("abcd")).shown == expected == (2, 1, 3, 0)


def test_an_option_that_refers_to_the_others_keeps_its_slot() -> None:
    seen = set()
    for number in range(200):
        found = order("b", str(number), ["one", ABOVE, "two", "three"])
        assert found.shown[1] == 1
        assert found.pinned
        assert not found.frozen
        seen.add(found.shown)
    assert len(seen) == 6


def test_an_item_whose_option_names_letters_is_not_shuffled() -> None:
    for number in range(50):
        found = order("b", str(number), ["one", "two", "both A and B", "three"])
        assert found.shown == (0, 1, 2, 3)
        assert found.frozen


@given(st.lists(st.sampled_from(["x", "y", ABOVE, "All of these", "both A and B"]), min_size=2, max_size=8))
def test_every_option_is_shown_once_and_gold_follows_its_text(options: list[str]) -> None:
    found = order("bench", "item", options)
    assert sorted(found.shown) == list(range(len(options)))
    for gold in range(len(options)):
        letter = found.letter(gold)
        assert found.options(options)[LETTERS.index(letter)] == options[gold]


def test_gold_is_spread_evenly_wherever_it_stood() -> None:
    for gold in range(4):
        shown = [order("b", f"{number}", list("wxyz")).letter(gold) for number in range(2000)]
        for letter in "ABCD":
            assert 0.2 < shown.count(letter) / 2000 < 0.3


@pytest.mark.parametrize(
    "text",
    [
        "None of the above", "none of the above.", "All of the above", "All the above", "all of above",
        "Both of the above.", "Neither of the above", "Either of the above", "Any of these", "None of these.",
        "None of the other choices", "none of the mentioned", "All of the mentioned", "Both of the mentioned",
        "(None of the above choices.)", "None of the above is correct.", "All of these are correct",
        "None of the above four options are suitable.", ", None of the above four options are suitable",
        "more than one of the above", "any or all of the above", ":-None of the above", "ALL OF THE  ABOVE",
    ],
)  # fmt: skip
def test_texts_that_refer_to_other_options(text: str) -> None:
    assert refers_to_options(text)
    assert not names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "like he did all the others", "None", "both", "All", "all the other planets",
        "raises it above her head",
        "Both ants and aphids benefit.", "None of the ants", "all of these are part of the water cycle",
        "There is no life in any of its parts.", "It is a personal choice.", "above", "these", "",
        "the above",
        "none of the above " * 30,
    ],
)  # fmt: skip
def test_ordinary_options_move(text: str) -> None:
    assert not refers_to_options(text)
    assert not names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "both A and B", "Both (a) & (b).", "A and C only", "Neither a nor b", "A, B and C", "Only A",
        "A only",
        "both A and B above", "Both A & B are true.", "Both ‘a’ and ‘b’", "Either (a) or (b)", "A & B",
        "a,b and c",
    ],
)  # fmt: skip
def test_options_that_name_letters(text: str) -> None:
    assert names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "Antigens A and B",
        "A/B testing",
        "D/A converter",
        "(B,C) -> A",
        "A",
        "vitamin A and B",
        "both Drs. A and B",
    ],
)
def test_letters_in_a_text_freeze_nothing(text: str) -> None:
    assert not names_letters(text)
