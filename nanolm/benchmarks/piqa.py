"""PIQA: which of two solutions reaches an everyday goal."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import LETTERS
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "likeliest"
LICENCE = "none stated by the repository"
CITATION = (
    "Yonatan Bisk, Rowan Zellers, Ronan Le Bras, Jianfeng Gao, Yejin Choi. PIQA: Reasoning about Physical "
    "Commonsense in Natural Language. AAAI 2020. arXiv:1911.11641"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items by row number; rows: goal, sol1, sol2, label (index)."""
    return collect((_item(benchmark, row), None) for row in rows(files))


def _item(benchmark: str, row: Row) -> Item:
    return Item(
        benchmark=benchmark,
        id=f"{row.number:04d}",
        answer_type=ANSWER_TYPE,
        question=row.text("goal"),
        options=(row.text("sol1"), row.text("sol2")),
        gold=LETTERS[row.index("label", 2)],
        source=row.where,
    )
