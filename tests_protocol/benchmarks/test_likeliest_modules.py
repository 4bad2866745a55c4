"""Rows of the log-likelihood benchmarks to items."""

import pytest

from nanolm.benchmarks import arc, blimp, hellaswag, piqa, sciq, winogrande
from nanolm.errors import ItemError
from tests_protocol.benchmarks.conftest import Write


def test_arc_keeps_the_sources_order(write: Write) -> None:
    rows = [
        {"id": "M_1", "question": "Why?", "choices": {"text": ["x", "y", "z"], "label": ["1", "2", "3"]},
         "answerKey": "3"},
        {"id": "M_2", "question": "How?", "choices": {"text": ["x", "y"], "label": ["A", "B"]},
         "answerKey": "A"},
    ]  # fmt: skip
    first, second = arc.items("arc", [write("rows.json", rows)]).items
    assert (first.answer_type, first.options, first.gold) == ("likeliest", ("x", "y", "z"), "C")
    assert second.gold == "A"
    mirror = [{"id": "M_1", "question": "Why?", "choices": ["x", "y", "z"], "gold": 2}]
    (again,) = arc.items("arc", [write("rows.json", mirror, "choices-list")]).items
    assert (again.options, again.gold) == (first.options, first.gold)


def test_blimp_hides_which_sentence_is_the_good_one(write: Write) -> None:
    rows = [
        {"sentence_good": f"Good {n}.", "sentence_bad": f"Bad {n}.", "UID": "npi_present_1", "pairID": str(n),
         "field": "semantics", "linguistics_term": "npi_licensing"}
        for n in range(200)
    ]  # fmt: skip
    items = blimp.items("blimp", [write("npi_present_1.jsonl", rows)]).items
    assert (items[7].id, items[7].group) == ("npi_present_1-7", "npi_present_1")
    assert all(item.options["AB".index(item.gold)].startswith("Good") for item in items)
    assert 60 < sum(item.gold == "A" for item in items) < 140


def test_piqa(write: Write) -> None:
    rows = [{"goal": "Boil water.", "sol1": "Heat it.", "sol2": "Cool it.", "label": 0}]
    (item,) = piqa.items("piqa", [write("rows.jsonl", rows)]).items
    assert (item.id, item.options, item.gold) == ("0000", ("Heat it.", "Cool it."), "A")
    with pytest.raises(ItemError, match=r"rows\.jsonl:1: found label = 2"):
        piqa.items("piqa", [write("rows.jsonl", [rows[0] | {"label": 2}])])


def test_hellaswag_without_the_marks_of_its_making(write: Write) -> None:
    rows = [
        {"ind": 4, "activity_label": "Baking", "ctx_a": "[header] How to bake [title] Get flour.  Now",
         "ctx_b": "the BAKER", "endings": ["stirs. [step] Then eats.", "sings .", "sits", "runs"],
         "source_id": "wikihow~123", "label": "2"}
    ]  # fmt: skip
    (item,) = hellaswag.items("hellaswag", [write("rows.jsonl", rows)]).items
    assert item.question == "Baking: How to bake. Get flour. Now The baker"
    assert item.options == ("stirs. Then eats.", "sings .", "sits", "runs")
    assert (item.gold, item.group) == ("C", "wikihow")


def test_sciq_has_one_order_whatever_the_benchmark_is_called(write: Write) -> None:
    rows = [
        {"question": f"What {n}?", "distractor1": "a", "distractor2": "b", "distractor3": "c",
         "correct_answer": "right", "support": "" if n else "  Some words. "}
        for n in range(40)
    ]  # fmt: skip
    one, other = (sciq.items(name, [write("rows.jsonl", rows)]).items for name in ("sciq", "sciq-norm"))
    assert [item.options for item in one] == [item.options for item in other]
    assert all(item.options["ABCD".index(item.gold)] == "right" for item in one)
    assert len({item.gold for item in one}) == 4
    assert (one[0].documentation, one[1].documentation) == ("Some words. ", "")


def test_winogrande_needs_a_blank_and_a_rest(write: Write) -> None:
    row = {"sentence": "Ann hit Bea so _ cried.", "option1": "Ann", "option2": "Bea", "answer": "2"}
    (item,) = winogrande.items("w", [write("rows.jsonl", [row])]).items
    assert (item.options, item.gold) == (("Ann", "Bea"), "B")
    for wrong in ({"sentence": "No blank."}, {"sentence": "It ends in _"}, {"answer": ""}):
        with pytest.raises(ItemError, match=r"rows\.jsonl:1"):
            winogrande.items("w", [write("rows.jsonl", [row | wrong])])
