"""The three synthetic entries."""

import json

import pytest

from nanolm.engines.synthetic import SyntheticEngine, constant, guess, oracle
from nanolm.errors import EngineError
from nanolm.schema import Decoding, Item, Request


def item(kind: str, gold: object, number: int = 0, **fields: object) -> Item:
    values = {"benchmark": "b", "id": f"{number:04}", "answer_type": kind, "question": "?", "gold": gold}
    return Item(**(values | fields))  # type: ignore[arg-type]


def request(one: Item, seed: int = 1, sample: int = 0) -> Request:
    return Request(
        benchmark=one.benchmark,
        item=one.id,
        sample=sample,
        seed=seed,
        prompt_ids=(),
        prompt_digest="p",
        max_tokens=10,
        decoding=Decoding(),
        stop_ids=(),
    )


@pytest.mark.parametrize(
    ("kind", "gold", "reply"),
    [
        ("letter", "C", "Answer: C"),
        ("label", "card_arrival", "Answer: card_arrival"),
        ("number", "72", "\\boxed{72}"),
        ("math_expression", "\\frac{1}{2}", "\\boxed{\\frac{1}{2}}"),
    ],
)
def test_the_oracle_writes_the_gold_in_the_required_form(kind: str, gold: str, reply: str) -> None:
    assert oracle(item(kind, gold)) == reply


def test_the_oracle_writes_calls_as_json() -> None:
    gold = [{"name": "find", "arguments": {"q": "é"}}]
    assert json.loads(oracle(item("tool_calls", gold))) == gold


def test_the_oracle_fences_a_reference_that_holds_a_fence() -> None:
    reference = 'def f():\n    """```"""\n    return 1'
    assert oracle(item("code", None, reference=reference)) == f"````python\n{reference}\n````"
    with pytest.raises(LookupError, match="no reference solution"):
        oracle(item("code", None))


def test_the_constant_is_the_commonest_gold() -> None:
    golds = ["B", "A", "B", "A", "C"]
    items = [item("letter", gold, n, options=("x", "y", "z")) for n, gold in enumerate(golds)]
    assert constant(items) == "Answer: A"  # a tie: the first in the alphabet


def test_the_constant_of_an_open_ended_type_is_never_right() -> None:
    numbers = [item("number", str(gold), n) for n, gold in enumerate((0, 1, 987_654_321))]
    assert constant(numbers) == "\\boxed{987654322}"
    assert constant([item("tool_calls", [])]) == "[]"
    assert constant([item("code", None)]) == "```python\n```"


def test_guesses_are_uniform_and_follow_the_seed() -> None:
    one = item("letter", "A", options=("a", "b", "c", "d"))
    drawn = [guess(one, seed) for seed in range(4_000)]
    assert drawn == [guess(one, seed) for seed in range(4_000)]
    for letter in "ABCD":
        assert 900 < drawn.count(f"Answer: {letter}") < 1_100
    assert guess(item("number", "1"), 1) is None


def test_the_engine_answers_each_request() -> None:
    items = [item("letter", "AB"[n % 2], n, options=("x", "y")) for n in range(10)]
    engine = SyntheticEngine("oracle", lambda _: items)
    found = list(engine.generate([request(one) for one in items]))
    assert [one.text for one in found] == [f"Answer: {one.gold}" for one in items]
    assert {one.finish_reason for one in found} == {"stop"}
    with pytest.raises(EngineError, match="no log-likelihoods"):
        engine.score([1], [2])


def test_code_without_reference_is_an_error_of_that_item_only() -> None:
    items = [item("code", None, 0), item("code", None, 1, reference="def f(): pass")]
    first, second = SyntheticEngine("oracle", lambda _: items).generate([request(one) for one in items])
    assert (first.finish_reason, second.finish_reason) == ("error", "stop")
    assert "no reference solution" in (first.error or "")
