"""EvoEval: HumanEval tasks evolved seven ways, judged by EvoEval (§3, §7; ruling 75)."""

import re
from collections.abc import Sequence

from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.benchmarks.check import clean_id, collect
from nanolm.benchmarks.rows import Row, rows, stem
from nanolm.errors import SourceError
from nanolm.schema import AnswerType, Item
from nanolm.sources import SourceFile

ANSWER_TYPE: AnswerType = "code"
LICENCE = "Apache-2.0"
CITATION = (
    "Chunqiu Steven Xia, Yinlin Deng, Lingming Zhang. Top Leaderboard Ranking = Top Coding Proficiency, "
    "Always? EvoEval: Evolving Coding Benchmarks via LLM. COLM 2024. arXiv:2403.19114"
)

SUBSETS = ("difficult", "creative", "subtle", "combine", "tool_use", "verbose", "concise")

REFERENCE_FAILS = frozenset(
    (subset, task) for subset in ("verbose", "concise") for task in ("HumanEval/32", "HumanEval/130")
)
"""§3: the reference solution fails the official evaluator."""


def items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items from one file a subset (`EvoEval_subtle.jsonl.gz`); rows: task_id, prompt, entry_point.

    Task ids repeat across subsets, so the subset is part of the id (`subtle-12`).
    """
    made = [_item(benchmark, row, _subset(row.file)) for row in rows(files)]
    kept = [(item, None) for item in made if (item.group, item.task) not in REFERENCE_FAILS]
    excluded = [
        Exclusion(item.id, "reference-fails") for item in made if (item.group, item.task) in REFERENCE_FAILS
    ]
    return collect(kept, excluded)


def _subset(file: SourceFile) -> str:
    subset = stem(file).removeprefix("EvoEval_")
    if subset not in SUBSETS:
        raise SourceError(f"{file.name}: found the subset {subset!r}, expected one of {', '.join(SUBSETS)}")
    return subset


def _item(benchmark: str, row: Row, subset: str) -> Item:
    task, prompt, name = row.text("task_id"), row.text("prompt"), row.text("entry_point")
    head = re.search(rf"(?m)^def {re.escape(name)}\b", prompt)
    if head is None:
        raise row.wrong(
            f"a prompt without {f'def {name[:60]}'!r}", "the head of the function that is asked for"
        )
    return Item(
        benchmark=benchmark,
        id=clean_id(f"{subset}-{task.rpartition('/')[2]}"),
        answer_type=ANSWER_TYPE,
        question=prompt,
        gold=None,
        function=name,
        # §7: the task's own imports and helpers run before the extracted code.
        preamble=prompt[: head.start()],
        # As the official ground truth joins them: many solutions lack the line break they start with.
        reference=f"{prompt}\n{row.text('canonical_solution')}".strip("\n"),
        dataset=_dataset(benchmark, subset),
        task=task,
        group=subset,
        source=row.where,
    )


def _dataset(benchmark: str, subset: str) -> str:
    """The evaluators' name for a subset: `evoeval-subtle`, and `evoeval-subtle-mini` for `evoeval-mini`."""
    if benchmark.startswith("evoeval"):
        return f"evoeval-{subset}{benchmark.removeprefix('evoeval')}"
    return f"evoeval-{subset}-{benchmark}"
