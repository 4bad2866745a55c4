"""Banking77: customer questions to a bank and their 77 intents (§3)."""

from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import named, rows
from nanolm.errors import ItemError
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile, read_json

ANSWER_TYPE: AnswerType = "label"
LICENCE = "CC BY 4.0"
CITATION = (
    "Iñigo Casanueva, Tadas Temčinas, Daniela Gerz, Matthew Henderson, Ivan Vulić. Efficient Intent "
    "Detection with Dual Sentence Encoders. NLP for ConvAI 2020. arXiv:2003.04807"
)


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from `test.csv` (text, category) with the labels of `categories.json`; the id is the row."""
    categories = named(files, "categories.json")
    found = read_json(categories)
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise ItemError(f"{categories.name}:0: found {found!r:.80}, expected a list of label names")
    labels = alphabetical(found)
    return collect(
        (
            Item(
                benchmark=benchmark,
                id=f"{row.number:04d}",
                answer_type=ANSWER_TYPE,
                question=row.text("text"),
                labels=labels,
                gold=row.text("category"),
                source=row.where,
            ),
            None,
        )
        for row in rows([named(files, "test.csv")])
    )


def alphabetical(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels in the order they are shown (§4): by letters, whether small or capital."""
    return tuple(sorted(labels, key=lambda label: (label.casefold(), label)))
