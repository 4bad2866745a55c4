"""MATH-500: competition problems with a math expression as answer (§3)."""

import re
from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "math_expression"
LICENCE = "MIT"
CITATION = (
    "Hunter Lightman, Vineet Kosaraju, Yura Burda, Harri Edwards, Bowen Baker, Teddy Lee, Jan Leike, John "
    "Schulman, Ilya Sutskever, Karl Cobbe. Let's Verify Step by Step. 2023. arXiv:2305.20050. After: Dan "
    "Hendrycks et al. Measuring Mathematical Problem Solving With the MATH Dataset. NeurIPS 2021"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from rows: problem, answer, subject, unique_id (`test/algebra/12.json` gives `algebra-12`)."""
    return collect((_item(benchmark, row), None) for row in rows(files))


def _item(benchmark: str, row: Row) -> Item:
    own = re.fullmatch(r"test/(\w+)/(\d+)\.json", row.text("unique_id"))
    if own is None:
        raise row.wrong(f"unique_id = {row.text('unique_id')!r:.80}", "test/<subject>/<number>.json")
    return Item(
        benchmark=benchmark,
        id=clean_id(f"{own[1]}-{own[2]}"),
        answer_type=ANSWER_TYPE,
        question=row.text("problem"),
        gold=row.text("answer").strip(),
        group=row.text("subject"),
        source=row.where,
    )
