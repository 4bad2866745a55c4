"""GSM8K-Platinum: grade school word problems with a number as answer (§3)."""

import re
from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "number"
LICENCE = "MIT"
CITATION = (
    "Joshua Vendrow, Edward Vendrow, Sara Beery, Aleksander Madry. Do Large Language Model Benchmarks Test "
    "Reliability? 2025. arXiv:2502.03461. After: Karl Cobbe et al. Training Verifiers to Solve Math Word "
    "Problems. 2021. arXiv:2110.14168"
)

_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
"""Thousands with commas, as in `1,234`."""


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items in the order of the official file, whose row number is the id (`0007`).

    Hub rows: question, answer. The mirror form `cooked-jsonl` has another order; its own id ends with the
    official row: id (`GSM8KPlatinum-0007`), problem, gt_solution.
    """
    made = [_item(benchmark, row) for row in rows(files)]
    return collect((item, None) for item in sorted(made, key=lambda item: item.id))


def _item(benchmark: str, row: Row) -> Item:
    number, question, answer = row.number, "question", "answer"
    if row.file.form == "cooked-jsonl":
        own = re.fullmatch(r"GSM8KPlatinum-(\d{4})", row.text("id"))
        if own is None:
            raise row.wrong(f"id = {row.text('id')!r:.80}", "GSM8KPlatinum-0000 and on")
        number, question, answer = int(own[1]), "problem", "gt_solution"
    solution = row.text(answer)
    _, mark, gold = solution.rpartition("####")
    gold = gold.strip()
    if _GROUPED.fullmatch(gold):
        gold = gold.replace(",", "")
    if not mark:
        raise row.wrong(f"{answer} = {solution[-60:]!r}", "a solution that ends with '#### <number>'")
    return Item(
        benchmark=benchmark,
        id=f"{number:04d}",
        answer_type=ANSWER_TYPE,
        question=row.text(question),
        gold=gold,
        source=f"{row.file.name}:{number + 1}",
    )
