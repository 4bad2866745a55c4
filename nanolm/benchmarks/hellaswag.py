"""HellaSwag: which of four endings goes on with an everyday scene."""

import re
from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import LETTERS
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "likeliest"
LICENCE = "MIT"
CITATION = (
    "Rowan Zellers, Ari Holtzman, Yonatan Bisk, Ali Farhadi, Yejin Choi. HellaSwag: Can a Machine Really "
    "Finish Your Sentence? ACL 2019. arXiv:1905.07830"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items by row number, grouped by where the scene comes from; rows: ind, activity_label, ctx_a, ctx_b,
    endings, source_id, label (index).
    """
    return collect((_item(benchmark, row), None) for row in rows(files))


def _item(benchmark: str, row: Row) -> Item:
    endings = row.texts("endings")
    scene = f"{row.text('activity_label')}: {row.get('ctx_a')} {str(row.get('ctx_b')).capitalize()}"
    return Item(
        benchmark=benchmark,
        id=f"{row.number:05d}",
        answer_type=ANSWER_TYPE,
        question=without_brackets(scene),
        options=tuple(without_brackets(ending) for ending in endings),
        gold=LETTERS[row.index("label", len(endings))],
        group=str(row.get("source_id")).partition("~")[0],
        source=row.where,
    )


def without_brackets(text: str) -> str:
    """A text without the marks that its making from WikiHow left in it, as lm-evaluation-harness reads it.

    >>> without_brackets("Bake: [header] How to [title] Mix [step] Stir. ")
    'Bake: How to. Mix Stir.'
    """
    text = text.strip().replace(" [title]", ". ")
    return re.sub(r"\[.*?\]", "", text).replace("  ", " ")
