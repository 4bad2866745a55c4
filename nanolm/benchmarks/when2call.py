"""When2Call, multiple choice: call a tool, ask back, decline, or answer directly? (§3; ruling 77)."""

import json
from collections.abc import Sequence
from typing import Any

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import Order, letter_item
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "letter"
LICENCE = "CC BY 4.0"
CITATION = (
    "Hayley Ross, Ameya Sunil Mahabaleshwarkar, Yoshi Suhara. When2Call: When (not) to Call Tools. NAACL 2025"
)

KINDS = ("direct", "tool_call", "request_for_info", "cannot_answer")
"""The four answers of a row in the order that option indices count (ruling 71)."""

NO_TOOLS = "(no tools)"


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from rows: uuid (the id), question, tools (JSON texts), answers by kind, correct_answer (a kind).

    Items whose prompt is over the token limit are left out by the edition's own list.
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    item_id = clean_id(row.text("uuid"))
    answers = row.get("answers")
    if not isinstance(answers, dict) or any(not isinstance(answers.get(kind), str) for kind in KINDS):
        raise row.wrong(f"answers = {answers!r:.80}", f"a text for each of {', '.join(KINDS)}")
    right = row.text("correct_answer")
    if right not in KINDS:
        raise row.wrong(f"correct_answer = {right!r}", f"one of {', '.join(KINDS)}")
    return letter_item(
        benchmark=benchmark,
        item=item_id,
        question=row.text("question"),
        options=[answers[kind] for kind in KINDS],
        gold=KINDS.index(right),
        source=row.where,
        group=right,
        documentation="\n".join(_tool(row, tool) for tool in row.texts("tools")) or NO_TOOLS,
    )


def _tool(row: Row, text: str) -> str:
    """A tool as one line of JSON, as the source has it."""
    try:
        tool: Any = json.loads(text)
    except ValueError as error:
        raise row.wrong(f"a tool that is no JSON ({error})", "a JSON object with a name") from error
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise row.wrong(f"the tool {text[:80]!r}", "a JSON object with a name")
    return " ".join(text.split())
