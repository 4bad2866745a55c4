"""WinoGrande: which of two words a blank stands for, judged by how well the rest of the sentence follows."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "likeliest"
LICENCE = "CC BY 4.0"
CITATION = (
    "Keisuke Sakaguchi, Ronan Le Bras, Chandra Bhagavatula, Yejin Choi. WinoGrande: An Adversarial Winograd "
    "Schema Challenge at Scale. AAAI 2020. arXiv:1907.10641"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items by row number; rows: sentence with one blank `_`, option1, option2, answer ("1" or "2")."""
    return collect((_item(benchmark, row), None) for row in rows(files))


def _item(benchmark: str, row: Row) -> Item:
    sentence = row.text("sentence")
    _, blank, after = sentence.partition("_")
    if not blank or not after.strip():
        raise row.wrong(f"sentence = {sentence!r:.80}", "a blank, `_`, and a text after it")
    answer = row.get("answer")
    if answer not in ("1", "2"):
        raise row.wrong(f"answer = {answer!r}", '"1" or "2"')
    return Item(
        benchmark=benchmark,
        id=f"{row.number:04d}",
        answer_type=ANSWER_TYPE,
        question=sentence,
        options=(row.text("option1"), row.text("option2")),
        gold="A" if answer == "1" else "B",
        source=row.where,
    )
