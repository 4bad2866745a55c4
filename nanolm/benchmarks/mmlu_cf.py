"""MMLU-CF: four options, 14 subjects, no ids (§3; ruling 73)."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows, stem
from nanolm.benchmarks.shuffle import Order, letter_item
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "letter"
LICENCE = "CDLA-Permissive-2.0"
CITATION = (
    "Qihao Zhao, Yangyu Huang, Tengchao Lv, Lei Cui, Qinzheng Sun, Shaoguang Mao, Xin Zhang, Ying Xin, "
    "Qiufeng Yin, Scarlett Li, Furu Wei. MMLU-CF: A Contamination-free Multi-task Language Understanding "
    "Benchmark. ACL 2025. arXiv:2412.15194"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from the combined validation file, or from one file a subject (`val/Biology_val.parquet`).

    Ids: the row (`0042`), after the subject where a file has one (`Biology-0042`).
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    name = stem(row.file)
    subject = name.removesuffix("_val") if name.endswith("_val") else ""
    number = f"{row.number:04d}"
    item_id = f"{subject}-{number}" if subject else number
    # Ruling 73: options are stripped of outer white space.
    options = [row.text(letter).strip() for letter in "ABCD"]
    gold = row.text("Answer").strip()
    if gold not in ("A", "B", "C", "D"):
        raise row.wrong(f"Answer = {gold!r}", "one of A, B, C, D")
    return letter_item(
        benchmark=benchmark,
        item=item_id,
        question=row.text("Question"),
        options=options,
        gold="ABCD".index(gold),
        source=row.where,
        group=subject,
    )
