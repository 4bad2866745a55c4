"""ARC-Easy: school science questions with three to five options (§3)."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import Order, letter_item
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "letter"
LICENCE = "CC BY-SA 4.0"
CITATION = (
    "Peter Clark, Isaac Cowhey, Oren Etzioni, Tushar Khot, Ashish Sabharwal, Carissa Schoenick, Oyvind "
    "Tafjord. Think you have Solved Question Answering? Try ARC, the AI2 Reasoning Challenge. 2018. "
    "arXiv:1803.05457"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items under the source's own ids.

    Hub rows: id, question, choices {text, label}, answerKey. The mirror form `choices-list`: id, question,
    choices (texts), gold (index).
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    item_id = clean_id(row.text("id"))
    options, gold = options_of(row)
    return letter_item(
        benchmark=benchmark,
        item=item_id,
        question=row.text("question"),
        options=options,
        gold=gold,
        source=row.where,
    )


def options_of(row: Row) -> tuple[list[str], int]:
    """The options in source order and the index of the gold one."""
    if row.file.form == "choices-list":
        options = row.texts("choices")
        return options, row.index("gold", len(options))
    return _labelled(row)


def _labelled(row: Row) -> tuple[list[str], int]:
    """Options and gold of a hub row. Labels are letters, or digits from 1: map by label, not by place."""
    choices = row.get("choices")
    if not isinstance(choices, dict) or "text" not in choices or "label" not in choices:
        raise row.wrong(f"choices = {choices!r:.80}", "an object of texts and labels")
    inner = Row(row.file, row.number, row.place, choices)
    options, labels = inner.texts("text"), inner.texts("label")
    key = row.text("answerKey")
    if len(labels) != len(options) or len(set(labels)) != len(labels):
        raise row.wrong(
            f"{len(options)} texts with labels {', '.join(labels)}", "a label of its own for each"
        )
    if key not in labels:
        raise row.wrong(f"answerKey = {key!r}", f"exactly one of the labels {', '.join(labels)}")
    return options, labels.index(key)
