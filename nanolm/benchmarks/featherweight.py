"""Featherweight: four choices in the order they are written, for models below a billion parameters.

A file has one JSON object a line: `id`, `category`, `question`, `choices`, and `answer` as a letter or a
place counted from 0. The first line may be a header with `_meta`. Options are never shuffled: the authors
balanced the right letters by hand, and in the edition's own file they must be balanced.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows
from nanolm.benchmarks.shuffle import LETTERS
from nanolm.errors import ItemError
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "featherweight_letter"
LICENCE = "CC BY 4.0"
CITATION = "Featherweight v1: a multiple-choice benchmark for sub-1B language models. rootcomputer.dev. 2026"

CHOICES = 4


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items under the file's own ids, each in the group that is its category.

    Raises `ItemError` naming file and line (counted from 1) for a row that can't be asked, and for a file of
    the edition whose right letters are not balanced; a custom file may be as it likes.
    """
    made = collect((_item(benchmark, row), None) for row in _questions(files))
    if not any(file.form == "custom" for file in files):
        _check_balance(made.items, ", ".join(file.name for file in files))
    return made


def _questions(files: Sequence[SourceFile]) -> Iterator[Row]:
    for row in rows(files):
        if "_meta" not in row.fields:
            yield row
        elif row.number != 0:
            raise row.wrong("a header (_meta)", "one on the first line only")


def _item(benchmark: str, row: Row) -> Item:
    choices = row.texts("choices")
    if len(choices) != CHOICES:
        raise row.wrong(f"{len(choices)} choices", f"{CHOICES}")
    return Item(
        benchmark=benchmark,
        id=clean_id(row.text("id")),
        answer_type=ANSWER_TYPE,
        question=row.text("question"),
        options=tuple(choices),
        gold=_letter(row),
        group=row.text("category"),
        source=row.where,
    )


def _letter(row: Row) -> str:
    """The right letter. A letter in any case, or a place as an integer; never a place as text."""
    answer = row.get("answer")
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < CHOICES:
        return LETTERS[answer]
    if isinstance(answer, str) and len(answer) == 1 and answer.upper() in LETTERS[:CHOICES]:
        return answer.upper()
    raise row.wrong(f"answer = {answer!r}", f"a letter A to D or a whole number from 0 to {CHOICES - 1}")


def _check_balance(made: Sequence[Item], files: str) -> None:
    """As the authors' build script: each letter right equally often, and within a category all but so."""
    whole = positions(made)
    if len(set(whole.values())) != 1:
        raise _unbalanced(f"{files}: the right letters of all items", whole)
    for category in dict.fromkeys(item.group for item in made):
        inside = positions(item for item in made if item.group == category)
        if max(inside.values()) - min(inside.values()) > 1:
            raise _unbalanced(f"{files}: the right letters of {category}", inside)


def positions(made: Iterable[Item]) -> dict[str, int]:
    """How often each letter is right."""
    counts = Counter(item.gold for item in made)
    return {letter: counts[letter] for letter in LETTERS[:CHOICES]}


def _unbalanced(what: str, counts: dict[str, int]) -> ItemError:
    found = ", ".join(f"{letter} {count}" for letter, count in counts.items())
    return ItemError(
        f"{what} are not balanced: found {found}; expected each equally often (within "
        "a category, to one). In the edition's own file that is a rule; another's is asked with --items"
    )
