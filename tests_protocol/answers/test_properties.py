"""Of every reply: the last answer wins, form never matters, noise never helps, and nothing raises."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm import answers
from nanolm.answers import letter, numerals, rationals, reasoning
from nanolm.schema import Item, Verdict
from tests_protocol.answers import floods, strategies

OPTIONS = ("Lisbon", "the water boils", "3.5 %", "A door shuts", "-5")
LABELS = ("cancel_order", "Late_Parcel", "lost-bag", "oos", "order", "is it open?")
LETTERS = st.sampled_from("ABCDE")
NUMBERS = st.sampled_from(["48", "-5", "0.5", "1,250", "3/4", "1250.75", "７"])


def _item(answer_type: str, gold: str) -> Item:
    return Item(
        benchmark="properties",
        id="0",
        answer_type=answer_type,
        question="",
        gold=gold,
        options=OPTIONS,
        labels=LABELS,
    )


def _verdict(answer_type: str, reply: str, gold: str) -> Verdict:
    rest = reasoning.remove(reply, "stop", opener="<think>", closer="</think>")
    return answers.verdict(rest, _item(answer_type, gold))


def _right(answer_type: str, reply: str, gold: str) -> bool:
    return _verdict(answer_type, reply, gold).correct


TYPES = ("letter", "label", "number", "featherweight_letter")
GOLD = {"letter": "B", "label": "oos", "number": "72", "featherweight_letter": "B"}


@pytest.mark.parametrize("answer_type", TYPES)
@given(strategies.replies)
def test_extract_and_judge_are_total(answer_type: str, reply: str) -> None:
    module, item = answers.get(answer_type), _item(answer_type, GOLD[answer_type])
    answer = module.extract(reply, item)
    verdict = module.judge(answer, item)
    assert answer.rule in module.RULES
    assert (answer.value is None) == (answer.reason is not None)
    assert verdict.correct == (verdict.reason is None)
    if answer.span is not None:
        assert 0 <= answer.span[0] <= answer.span[1] <= len(reply)


@given(strategies.replies, st.sampled_from(["stop", "length"]), st.booleans())
def test_reasoning_removal_is_total(reply: str, finish: str, opened: bool) -> None:
    rest = reasoning.remove(
        reply,
        finish,
        opener="<think>",
        closer="</think>",
        opened_by_template=opened,
        end_markers=reasoning.END_MARKERS,
    )
    assert reply[rest.offset :].startswith(rest.text)
    assert "</think>" not in rest.text
    again = reasoning.remove(rest.text, end_markers=reasoning.END_MARKERS)
    assert again.text == rest.text


@pytest.mark.parametrize("answer_type", TYPES[:3])
@given(strategies.replies)
def test_extraction_is_idempotent_on_its_own_form(answer_type: str, reply: str) -> None:
    module, item = answers.get(answer_type), _item(answer_type, GOLD[answer_type])
    value = module.extract(reply, item).value
    if value is not None:
        assert module.extract(str(value), item).value == value


@given(st.data(), LETTERS, LETTERS)
def test_letter_in_any_form_after_anything(data: st.DataObject, gold: str, distractor: str) -> None:
    pairs = strategies.AROUND + strategies.LATEX
    line = data.draw(
        st.one_of(
            strategies.answer_lines(gold, pairs),
            strategies.wrapped(gold, pairs).map("The answer is {}.".format),
            strategies.wrapped(gold, pairs).map("Answer: option {}".format),
        )
    )
    before = st.one_of(
        strategies.prose, strategies.reasoning_blocks, strategies.answer_lines(distractor, pairs)
    )
    reply = data.draw(strategies.after(line, before)) + data.draw(strategies.white)
    assert _verdict("letter", reply, gold).answer == gold


@given(st.data(), LETTERS)
def test_letter_alone_or_boxed_in_any_form(data: st.DataObject, gold: str) -> None:
    pairs = strategies.AROUND[:-3]
    box = data.draw(strategies.wrapped(gold, pairs + strategies.LATEX)).join(("\\boxed{", "}"))
    before = data.draw(strategies.prose)
    assert _verdict("letter", f"{before}\n{box}", gold).answer == gold
    assert _verdict("letter", data.draw(strategies.wrapped(gold, pairs)), gold).answer == gold


@given(st.data(), st.integers(0, 4))
def test_option_text_gives_the_letter_of_the_same_text(data: st.DataObject, index: int) -> None:
    order = data.draw(st.permutations(OPTIONS))
    text = OPTIONS[index]
    expected = "ABCDE"[order.index(text)]
    item = Item(benchmark="b", id="0", answer_type="letter", question="", gold=expected, options=tuple(order))
    form = data.draw(
        st.sampled_from([text, text.upper(), f"**{text}**.", f"“{text}”", f"{expected}) {text}"])
    )
    assert letter.extract(form, item).value == expected


@given(st.data(), st.sampled_from(LABELS), st.sampled_from(LABELS))
def test_label_in_any_form_after_anything(data: st.DataObject, gold: str, distractor: str) -> None:
    written = data.draw(
        st.sampled_from(
            [gold, gold.upper(), gold.replace("_", "-"), gold.replace("_", " "), gold.replace("_", "\\_")]
        )
    )
    pairs = strategies.AROUND + strategies.LATEX
    line = data.draw(strategies.answer_lines(written, pairs, 2))
    before = st.one_of(
        strategies.prose, strategies.reasoning_blocks, strategies.answer_lines(distractor, pairs, 2)
    )
    reply = data.draw(strategies.after(line, before)) + data.draw(
        st.sampled_from(["", "\nBecause it is late.", "\r\n"])
    )
    assert _verdict("label", reply, gold).answer == gold


@given(st.data(), NUMBERS, NUMBERS)
def test_number_in_any_form_after_anything(data: st.DataObject, number: str, distractor: str) -> None:
    pairs = tuple(pair for pair in strategies.AROUND + strategies.LATEX if pair[0] not in ("_", "__"))
    line = data.draw(
        st.one_of(
            strategies.answer_lines(number, pairs),
            strategies.wrapped(number, pairs).map("\\boxed{{{}}}".format),
            strategies.wrapped(number, pairs[:20]).map("It comes to {} in all.".format),
        )
    )
    before = st.one_of(
        strategies.prose, strategies.reasoning_blocks, st.just(f"First {distractor}, then more.")
    )
    reply = data.draw(strategies.after(line, before))
    assert _right("number", reply, number.replace(",", "").replace("７", "7"))


APART = (
    "\\,",
    "~",
    "\\!",
    "\\;",
    "\\quad ",
    "\\text{}",
    "{}",
    "\u200b",
    "\\$",
    "€",
    "\\text{USD }",
    "$",
    "**",
    "`",
)


@given(st.data(), st.sampled_from("-−–‑﹣"), st.lists(st.sampled_from(APART), max_size=3).map("".join))
def test_a_minus_is_never_lost(data: st.DataObject, minus: str, apart: str) -> None:
    """Whatever form stands between a sign and its digits, the number is negative (ruling 85)."""
    number = f"{minus}{apart}5"
    place = data.draw(
        st.sampled_from(
            [
                "\\boxed{%s}",
                "\\boxed{x = %s}",
                "Answer: %s",
                "**Answer:** about %s",
                "We get %s in all",
                "It is %s.",
            ]
        )
    )
    reply = data.draw(strategies.prose) + "\n" + place % number
    assert _verdict("number", reply, "-5").correct
    assert not _verdict("number", reply, "5").correct


@given(st.data(), st.sampled_from(TYPES[:3]))
def test_noise_never_makes_a_wrong_answer_right(data: st.DataObject, answer_type: str) -> None:
    gold, wrong = {"letter": ("B", "C"), "label": ("oos", "order"), "number": ("72", "27")}[answer_type]
    noise = data.draw(st.one_of(strategies.prose, strategies.reasoning_blocks))
    line = data.draw(strategies.answer_lines(wrong))
    assert not _right(answer_type, f"{noise}\n{line}", gold)
    right_before = data.draw(strategies.answer_lines(gold))
    assert not _right(answer_type, f"{right_before}\n{line}", gold)


@given(st.fractions(), st.fractions())
def test_numbers_are_compared_exactly(one: object, other: object) -> None:
    assert rationals.equal(str(one), str(other)) == (one == other)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_decimal_is_read_as_itself(value: object) -> None:
    text = f"{value:f}"
    found = numerals.only(text, 0, len(text))
    assert found is not None
    assert rationals.equal(found.text, text)


WORST = (
    ("", "Answer: <b>", ""),
    ("\\boxed{", "{", ""),
    ("\\boxed{", "\\", "}"),
    ("", "Answer: ", ""),
    ("", "\\boxed{", ""),
    ("", "answer is ", ""),
    ("", "7", ""),
    ("", "7,", ""),
    ("", "1 200 ", "7"),
    ("\\boxed{", "x7", "}"),
    ("", "`", ""),
    ("", "½", ""),
    ("Answer: ", "1 1/2 ", ""),
    ("", "7^", ""),
    ("<answer>", "<think>", "</answer>"),
    ("", "\ud800", ""),
    ("", "</think ", ""),
    ("", "<|im_end|>", ""),
    ("The answer is ", "B or ", ""),
    ("Answer: ", "\\text{", ""),
    ("Answer: -", "\\,", "5"),
    ("\\boxed{", "-", "5}"),
    ("", "-7 ", ""),
    ("", "5 million ", ""),
    ("\\boxed{", "7²", "}"),
    ("\\boxed{3", "\\times", "5}"),
    ("", "5k ", ""),
    ("B. ", "((", "x"),
    ("", "• ", "Venus"),
    ("Answer: A ", "a ", ""),
    ("Answer: B ", "or\n", "C"),
)


@pytest.mark.parametrize("answer_type", [*TYPES, "reasoning"])
def test_a_megabyte_takes_less_than_a_second(answer_type: str) -> None:
    item = _item(answer_type, GOLD.get(answer_type, ""))
    for front, piece, back in WORST:
        reply = front + floods.flood(piece) + back
        start = time.process_time()
        if answer_type == "reasoning":
            reasoning.remove(reply, opener="<think>", closer="</think>", end_markers=reasoning.END_MARKERS)
        else:
            module = answers.get(answer_type)
            module.judge(module.extract(reply, item), item)
        assert time.process_time() - start < 20, (front, piece, back)
