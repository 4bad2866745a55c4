"""Featherweight's file: header, answers in both forms, refused rows, and the balance of right letters."""

import itertools
from typing import Any

import pytest

from nanolm.benchmarks import featherweight
from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.errors import ItemError
from nanolm.sources import SourceFile

from .conftest import Write

META = {"_meta": True, "name": "Ours", "version": "1.0"}


def row(number: int, **changes: Any) -> dict[str, Any]:
    fields = {
        "id": f"q{number:02}",
        "category": "colours" if number < 4 else "numbers",
        "question": f"Which is {number}?",
        "choices": [f"{number}", "a", "b", "c"],
        "answer": "ABCD"[number % 4],
    }
    return {key: value for key, value in (fields | changes).items() if value is not None}


BALANCED = [row(number) for number in range(8)]


def made(file: SourceFile) -> BenchmarkItems:
    return featherweight.items("featherweight-plain", [file])


def test_items_in_the_files_order_and_never_shuffled(write: Write) -> None:
    found = made(write("f.jsonl", [META, *BALANCED])).items
    assert [item.id for item in found] == [f"q{number:02}" for number in range(8)]
    assert [item.options for item in found] == [tuple(each["choices"]) for each in BALANCED]
    assert [item.gold for item in found] == list("ABCDABCD")
    assert [item.group for item in found] == ["colours"] * 4 + ["numbers"] * 4
    assert {item.answer_type for item in found} == {"featherweight_letter"}
    assert found[0].source == "f.jsonl:2", "the header is a line of the file"


def test_the_header_is_optional(write: Write) -> None:
    with_header, without = made(write("a.jsonl", [META, *BALANCED])), made(write("b.jsonl", BALANCED))
    assert [item.gold for item in with_header.items] == [item.gold for item in without.items]


@pytest.mark.parametrize(("answer", "gold"), [("B", "B"), ("b", "B"), (1, "B"), (0, "A"), (3, "D")])
def test_an_answer_is_a_letter_or_a_place_from_0(write: Write, answer: Any, gold: str) -> None:
    assert made(custom(write("f.jsonl", [row(0, answer=answer)]))).items[0].gold == gold


def custom(file: SourceFile) -> SourceFile:
    return SourceFile(source=file.source, name=file.name, local=file.local, form="custom")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"answer": 4}, r"answer = 4, expected a letter A to D or a whole number from 0 to 3"),
        ({"answer": -1}, r"answer = -1"),
        ({"answer": True}, r"answer = True"),
        ({"answer": 1.0}, r"answer = 1.0"),
        ({"answer": "1"}, r"answer = '1'"),
        ({"answer": "E"}, r"answer = 'E'"),
        ({"answer": "AB"}, r"answer = 'AB'"),
        ({"answer": ""}, r"answer = ''"),
        ({"answer": None}, r"expected a field 'answer'"),
        ({"choices": ["a", "b", "c"]}, r"found 3 choices, expected 4"),
        ({"choices": ["a", "b", "c", "d", "e"]}, r"found 5 choices, expected 4"),
        ({"choices": ["a", "b", "c", " "]}, r"choices .* expected four texts"),
        ({"choices": "abcd"}, r"choices = 'abcd', expected a list of texts"),
        ({"choices": ["a", "b", "c", 4]}, r"expected a list of texts"),
        ({"question": "  "}, r"question = '  ', expected a text"),
        ({"id": None}, r"expected a field 'id'"),
        ({"id": "q00"}, r"found the id 'q00' again"),
        ({"category": None}, r"expected a field 'category'"),
        ({"_meta": True}, r"found a header \(_meta\), expected one on the first line only"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(write: Write, changes: dict[str, Any], found: str) -> None:
    file = custom(write("mine.jsonl", [META, row(0), row(1, **changes)]))
    with pytest.raises(ItemError, match=found) as caught:
        made(file)
    assert "mine.jsonl:3" in str(caught.value)


def test_right_letters_of_the_editions_file_are_balanced(write: Write) -> None:
    unbalanced = [*BALANCED[:7], row(7, answer="A")]
    with pytest.raises(ItemError, match="all items are not balanced: found A 3, B 2, C 2, D 1"):
        made(write("f.jsonl", unbalanced))
    assert len(made(custom(write("g.jsonl", unbalanced))).items) == 8, "a custom file may be as it likes"


def test_and_within_each_category(write: Write) -> None:
    swapped = [row(number, answer=letter) for number, letter in zip(range(8), "AABBCCDD", strict=True)]
    with pytest.raises(ItemError, match="colours are not balanced: found A 2, B 2, C 0, D 0"):
        made(write("f.jsonl", swapped))


def test_two_and_three_of_ten_are_balanced(write: Write) -> None:
    letters = itertools.chain("AAABBCCCDD", "AABBBCCDDD")
    rows = [
        row(number, answer=letter, category="x" if number < 10 else "y")
        for number, letter in enumerate(letters)
    ]
    assert featherweight.positions(made(write("f.jsonl", rows)).items) == dict.fromkeys("ABCD", 5)
