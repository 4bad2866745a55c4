"""SciQ: school science exam questions, most with a passage that holds the answer."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import Order, order
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "likeliest"
LICENCE = "CC BY-NC 3.0"
CITATION = (
    "Johannes Welbl, Nelson F. Liu, Matt Gardner. Crowdsourcing Multiple Choice Science Questions. W-NUT "
    "2017. arXiv:1707.06209"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items by row number; rows: question, distractor1 to 3, correct_answer, support, which may be empty.

    The source gives the options no order: they stand in the edition's hash order (ruling 71).
    """
    return collect(_item(benchmark, row) for row in rows(files))


def _item(benchmark: str, row: Row) -> tuple[Item, Order]:
    item_id = f"{row.number:04d}"
    options = [row.text(name) for name in ("distractor1", "distractor2", "distractor3", "correct_answer")]
    support = row.get("support")
    if not isinstance(support, str):
        raise row.wrong(f"support = {support!r:.80}", "a text, which may be empty")
    # one order for all of an edition's ways to judge it, so that what is asked is the same
    shown = order("sciq", item_id, options)
    item = Item(
        benchmark=benchmark,
        id=item_id,
        answer_type=ANSWER_TYPE,
        question=row.text("question"),
        options=shown.options(options),
        gold=shown.letter(3),
        documentation=support.lstrip(),
        source=row.where,
    )
    return item, shown
