"""`details.json`: one entry's every question, and what its replies come to by benchmark and group.

Written for editions that ask for it (`details = true`): suites whose benchmarks are formats of the same
questions, reported side by side.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from nanolm import answers
from nanolm.entries.entry import Entry
from nanolm.run import Suite
from nanolm.schema import FinishReason, Item, Output, Reason, Verdict
from nanolm.scoring import BenchmarkResult, raw_interval
from nanolm.scoring.score import skill
from nanolm.verdicts.file import VerdictLine

FILE = "details.json"
Judged = tuple[Output, Verdict]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One reply: what was asked, written, read and right."""

    id: str
    category: str
    """The item's group."""
    question: str
    choices: tuple[str, ...]
    expected: Any
    predicted: Any
    """None when nothing could be read."""
    correct: bool
    step: str
    """The rule of the answer type that decided."""
    reason: Reason | None
    raw_response: str
    """As it was written, special tokens kept."""
    finish_reason: FinishReason
    output_tokens: int
    sample: int


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The replies of a category, or those that one step decided."""

    total: int
    correct: int
    accuracy: float
    """`correct / total`, 0 to 1; 0 of none."""


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark of the edition. Accuracies are from 0 to 1, and of replies."""

    title: str
    questions: int
    total: int
    """Replies: questions times samples."""
    answered: int
    """Replies that an answer could be read from."""
    correct: int
    parse_errors: int
    """Replies without an answer: wrong, and counted apart from wrong answers."""
    wrong_answers: int
    accuracy: float
    low: float
    high: float
    """Bounds of the 95% bootstrap interval of `accuracy`, over questions."""
    accuracy_parsed_only: float
    """`correct / answered`; 0 when nothing was answered."""
    chance: float
    skill: float
    """`accuracy` corrected for chance (§8)."""
    elapsed_seconds: float
    """From the first reply's start to the last one's end."""
    answer_positions: dict[str, int]
    """How often each answer is the right one among the questions."""
    by_category: dict[str, Part]
    """In the order of the items."""
    steps: dict[str, Part]
    """By the rules of the answer type, in their order; all rules are named."""
    details: tuple[Question, ...]


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `details.json`."""

    model: str
    """The entry's name."""
    title: str
    mode: str
    params: int
    edition: str
    edition_digest: str
    custom_of: str | None
    """The edition that asked, when the questions are somebody's own."""
    complete: bool
    engine: dict[str, str]
    formats: dict[str, Format]
    """By benchmark slug, in the edition's order; those that were run."""


def judged(outputs: Iterable[Output], lines: Iterable[VerdictLine]) -> Iterator[Judged]:
    """Each output that has a verdict, with it."""
    verdicts = {line.key: line.verdict for line in lines}
    for output in outputs:
        verdict = verdicts.get((output.benchmark, output.item, output.sample))
        if verdict is not None:
            yield output, verdict


def build(suite: Suite, entry: Entry, judged: Iterable[Judged], *, complete: bool) -> Details:
    """From outputs and their verdicts, in any order; outputs of items that the edition lacks are an error."""
    by_benchmark: dict[str, dict[tuple[str, int], Judged]] = {}
    engine = {"name": "", "version": ""}
    for output, verdict in judged:
        by_benchmark.setdefault(output.benchmark, {})[output.item, output.sample] = output, verdict
        engine = {"name": output.engine, "version": output.engine_version}
    edition = suite.edition
    return Details(
        model=entry.name,
        title=entry.title,
        mode=entry.mode,
        params=entry.parameters,
        edition=edition.name,
        edition_digest=edition.digest,
        custom_of=edition.custom_of,
        complete=complete,
        engine=engine,
        formats={
            slug: _format(suite, slug, by_benchmark[slug], entry.samples)
            for slug in edition.benchmarks
            if slug in by_benchmark
        },
    )


def _format(suite: Suite, slug: str, judged: Mapping[tuple[str, int], Judged], samples: int) -> Format:
    spec = suite.edition.benchmarks[slug]
    asked = {item for item, _ in judged}
    items = [item for item in suite.items(slug) if item.id in asked]
    questions = tuple(
        _question(item, *judged[item.id, sample])
        for item, sample in itertools.product(items, range(samples))
        if (item.id, sample) in judged
    )
    outputs = [output for output, _ in judged.values()]
    correct = sum(question.correct for question in questions)
    errors = sum(question.reason == "unparseable" for question in questions)
    result = _result(suite, slug, items, questions, samples)
    interval = raw_interval(result)
    accuracy = correct / len(questions)
    golds = [str(item.gold) for item in items]
    return Format(
        title=spec.title,
        questions=len(items),
        total=len(questions),
        answered=len(questions) - errors,
        correct=correct,
        parse_errors=errors,
        wrong_answers=len(questions) - correct - errors,
        accuracy=accuracy,
        low=interval.low or 0.0,
        high=interval.high or 0.0,
        accuracy_parsed_only=correct / (len(questions) - errors) if errors < len(questions) else 0.0,
        chance=result.chance,
        skill=skill(accuracy, result.chance),
        elapsed_seconds=round(max(o.started + o.seconds for o in outputs) - min(o.started for o in outputs), 2),
        answer_positions={gold: golds.count(gold) for gold in sorted(set(golds))},
        by_category={
            category: _part(question for question in questions if question.category == category)
            for category in dict.fromkeys(item.group for item in items)
        },
        steps={
            rule: _part(question for question in questions if question.step == rule)
            for rule in dict.fromkeys([*answers.get(spec.answer_type).RULES, *(q.step for q in questions)])
        },
        details=questions,
    )


def _question(item: Item, output: Output, verdict: Verdict) -> Question:
    return Question(
        id=item.id,
        category=item.group,
        question=item.question,
        choices=item.options,
        expected=item.gold,
        predicted=verdict.answer,
        correct=verdict.correct,
        step=verdict.rule,
        reason=verdict.reason,
        raw_response=output.text,
        finish_reason=output.finish_reason,
        output_tokens=output.output_tokens,
        sample=output.sample,
    )


def _part(questions: Iterable[Question]) -> Part:
    right = [question.correct for question in questions]
    return Part(total=len(right), correct=sum(right), accuracy=sum(right) / len(right) if right else 0.0)


def _result(
    suite: Suite, slug: str, items: Sequence[Item], questions: Sequence[Question], samples: int
) -> BenchmarkResult:
    chance, rule = suite.chance(slug)
    right = {item.id: 0 for item in items}
    for question in questions:
        right[question.id] += question.correct
    return BenchmarkResult(
        slug=slug,
        category=suite.edition.benchmarks[slug].category,
        chance=chance,
        chance_rule=rule,
        items=tuple(right),
        correct=np.array(list(right.values()), dtype=np.uint8),
        samples=samples,
    )
