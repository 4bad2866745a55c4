"""Option texts that differ only in their signs or case: the nearest form decides (ruling 87)."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nanolm.answers import letter, option_texts
from nanolm.schema import Item

NEAR = (
    ("(1,2)", "[1,2)", "(1,2]", "[1,2]"),
    (".5", "5", "0.5", "-5", "5!", "5%"),
    ("CO", "Co", "Cu", "co2"),
    ("Hello.", "Hello!", "Hello?", "Hello"),
    ("<b>x y</b>", "<i>x y</i>", "x y", "_x y_"),
    ('{"name": "f"}', '[{"name": "f"}]', '{"name": "f"}}', "f"),
    ("*xy", "xy", "**xy", "x*y"),
)
FORMS = ("{}", " {}\n", "**{}**", "“{}”", "```\n{}\n```", "<answer>{}</answer>", "\u200b{}")


def item(options: tuple[str, ...]) -> Item:
    return Item(benchmark="b", id="0", answer_type="letter", question="", gold="A", options=options)


@given(st.sampled_from(NEAR), st.data(), st.sampled_from(FORMS))
def test_a_text_in_any_form_is_its_own_option(
    options: tuple[str, ...], data: st.DataObject, form: str
) -> None:
    order = tuple(data.draw(st.permutations(options)))
    index = data.draw(st.integers(0, len(order) - 1))
    assert letter.extract(form.format(order[index]), item(order)).value == "ABCDEF"[index]


@given(st.sampled_from(NEAR), st.data(), st.sampled_from(("{}. {}", "{}) {}", "({}) {}", "{}: **{}**")))
def test_another_options_text_behind_a_letter_is_no_answer(
    options: tuple[str, ...], data: st.DataObject, form: str
) -> None:
    order = tuple(data.draw(st.permutations(options)))
    own, other = data.draw(st.permutations(range(len(order))))[:2]
    assume("*" not in order[own] + order[other] or "*" not in form)
    assert letter.extract(form.format("ABCDEF"[own], order[other]), item(order)).value is None
    assert letter.extract(form.format("ABCDEF"[own], order[own]), item(order)).value == "ABCDEF"[own]


@pytest.mark.parametrize("text", ["5!", "n!", "x?", "(a)", ".5", "[1,2)", "{x}", "-5", "**x"])
def test_an_option_keeps_its_own_signs(text: str) -> None:
    texts = option_texts.of((text, "other"))
    bare = text.strip("!?()[]{}.*-")
    assert option_texts.stated(text, 0, len(text), texts) == (0,)
    assert option_texts.stated(bare, 0, len(bare), texts) == ()


@given(st.lists(st.sampled_from("()[]{}<>.,*_`'\"!?-–—•\\ \n1aA/="), max_size=60).map("".join), st.booleans())
def test_any_text_is_compared_without_error(text: str, behind_letter: bool) -> None:
    texts = option_texts.of(NEAR[0] + NEAR[1])
    found = option_texts.stated(text, 0, len(text), texts, behind_letter=behind_letter)
    assert all(0 <= index < 10 for index in found)
