"""ARC by log-likelihood, Easy or Challenge: the options stay in the source's order."""

from collections.abc import Sequence

from nanolm.benchmarks.arc_easy import CITATION, LICENCE, options_of
from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import LETTERS
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

__all__ = ["ANSWER_TYPE", "CITATION", "LICENCE", "items"]

ANSWER_TYPE: AnswerType = "likeliest"


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items under the source's own ids; rows as in `nanolm.benchmarks.arc_easy`."""
    return collect((_item(benchmark, row), None) for row in rows(files))


def _item(benchmark: str, row: Row) -> Item:
    options, gold = options_of(row)
    return Item(
        benchmark=benchmark,
        id=clean_id(row.text("id")),
        answer_type=ANSWER_TYPE,
        question=row.text("question"),
        options=tuple(options),
        gold=LETTERS[gold],
        source=row.where,
    )
