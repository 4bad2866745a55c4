"""Reading API calls from a reply and comparing them with the gold calls (§3, §6, rulings 50 to 62, 82, 102).

Reading, left to right; the first JSON value that matches wins (ruling 50):

1. `call-list`: a non-empty list of call objects.
2. `call-object`: one call object; what follows it is not read (ruling 54).
3. `no-call`: neither stands anywhere in the reply; unparseable.

A call object has a string `name` and `arguments` that is an object, or a string that holds one
(ruling 51). Other spellings and anything that is no JSON are not repaired (rulings 52, 53); in a list
that is none, the first call object stands for itself (ruling 102).

Judging: predicted and gold calls match one to one in any order (ruling 62). Two calls match when
their names are the same and, credentials aside, every gold parameter that is required or not
documented is there and equal, and every optional parameter that both give is equal. Null is absent, for
required parameters too.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from nanolm.answers import refuse, strict_json
from nanolm.answers.credentials import is_credential
from nanolm.schema import Answer, FunctionSignature, Item, Verdict

RULES = ("call-list", "call-object", "no-call")

# A call list opens with an object, a call object with a key: no other container needs to be read.
_WHITE = r"[ \t\n\r]*+"
_STARTS = re.compile(rf"(?:\[{_WHITE})?\{{{_WHITE}{strict_json.STRING}{_WHITE}:")
_DECIMAL = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?(?:[eE]([+-]?)([0-9]++))?\Z")

Call = dict[str, Any]
_T = TypeVar("_T")


def extract(reply: str, item: Item) -> Answer:
    """The calls of a reply as a list of `{"name", "arguments"}`. Never raises; linear in the reply."""
    del item  # the same rules for every item
    for start, found in strict_json.containers(reply, _STARTS):
        if isinstance(found.value, list):
            calls = _calls(found.value)
            if calls:
                return Answer(calls, "call-list", (start, found.end))
        else:
            call = _call(found.value)
            if call is not None:
                return Answer([call], "call-object", (start, found.end))
    return Answer(None, "no-call", None, "unparseable")


def _calls(values: Sequence[Any]) -> list[Call] | None:
    calls = []
    for value in values:
        call = _call(value)
        if call is None:
            return None
        calls.append(call)
    return calls


def _call(value: Any) -> Call | None:
    """The call object that a JSON value is, its arguments decoded (ruling 51)."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments")
    if isinstance(arguments, str):
        found = strict_json.whole(arguments)
        if found is None:
            return None
        arguments = found.value
    if not isinstance(arguments, dict):
        return None
    return {"name": value["name"], "arguments": arguments}


def check(item: Item) -> None:
    """Raises `ItemError` for an item without gold calls, or with one that is no call object."""
    gold = item.gold
    if not isinstance(gold, list | tuple) or not gold:
        raise refuse(item, f"gold {gold!r}", "a non-empty list of calls")
    for call in gold:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not call["name"].strip():
            raise refuse(item, f"a gold call without a name: {call!r}", '{"name", "arguments"}')
        if not isinstance(call.get("arguments"), dict):
            raise refuse(
                item, f"a gold call whose arguments are no object: {call!r}", '{"name", "arguments"}'
            )


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when the calls match `item.gold` one to one, by `item.functions`. Exact, symmetric in order."""
    if answer.reason is not None:
        return Verdict(correct=False, reason=answer.reason, rule=answer.rule, span=answer.span)
    correct = same_calls(answer.value, item.gold, item.functions)
    return Verdict(
        correct=correct,
        reason=None if correct else "wrong",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=_detail(answer.value, item),
    )


def same_calls(
    predicted: Sequence[Call], gold: Sequence[Call], functions: Mapping[str, FunctionSignature]
) -> bool:
    """A true one-to-one assignment of predicted to gold calls (ruling 62)."""
    if len(predicted) != len(gold):
        return False
    return one_to_one(predicted, gold, lambda ours, theirs: same_call(ours, theirs, functions))


def same_call(predicted: Call, gold: Call, functions: Mapping[str, FunctionSignature]) -> bool:
    """Names equal after trimming (ruling 55); arguments by rulings 59 to 61."""
    name = gold["name"].strip()
    if predicted["name"].strip() != name:
        return False
    signature = functions.get(name) or FunctionSignature()
    ours, theirs = predicted["arguments"], gold["arguments"]
    for key, value in theirs.items():
        if value is None or _is_credential(key, signature):  # null is absent (ruling 59)
            continue
        optional = key in signature.optional and key not in signature.required
        mine = ours.get(key)
        if mine is None:
            if optional:
                continue
            return False
        if not same(mine, value):
            return False
    return True


def _is_credential(key: str, signature: FunctionSignature) -> bool:
    return key in signature.credentials or is_credential(key)


def undocumented(calls: Sequence[Call], functions: Mapping[str, FunctionSignature]) -> int:
    """How many arguments the documentation does not know; they are ignored, and counted (ruling 60)."""
    count = 0
    for call in calls:
        signature = functions.get(call["name"].strip())
        if signature is not None:
            known = {*signature.required, *signature.optional}
            count += sum(key not in known and not _is_credential(key, signature) for key in call["arguments"])
    return count


def _detail(calls: Sequence[Call], item: Item) -> str:
    count = undocumented(calls, item.functions)
    return f"undocumented parameters ignored: {count}" if count else ""


def same(a: Any, b: Any) -> bool:
    """Equal values by rulings 56 to 58: symmetric, exact, never raises on what JSON can hold."""
    if isinstance(a, bool) or isinstance(b, bool):
        return _same_bool(a, b)
    if a is None or b is None:
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return _plain(a) == _plain(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and one_to_one(a, b, same)  # multisets (ruling 58)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return False  # a string is not a list of one element
    if type(a) is int and type(b) is int:
        return a == b
    digits = _digits(a)
    return digits is not None and digits == _digits(b)


def _same_bool(a: Any, b: Any) -> bool:
    """Booleans never equal numbers; the string "true" equals true (ruling 56)."""
    if isinstance(a, bool) and isinstance(b, bool):
        return a is b
    text, flag = (a, b) if isinstance(b, bool) else (b, a)
    return isinstance(text, str) and _plain(text) == ("true" if flag else "false")


def _plain(text: str) -> str:
    """NFC, trimmed, case folded; inner white space stays (ruling 57)."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.strip().casefold()


def _digits(value: int | float | Decimal | str) -> tuple[bool, str, int | str] | None:
    """(negative, digits, exponent) of a number or numeric string, the same for equal numbers; else None.

    No arithmetic on the value itself, so that 1e999999999 costs nothing (ruling 56: exact, not float).
    """
    text = (
        value.strip() if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)
    )
    match = _DECIMAL.match(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction, exponent_sign, exponent = match.groups(default="")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return (False, "0", 0)
    short = digits.rstrip("0")
    exponent = exponent.lstrip("0") or "0"
    if len(exponent) > 1_000:  # beyond any number: equal only when written the same
        return (sign == "-", short, f"{exponent_sign}{exponent}:{len(digits) - len(short) - len(fraction)}")
    power = -int(exponent) if exponent_sign == "-" else int(exponent)
    return (sign == "-", short, power - len(fraction) + len(digits) - len(short))


def one_to_one(left: Sequence[_T], right: Sequence[_T], equal: Callable[[_T, _T], bool]) -> bool:
    """Whether each of `left` can be paired with an own one of `right` (as many of both).

    Greedy pairing would fail where equality is not transitive: 5 equals "5" and "5.0", which differ.
    Augmenting paths, breadth first; pairs are compared only when a path needs them.
    """
    partner: dict[int, int] = {}  # index in right -> index in left
    known: dict[tuple[int, int], bool] = {}

    def matches(i: int, j: int) -> bool:
        if (i, j) not in known:
            known[i, j] = equal(left[i], right[j])
        return known[i, j]

    return all(_augment(i, len(right), matches, partner) for i in range(len(left)))


def _augment(first: int, size: int, matches: Callable[[int, int], bool], partner: dict[int, int]) -> bool:
    """Finds `first` a partner, moving earlier ones on to others where that is possible."""
    came_from: dict[int, int] = {}  # index in right -> the index in left that reached it
    queue = [first]
    for i in queue:
        for j in range(size):
            if j in came_from or not matches(i, j):
                continue
            came_from[j] = i
            if j in partner:
                queue.append(partner[j])
                continue
            _reassign(j, first, came_from, partner)
            return True
    return False


def _reassign(free: int, first: int, came_from: dict[int, int], partner: dict[int, int]) -> None:
    """Along the path that ends at the free index of right, each of left takes the one it reached."""
    before = {i: j for j, i in partner.items()}
    while True:
        i = came_from[free]
        partner[free] = i
        if i == first:
            return
        free = before[i]
