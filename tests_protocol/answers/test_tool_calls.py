"""Tool calls: golden cases, rules, and properties of reading and comparing (rulings 50 to 62, 82)."""

import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nanolm.answers import strict_json, tool_calls
from nanolm.answers.credentials import is_credential
from nanolm.errors import ItemError
from nanolm.schema import FunctionSignature, Item

GOLDEN_FILE = Path(__file__).parent / "golden" / "tool_calls.jsonl"
GOLDEN = [json.loads(line) for line in GOLDEN_FILE.read_text().splitlines()]
FUNCTIONS = msgspec.json.decode(
    GOLDEN_FILE.with_name("tool_calls_functions.json").read_bytes(), type=dict[str, FunctionSignature]
)


def item(gold: Any, functions: dict[str, FunctionSignature] = FUNCTIONS) -> Item:
    return Item(
        benchmark="toolalpaca",
        id="1",
        answer_type="tool_calls",
        question="",
        gold=gold,
        functions=functions,
        source="eval_real.json:3",
    )


def correct(reply: str, gold: Any) -> bool:
    one = item(gold)
    return tool_calls.judge(tool_calls.extract(reply, one), one).correct


@pytest.mark.parametrize("case", GOLDEN, ids=[case["why"] for case in GOLDEN])
def test_golden(case: dict[str, Any]) -> None:
    one = item(case["gold"])
    answer = tool_calls.extract(case["reply"], one)
    verdict = tool_calls.judge(answer, one)
    assert (verdict.correct, verdict.reason, verdict.rule) == (case["correct"], case["reason"], case["rule"])
    if "answer" in case:
        assert verdict.answer == case["answer"]


def test_every_rule_decides_a_golden_case() -> None:
    assert {case["rule"] for case in GOLDEN} == set(tool_calls.RULES)


@pytest.mark.shared_data
def test_shared_cases(shared_cases: Path) -> None:
    cases = map(json.loads, shared_cases.read_text().splitlines())
    cases = [case for case in cases if case["type"] == "tool_calls"]
    assert len(cases) == 63
    for case in cases:
        if case["context"].get("finish_reason") == "length":
            continue  # truncated before anything is read: tests_protocol/verdicts
        functions = msgspec.convert(case["context"]["functions"], dict[str, FunctionSignature])
        one = item(case["context"]["gold"], functions)
        answer = tool_calls.extract(case["input"], one)
        expected = case["expected"]
        assert answer.value == expected["value"], case["id"]
        assert answer.reason == expected["reason"], case["id"]
        assert tool_calls.judge(answer, one).correct == expected["correct"], case["id"]


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["1", "1.0", "true", "a", " A", "", "ß", "SS"]),
        st.text(max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
CALLS = st.lists(
    st.builds(
        lambda name, arguments: {"name": name, "arguments": arguments},
        st.sampled_from(["book_table", "list_menus", "pay", "other"]),
        st.dictionaries(
            st.sampled_from(["place", "people", "time", "tags", "amount", "currency", "api_key", "x"]), JSON
        ),
    ),
    min_size=1,
    max_size=4,
)
NOISE = st.lists(
    st.sampled_from(
        ['{"', "[", "{", '"', "\\", "]", "}", ",", ":", '{"a":', "[{", " ", "1", "word", "\n", "```"]
    )
).map("".join)


def shuffled(value: Any, seed: random.Random) -> Any:
    """The same value with its lists and keys in another order."""
    if isinstance(value, list):
        return [shuffled(inner, seed) for inner in seed.sample(value, len(value))]
    if isinstance(value, dict):
        return {key: shuffled(value[key], seed) for key in seed.sample(list(value), len(value))}
    return value


@given(CALLS)
def test_the_gold_calls_are_right_in_every_form(calls: list[Any]) -> None:
    text = json.dumps(calls)
    for reply in (
        text,
        f"```json\n{text}\n```",
        f"Calls: {text} done",
        json.dumps(calls, indent=2),
        f"<t>{text}</t>",
    ):
        assert correct(reply, calls)
    inner = [{"name": call["name"], "arguments": json.dumps(call["arguments"])} for call in calls]
    assert correct(json.dumps(inner), calls)


@given(CALLS, CALLS, st.randoms(use_true_random=False))
def test_the_order_of_calls_lists_and_keys_changes_no_verdict(
    ours: Any, gold: Any, seed: random.Random
) -> None:
    before = tool_calls.same_calls(ours, gold, FUNCTIONS)
    assert tool_calls.same_calls(shuffled(ours, seed), gold, FUNCTIONS) == before
    assert tool_calls.same_calls(ours, shuffled(gold, seed), FUNCTIONS) == before
    assert tool_calls.same_calls(shuffled(gold, seed), gold, FUNCTIONS)


@given(JSON, JSON)
def test_equality_is_symmetric_and_reflexive(a: Any, b: Any) -> None:
    assert tool_calls.same(a, b) == tool_calls.same(b, a)
    assert tool_calls.same(a, a)


@given(NOISE, CALLS)
def test_what_cannot_hold_a_call_before_the_list_changes_nothing(noise: str, calls: list[Any]) -> None:
    assume('"' not in noise)
    assert correct(noise + " " + json.dumps(calls), calls) or "[" in noise


@given(st.one_of(st.text(), NOISE, st.text(st.characters(categories=["Cs", "P"]))))
def test_extract_is_total_and_agrees_with_its_span(reply: str) -> None:
    one = item([{"name": "pay", "arguments": {}}])
    answer = tool_calls.extract(reply, one)
    assert answer.rule in tool_calls.RULES
    tool_calls.judge(answer, one)
    if answer.span is not None:
        assert tool_calls.extract(reply[slice(*answer.span)], one).value == answer.value


@given(NOISE.map(lambda noise: noise.replace("1", '{"name":"f","arguments":{}}')))
def test_reading_agrees_with_the_standard_decoder(text: str) -> None:
    """Position by position, as ruling 50 describes it: slow and obvious, the reference."""
    found = dict(strict_json.containers(text, tool_calls._STARTS))
    for match in tool_calls._STARTS.finditer(text):
        try:
            value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, match.start())
        except ValueError:
            assert match.start() not in found
        else:
            assert found[match.start()] == (end, value)


def _refuse(name: str) -> Any:
    raise ValueError(name)


@given(JSON)
def test_any_json_is_read_as_the_standard_decoder_reads_it(value: Any) -> None:
    for text in (json.dumps([value]), json.dumps([value], ensure_ascii=False, indent=1)):
        found = strict_json.whole(text)
        assert found is not None
        assert json.dumps(found.value) == json.dumps(json.loads(text))


@given(st.integers(), st.integers(-30, 30), st.integers(0, 40), st.integers(1, 9))
def test_numbers_are_compared_exactly(mantissa: int, power: int, zeros: int, digit: int) -> None:
    text = f"{mantissa}E{power}"
    same = [
        f"{mantissa}{'0' * zeros}e{power - zeros}",
        f"{mantissa}.{'0' * zeros}E{power:+d}",
        f"{mantissa // abs(mantissa) if mantissa else 0}" if abs(mantissa) < 2 and power == 0 else text,
    ]
    assert {tool_calls._digits(one) for one in same} == {tool_calls._digits(text)}
    assert tool_calls._digits(f"{mantissa}.{'0' * zeros}{digit}E{power}") != tool_calls._digits(text)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=4, max_size=4))
def test_one_to_one_finds_a_pairing_whenever_there_is_one(table: list[list[bool]]) -> None:
    from itertools import permutations

    exists = any(all(table[i][j] for i, j in enumerate(order)) for order in permutations(range(4)))
    assert tool_calls.one_to_one(range(4), range(4), lambda i, j: table[i][j]) == exists


MEGABYTE = 1_000_000
ADVERSARIAL = {
    "open brackets": "[" * MEGABYTE,
    "open braces": "{" * MEGABYTE,
    "open lists of objects": "[{" * (MEGABYTE // 2),
    "open objects": '{"a":' * (MEGABYTE // 5),
    "open objects in lists": '[{"a":[' * (MEGABYTE // 7),
    "keys": '{"' * (MEGABYTE // 2),
    "escaped quotes": '{"\\"' * (MEGABYTE // 4),
    "escaped backslashes": '["\\\\' * (MEGABYTE // 4),
    "names": '{"name":"a",' * (MEGABYTE // 12),
    "calls with strings": '[{"name":"a","arguments":"{}"},' * (MEGABYTE // 31),
    "escaped objects": '[{"name":"a","arguments":"' + '{\\"a\\":' * (MEGABYTE // 7),
    "digits": '{"name":"pay","arguments":{"amount":' + "9" * MEGABYTE + "}}",
    "an exponent": '{"name":"pay","arguments":{"amount":1e' + "9" * MEGABYTE + "}}",
    "many calls": "[" + ",".join(['{"name":"pay","arguments":{"amount":1}}'] * (MEGABYTE // 40)) + "]",
    "a deep value": '{"name":"pay","arguments":{"amount":' + "[" * 500_000 + "]" * 500_000 + "}}",
    "deep objects": '{"a":' * (MEGABYTE // 6) + "1" + "}" * (MEGABYTE // 6),
    "blanks": ("[" + " " * 1000) * (MEGABYTE // 1001),
    "backticks": "`" * MEGABYTE,
    "a wide list": '{"name":"pay","arguments":{"amount":[' + "1," * (MEGABYTE // 2) + "1]}}",
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_megabyte_takes_less_than_a_second(name: str) -> None:
    one = item([{"name": "pay", "arguments": {"amount": 1}}])
    start = time.process_time()
    verdict = tool_calls.judge(tool_calls.extract(ADVERSARIAL[name], one), one)
    # A quadratic reader would take minutes; the figures themselves are perf/answers.py's.
    assert time.process_time() - start < 20
    assert not verdict.correct


def test_a_call_below_a_value_that_is_too_deep_is_still_read() -> None:
    call = '{"name": "list_menus", "arguments": {}}'
    depth = strict_json.DEPTH_AT_MOST
    assert correct("[" * depth * 2 + call, [{"name": "list_menus", "arguments": {}}])
    assert correct(f'{{"a": {"[" * depth}1{"]" * depth}}} {call}', [{"name": "list_menus", "arguments": {}}])


def test_undocumented_parameters_are_counted() -> None:
    one = item([{"name": "pay", "arguments": {"amount": 5}}])
    reply = '{"name": "pay", "arguments": {"amount": 5, "colour": "red", "api_key": "k"}}'
    assert (
        tool_calls.judge(tool_calls.extract(reply, one), one).detail == "undocumented parameters ignored: 1"
    )


@pytest.mark.parametrize(
    "name", ["api_key", "API-Key", "X-API-KEY", "apiKey", "app_id", "accessToken", "secret"]
)
def test_credentials(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize("name", ["key", "id", "user_id", "password", "keyword", "tokens", "animeId", ""])
def test_no_credentials(name: str) -> None:
    assert not is_credential(name)


@pytest.mark.parametrize(
    ("gold", "found"),
    [
        (None, "gold None"),
        ([], "gold \\[\\]"),
        ("text", "gold 'text'"),
        ([{"arguments": {}}], "without a name"),
        ([{"name": " ", "arguments": {}}], "without a name"),
        ([{"name": "pay", "arguments": "{}"}], "arguments are no object"),
        ([7], "without a name"),
    ],
)
def test_an_item_without_gold_calls_is_refused(gold: Any, found: str) -> None:
    with pytest.raises(ItemError, match=rf"eval_real\.json:3.*{found}"):
        tool_calls.check(item(gold))
