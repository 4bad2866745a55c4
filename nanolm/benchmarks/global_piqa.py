"""Global PIQA, English: everyday physical common sense, non-parallel and parallel part (§3)."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows, stem
from nanolm.benchmarks.shuffle import Order, letter_item
from nanolm.errors import SourceError
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "letter"
LICENCE = "CC BY-SA 4.0"
CITATION = (
    "Tyler A. Chang, Catherine Arnett, et al. Global PIQA: Evaluating Physical Commonsense Reasoning Across "
    "100+ Languages and Cultures. 2025"
)

_OPTIONS = {"nonparallel": 2, "parallel": 4}
"""How many options the items of a part have (§3)."""


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from a table a part; columns: prompt, solution0, solution1, …, label (index).

    Ids: the part and the row (`nonparallel-007`).
    """
    return collect(_item(benchmark, row, _part(row.file)) for row in rows(files))


def _part(file: SourceFile) -> str:
    """`data/nonparallel_eng_latn.tsv` is of the part `nonparallel`."""
    part = stem(file).partition("_")[0]
    if part not in _OPTIONS:
        raise SourceError(f"{file.name}: found the part {part!r}, expected one of {', '.join(_OPTIONS)}")
    return part


def _item(benchmark: str, row: Row, part: str) -> tuple[Item, Order]:
    item_id = f"{part}-{row.number:03d}"
    options = [row.text(f"solution{number}") for number in range(_OPTIONS[part])]
    gold = row.index("label", len(options))
    return letter_item(
        benchmark=benchmark,
        item=item_id,
        question=row.text("prompt"),
        options=options,
        gold=gold,
        source=row.where,
        group=part,
    )
