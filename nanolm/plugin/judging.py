"""From an item to its result: all its samples, as recorded, judged."""

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from sys import intern
from typing import Any, ClassVar

import msgspec

from nanolm.entries import Entry
from nanolm.records import Key, Record
from nanolm.run import Outputs, Suite
from nanolm.schema import Item, Output, Verdict
from nanolm.verdicts import file
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.parts import Part

_LATE = ("code", "math_expression")
_EXCERPT = 160
_ANSWER = 120


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one test says. Travels with its report as properties."""

    benchmark: str
    item: str
    samples: int
    right: int
    reasons: dict[str, int]
    """Samples that are not right, by reason; `missing` for one that is not recorded."""
    output_tokens: int
    text: str
    """One line on the first sample that is not right; empty when all are."""
    answer: str
    gold: str
    """Digest of the gold: what was expected, without giving it away."""

    @property
    def valid(self) -> bool:
        """False when an output is missing or the engine failed: nothing was measured (exit status 1)."""
        return not self.reasons.keys() & {"missing", "error"}

    @property
    def properties(self) -> list[tuple[str, object]]:
        """For `user_properties`, and so for the JUnit report."""
        reasons = " ".join(f"{reason}={count}" for reason, count in sorted(self.reasons.items()))
        return [
            ("benchmark", self.benchmark),
            ("item", self.item),
            ("samples", self.samples),
            ("right", self.right),
            ("score", self.right / self.samples),
            ("reason", reasons),
            ("answer", self.answer),
            ("gold", self.gold),
            ("output_tokens", self.output_tokens),
        ]


class Properties:
    """The properties of a report, kept for the end of the run in a third of the memory.

    Gives pairs of name and value in their order, as the report does.
    """

    __slots__ = ("_names", "_values")
    _known: ClassVar[dict[tuple[str, ...], tuple[str, ...]]] = {}

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        pairs = list(pairs)
        names = tuple(name for name, _ in pairs)
        self._names = self._known.setdefault(names, names)
        self._values = tuple(intern(value) if type(value) is str else value for _, value in pairs)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> tuple[str, Any]:
        return self._names[place], self._values[place]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return zip(self._names, self._values, strict=True)


class Desk:
    """Judges items of one run. Thread-safe where the engine's thread comes in (`look_ahead`)."""

    def __init__(
        self, suite: Suite, entry: Entry, outputs: Outputs, judge: Judge, folder: Path, part: Part
    ) -> None:
        self.suite, self.entry, self.outputs, self.judge, self.folder = suite, entry, outputs, judge, folder
        self.part = part
        self._late: dict[Key, None] = {}
        self._ahead: dict[Key, Future[Verdict]] = {}
        self._mutex = threading.Lock()

    def expect(self, wanted: list[tuple[str, str]]) -> None:
        """The items that will be asked for: math and code of theirs are judged as outputs come."""
        for slug, item in wanted:
            if self.suite.edition.benchmarks[slug].answer_type in _LATE:
                for sample in range(self.entry.samples):
                    self._late[slug, item, sample] = None

    def look_ahead(self, record: Record) -> None:
        """Hand recorded outputs that take long to the judge's workers."""
        if not self._late:
            return
        with self._mutex:
            ready = [key for key in self._late if record.has(key)]
            for key in ready:
                del self._late[key]
                output = record.get(*key)
                if output is not None:
                    item = self.suite.item(key[0], key[1])
                    self._ahead[key] = self.judge.submit(item, output)

    def arrived(self, output: Output) -> None:
        """As `look_ahead`, for one output that was recorded now."""
        key = (output.benchmark, output.item, output.sample)
        if key in self._late and output.finish_reason != "error":
            with self._mutex:
                if self._late.pop(key, True) is None:
                    item = self.suite.item(key[0], key[1])
                    self._ahead[key] = self.judge.submit(item, output)

    def result(self, slug: str, item_id: str) -> ItemResult:
        """Wait for the item's outputs and judge them."""
        item = self.suite.item(slug, item_id)
        right = tokens = 0
        reasons: dict[str, int] = {}
        text = answer = ""
        for sample in range(self.entry.samples):
            output = self.outputs.get(slug, item_id, sample)
            if isinstance(output, str):
                reasons["missing"] = reasons.get("missing", 0) + 1
                text = text or f"missing: sample {sample}: {output}"
                continue
            tokens += output.output_tokens
            verdict = self._verdict(item, output)
            self.part.add(file.line(output, verdict))
            answer = answer or _short(verdict.answer, _ANSWER)
            if verdict.correct:
                right += 1
                continue
            reason = verdict.reason or "wrong"
            reasons[reason] = reasons.get(reason, 0) + 1
            text = text or self._text(item, output, verdict)
        return ItemResult(
            benchmark=slug,
            item=item_id,
            samples=self.entry.samples,
            right=right,
            reasons=reasons,
            output_tokens=tokens,
            text=text,
            answer=answer,
            gold=_digest(item.gold),
        )

    def _verdict(self, item: Item, output: Output) -> Verdict:
        if self._ahead:
            with self._mutex:
                ahead = self._ahead.pop((output.benchmark, output.item, output.sample), None)
            if ahead is not None:
                return ahead.result()
        return self.judge.verdict(item, output)

    def _text(self, item: Item, output: Output, verdict: Verdict) -> str:
        if verdict.reason == "error":  # not measured: why, whole, and what to do about it
            return f"error: {_short(verdict.detail, 280)}; {self._where(item, output)}"
        read = "nothing" if verdict.answer is None else repr(_short(verdict.answer, 60))
        if item.answer_type == "code":
            read, expected = "a program", "one that passes every test"
        else:
            expected = repr(_short(item.gold, 60))
        parts = [f"{verdict.reason}: read {read}, expected {expected}"]
        if verdict.detail:
            parts.append(_short(verdict.detail, 120))
        if output.text:
            parts.append(f"reply “{_excerpt(output.text)}”")
        return "; ".join([*parts, self._where(item, output)])

    def _where(self, item: Item, output: Output) -> str:
        return (
            f"the whole reply: {self.folder / 'outputs.jsonl'} ({item.benchmark}, item {item.id}, sample "
            f"{output.sample}), the verdict: verdicts.jsonl beside it"
        )


def _short(value: Any, length: int) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text[: 2 * length].split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _excerpt(text: str) -> str:
    """The end of a reply, where the answer stands, on one line."""
    tail = " ".join(text[-2 * _EXCERPT :].split())
    return tail if len(text) <= _EXCERPT else "…" + tail[-_EXCERPT:]


def _digest(gold: Any) -> str:
    text = gold if isinstance(gold, str) else json.dumps(gold, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
