"""BLiMP: minimal pairs of an acceptable and an unacceptable sentence, 67 sets of 1,000."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import Order, order
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "likeliest"
LICENCE = "CC BY 4.0"
CITATION = (
    "Alex Warstadt, Alicia Parrish, Haokun Liu, Anhad Mohananey, Wei Peng, Sheng-Fu Wang, Samuel R. Bowman. "
    "BLiMP: The Benchmark of Linguistic Minimal Pairs for English. TACL 2020. arXiv:1912.00582"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from one file a set; rows: sentence_good, sentence_bad, UID (the set), pairID, and more.

    The two sentences stand in the edition's hash order (ruling 71), so that the place says nothing.
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    group = row.text("UID")
    item_id = clean_id(f"{group}-{row.get('pairID')}")
    sentences = [row.text("sentence_good"), row.text("sentence_bad")]
    shown = order(benchmark, item_id, sentences)
    item = Item(
        benchmark=benchmark,
        id=item_id,
        answer_type=ANSWER_TYPE,
        question=f"{row.text('field')}, {row.text('linguistics_term')}: {group}",
        options=shown.options(sentences),
        gold=shown.letter(0),
        group=group,
        source=row.where,
    )
    return item, shown
