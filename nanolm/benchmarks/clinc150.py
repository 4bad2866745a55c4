"""CLINC150: 150 intents of ten domains, and requests outside all of them (§3)."""

from collections.abc import Iterable, Iterator, Sequence

from nanolm.benchmarks.banking77 import alphabetical
from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import collect
from nanolm.benchmarks.rows import named
from nanolm.errors import ItemError
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile, read_json

ANSWER_TYPE: AnswerType = "label"
LICENCE = "CC BY 3.0"
CITATION = (
    "Stefan Larson, Anish Mahendran, Joseph J. Peper, Christopher Clarke, Andrew Lee, Parker Hill, Jonathan "
    "K. Kummerfeld, Kevin Leach, Michael A. Laurenzano, Lingjia Tang, Jason Mars. An Evaluation Dataset for "
    "Intent Classification and Out-of-Scope Prediction. EMNLP-IJCNLP 2019. arXiv:1909.02027"
)

_PARTS = {"test": "test", "oos_test": "oos"}
"""Parts of the source file that are asked (§3), and the first half of their items' ids."""


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items of `data_full.json`: `test-0000` and on, then `oos-0000` and on; 150 labels and `oos`."""
    file = named(files, ".json")
    parts = read_json(file)
    missing = [part for part in _PARTS if not isinstance(parts, dict) or part not in parts]
    if missing:
        raise ItemError(f"{file.name}:0: found no part {missing[0]!r}, expected {', '.join(_PARTS)}")
    asked = list(_pairs(file, parts, _PARTS))
    known = list(_pairs(file, parts, ("train",) if "train" in parts else ()))
    labels = alphabetical(sorted({intent for _, _, _, intent in asked + known} | {"oos"}))
    return collect(
        (
            Item(
                benchmark=benchmark,
                id=f"{_PARTS[part]}-{number:04d}",
                answer_type=ANSWER_TYPE,
                question=text,
                labels=labels,
                gold=intent,
                group=part,
                source=f"{file.name}:{part}:{number + 1}",
            ),
            None,
        )
        for part, number, text, intent in asked
    )


def _pairs(
    file: SourceFile, parts: dict[str, object], wanted: Iterable[str]
) -> Iterator[tuple[str, int, str, str]]:
    """Part, number in the part, text and intent of the wanted parts."""
    for part in wanted:
        found = parts[part]
        if not isinstance(found, list):
            raise ItemError(f"{file.name}:{part}: found {found!r:.80}, expected a list")
        for number, pair in enumerate(found):
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
                raise ItemError(
                    f"{file.name}:{part}:{number + 1}: found {pair!r:.80}, expected [text, intent]"
                )
            if part != "train" and (pair[1] == "oos") != (part == "oos_test"):
                expected = "oos" if part == "oos_test" else "an intent other than oos"
                raise ItemError(
                    f"{file.name}:{part}:{number + 1}: found the intent {pair[1]!r}, expected {expected}"
                )
            yield part, number, pair[0], pair[1]
