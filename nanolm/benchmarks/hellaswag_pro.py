"""HellaSwag-Pro: seven variants of everyday situations, most with four options (§3; ruling 74)."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows, stem
from nanolm.benchmarks.shuffle import Order, letter_item
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "letter"
LICENCE = "none stated; for evaluation only, the items are not redistributed"
CITATION = (
    "Xiaoyuan Li, Moxin Li, Rui Men, Yichang Zhang, Keqin Bao, Wenjie Wang, Fuli Feng, Dayiheng Liu, Junyang "
    "Lin. HellaSwag-Pro: A Large-Scale Bilingual Benchmark for Evaluating the Robustness of LLMs in "
    "Commonsense Reasoning. 2025. arXiv:2502.11393"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from one file a variant; rows: id, perturbation_type, context, choices, label (index).

    Source ids repeat across variants, so the variant is part of the id (`sentence_sorting-12`).
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    variant = stem(row.file)
    if row.text("perturbation_type") != variant:
        raise row.wrong(f"perturbation_type = {row.text('perturbation_type')!r}", f"{variant!r} in this file")
    own = row.get("id")
    if isinstance(own, bool) or not isinstance(own, int | str) or not str(own).strip():
        raise row.wrong(f"id = {own!r:.80}", "a number or a text")
    item_id = clean_id(f"{variant}-{own}")
    options = row.texts("choices")
    gold = row.index("label", len(options))
    return letter_item(
        benchmark=benchmark,
        item=item_id,
        question=row.text("context"),
        options=options,
        gold=gold,
        source=row.where,
        group=variant,
    )
