"""ToolAlpaca: which calls of an API fulfil a request? (§3; rulings 59, 61 and 76)."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from nanolm.answers.credentials import is_credential
from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows, stem
from nanolm.schema import AnswerType, FunctionSignature, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "tool_calls"
LICENCE = "Apache-2.0"
CITATION = (
    "Qiaoyu Tang, Ziliang Deng, Hongyu Lin, Xianpei Han, Qiao Liang, Boxi Cao, Le Sun. ToolAlpaca: "
    "Generalized Tool Learning for Language Models with 3000 Simulated Cases. 2023. arXiv:2306.05301"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from one file a part (`eval_real.json`), a row an API with its instructions and gold calls.

    Ids: part, row and instruction (`real-03-07`). Rules of exclusion are tried in the order of ruling 76.
    """
    made: list[tuple[Item, None]] = []
    excluded: list[Exclusion] = []
    for row in rows(files):
        for item_id, found in _cases(benchmark, row):
            if isinstance(found, Item):
                made.append((found, None))
            else:
                excluded.append(Exclusion(item_id, found))
    return collect(made, excluded)


def _cases(benchmark: str, row: Row) -> Iterator[tuple[str, Item | str]]:
    """Each instruction of an API: its item, or the rule that leaves it out."""
    part = stem(row.file).removeprefix("eval_")
    descriptions = _descriptions(row)
    functions = {name: _signature(row, name, text) for name, text in descriptions.items()}
    documentation = "\n\n".join(f"{name}: {text}" for name, text in descriptions.items())
    instructions, golds = row.texts("Instructions"), row.get("Golden_Answers")
    if not isinstance(golds, list) or len(golds) != len(instructions):
        raise row.wrong("Golden_Answers that do not fit", f"{len(instructions)} lists, one an instruction")
    for number, (instruction, gold) in enumerate(zip(instructions, golds, strict=True)):
        item_id = f"{part}-{row.number:02d}-{number:02d}"
        calls = _calls(row, number, gold, functions)
        if isinstance(calls, str):
            yield item_id, calls
            continue
        yield (
            item_id,
            Item(
                benchmark=benchmark,
                id=item_id,
                answer_type=ANSWER_TYPE,
                question=instruction,
                gold=calls,
                documentation=documentation,
                functions=functions,
                group=part,
                source=f"{row.where}:{number + 1}",
            ),
        )


def _descriptions(row: Row) -> dict[str, str]:
    """The documented functions. The key "components" describes outputs and is no function (ruling 76)."""
    found = row.get("Function_Description")
    if not isinstance(found, dict) or not all(
        isinstance(text, str) and name.strip() for name, text in found.items()
    ):
        raise row.wrong(f"Function_Description = {found!r:.80}", "texts by function name")
    return {name: text.strip() for name, text in found.items() if name != "components"}


def _signature(row: Row, name: str, text: str) -> FunctionSignature:
    """Parameters from the line `Parameters: {name: "Required. type. meaning", …}` of a description.

    Credentials are those that the API's `Authentication` marks and those with a credential's name.
    """
    line = re.search(r"(?m)^Parameters: (.*)$", text)
    try:
        parameters: Any = json.loads(line[1]) if line else {}
    except ValueError as error:
        raise row.wrong(f"parameters of {name} that are no JSON ({error})", "a JSON object") from error
    if not isinstance(parameters, dict):
        raise row.wrong(f"parameters of {name} = {parameters!r:.80}", "a JSON object")
    marked = row.fields.get("Authentication") or {}
    if not isinstance(marked, dict):
        raise row.wrong(f"Authentication = {marked!r:.80}", "an object, or nothing")
    required = [key for key, meaning in parameters.items() if str(meaning).startswith("Required.")]
    return FunctionSignature(
        required=tuple(required),
        optional=tuple(key for key in parameters if key not in required),
        credentials=tuple(key for key in parameters if key in marked or is_credential(key)),
    )


def _calls(
    row: Row, number: int, gold: Any, functions: dict[str, FunctionSignature]
) -> list[dict[str, Any]] | str:
    """The gold calls, or the rule of exclusion that the first of them in ruling 76's order falls under."""
    if not isinstance(gold, list) or not all(
        isinstance(call, dict)
        and isinstance(call.get("Action"), str)
        and isinstance(call.get("Action_Input"), str)
        for call in gold
    ):
        raise row.wrong(
            f"number {number + 1} of Golden_Answers = {gold!r:.80}", "a list of Action and Action_Input"
        )
    if any(call["Action"] not in functions for call in gold):
        return "undocumented-function"
    if any("${" in call["Action_Input"] for call in gold):
        return "depends-on-earlier-result"
    calls = []
    for call in gold:
        try:
            arguments = json.loads(call["Action_Input"], parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return "gold-not-json"
        if not isinstance(arguments, dict):
            return "gold-not-json"
        calls.append({"name": call["Action"], "arguments": arguments})
    return calls


def _no_constant(text: str) -> None:
    """NaN and Infinity, which Python's reader takes, are no JSON."""
    raise ValueError(f"{text} is no JSON")
