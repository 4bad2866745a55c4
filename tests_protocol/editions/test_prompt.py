"""Prompts are put together as section 4 says, in the words of the edition's TOML."""

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.editions import Edition, load, load_items, prompt, prompts_page
from nanolm.errors import EditionError, UsageError
from nanolm.schema import Item

V1 = load("nano-lm-v1")
ROOT = Path(__file__).resolve().parents[2]


def made(item: Item, edition: Edition = V1) -> str:
    return prompt.make(edition, item).text


def letter(benchmark: str = "mmlu-cf", **more: str) -> Item:
    return Item(
        benchmark=benchmark,
        id="1",
        answer_type="letter",
        question="1 + 1?",
        gold="B",
        options=("1", "2"),
        **more,
    )


def code(question: str) -> Item:
    return Item(
        benchmark="mbpp-plus", id="1", answer_type="code", question=question, gold=None, function="add"
    )


LETTER_ENDING = (
    "Answer with the letter of the correct option. "
    'End your reply with a line of the form "Answer: X", where X is the letter.'
)
LABEL_ENDING = (
    'End your reply with a line of the form "Answer: <label>", '
    "using one label from the list exactly as written."
)


def test_the_instructions_stand_in_the_protocol_word_for_word() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    for instruction in V1.instructions.values():
        assert f'*"{instruction.replace("`{name}`", "`<name>`")}"*' in text
    for spec in V1.benchmarks.values():
        for sentence in filter(None, (spec.stem, spec.instruction_addition)):
            assert f'*"{sentence}"*' in text


def test_letter() -> None:
    assert made(letter()) == f"1 + 1?\n\nA. 1\nB. 2\n\n{LETTER_ENDING}"


@pytest.mark.parametrize("benchmark", ["hellaswag-pro", "global-piqa"])
def test_letter_with_the_fixed_stem(benchmark: str) -> None:
    stem = "Choose the option that best completes or answers the following."
    assert made(letter(benchmark)) == f"{stem}\n\n1 + 1?\n\nA. 1\nB. 2\n\n{LETTER_ENDING}"


def test_when2call_shows_tools_request_and_replies() -> None:
    text = made(letter("when2call", documentation='{"name": "add"}\n{"name": "sub"}'))
    assert text == (
        'These tools are available:\n\n{"name": "add"}\n{"name": "sub"}\n\nA user writes:\n\n1 + 1?\n\n'
        f"Which of these is the best reply to the user?\n\nA. 1\nB. 2\n\n{LETTER_ENDING}"
    )


def test_number_and_math_expression() -> None:
    number = Item(benchmark="gsm8k-platinum", id="1", answer_type="number", question="How many?", gold="1")
    ending = "Solve the problem. Put your final answer, a number only, in `\\boxed{}`."
    assert made(number) == f"How many?\n\n{ending}"
    math = Item(benchmark="math-500", id="1", answer_type="math_expression", question="$x$?", gold="1")
    assert made(math) == "$x$?\n\nSolve the problem. Put your final answer in `\\boxed{}`."


def test_label() -> None:
    item = Item(
        benchmark="banking77", id="1", answer_type="label", question="Hi", gold="a", labels=("a", "B", "c")
    )
    line = V1.benchmarks["banking77"].instruction
    assert "\n" not in line
    assert made(item) == f"{line}\n\nHi\n\na\nB\nc\n\n{LABEL_ENDING}"
    clinc = msgspec.structs.replace(item, benchmark="clinc150")
    assert made(clinc).endswith(f"{LABEL_ENDING} If none of the other labels applies, answer oos.")


def test_code() -> None:
    assert made(code('"""\nAdd.\n"""\n')) == (
        '```python\n"""\nAdd.\n"""\n```\n\n'
        "Write the complete Python function `add` in a single ```python code block."
    )


def test_tool_calls() -> None:
    item = Item(
        benchmark="toolalpaca",
        id="1",
        answer_type="tool_calls",
        question="Go",
        gold=[],
        documentation="f: {}",
    )
    assert made(item).startswith(
        "The API has these functions:\n\nf: {}\n\nThe user's request:\n\nGo\n\nReply with"
    )
    assert '{"name": …, "arguments": {…}}' in made(item)


def test_digest_is_of_the_text() -> None:
    found = prompt.make(V1, letter())
    assert found.digest == sha256(found.text.encode()).hexdigest()[:16]
    assert (found.benchmark, found.item) == ("mmlu-cf", "1")


@given(st.text(min_size=1).filter(lambda text: text.strip("\n") == text))
def test_an_items_own_text_is_never_read_as_a_layout(question: str) -> None:
    assert made(code(question)).startswith(f"```python\n{question}\n```\n\nWrite")


def test_places_in_an_items_text_stay() -> None:
    assert "{options} {name}" in made(msgspec.structs.replace(letter(), question="{options} {name}"))


def test_the_plain_layouts_are_those_of_v1() -> None:
    for spec in V1.benchmarks.values():
        if spec.slug in ("when2call", "toolalpaca"):
            continue
        item = Item(
            benchmark=spec.slug, id="1", answer_type=spec.answer_type, question="q", gold=None,
            options=("x", "y"), labels=("l", "m"), function="f",
        )  # fmt: skip
        plain = {**V1.benchmarks, spec.slug: msgspec.structs.replace(spec, layout="")}
        assert made(item) == made(item, msgspec.structs.replace(V1, benchmarks=plain))


def test_an_unknown_place_is_named() -> None:
    spec = msgspec.structs.replace(V1.benchmarks["mmlu-cf"], layout="{question}\n\n{hint}")
    edition = msgspec.structs.replace(V1, benchmarks={"mmlu-cf": spec})
    with pytest.raises(
        EditionError, match=r"place \{hint\} in the layout of mmlu-cf, expected one of stem, "
    ):
        made(letter(), edition)


def test_a_missing_instruction_is_named() -> None:
    with pytest.raises(EditionError, match="no instruction for 'letter'"):
        made(letter(), msgspec.structs.replace(V1, instructions={}))


def test_an_unknown_benchmark_names_close_matches() -> None:
    with pytest.raises(UsageError, match="did you mean mmlu-cf"):
        made(letter("mmlu-fc"))


def test_mini_asks_in_v1s_words() -> None:
    mini = load("mini")
    assert mini.instructions == V1.instructions
    assert list(mini.categories) == list(V1.categories)
    for slug, spec in V1.benchmarks.items():
        ours = mini.benchmarks[f"{slug}-mini"]
        for field in (
            "module",
            "category",
            "answer_type",
            "layout",
            "stem",
            "instruction",
            "instruction_addition",
        ):
            assert getattr(ours, field) == getattr(spec, field)


def test_v1_is_the_protocols_suite() -> None:
    assert sum(spec.items for spec in V1.benchmarks.values()) == 33_485
    text = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    titles = {category.slug: category.title for category in V1.categories}
    for spec in V1.benchmarks.values():
        row = next(
            line
            for line in text.splitlines()
            if line.startswith(f"| {titles[spec.category]} | {spec.title} ")
        )
        assert f"| {spec.items:,} |" in row
        assert f"| {spec.metric} | {spec.licence} |" in row


def test_every_mini_item_has_a_prompt_that_shows_it() -> None:
    mini = load("mini")
    for slug in mini.benchmarks:
        found = load_items(mini, slug)
        for item, shown in zip(found.items, found.prompts, strict=True):
            assert item.question.strip("\n") in shown.text
            assert item.documentation in shown.text
            assert all(f"\n{label}\n" in shown.text for label in item.labels)
            assert len(shown.text) < 3000


def test_the_page_of_prompts_is_the_one_in_the_docs() -> None:
    written = (ROOT / "docs" / "prompts.md").read_text("utf-8")
    assert prompts_page.page(load("mini")) == written, (
        "docs/prompts.md is stale; write it anew: python -m nanolm.editions.prompts_page > docs/prompts.md"
    )
