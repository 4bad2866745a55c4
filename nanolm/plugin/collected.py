"""The results of a session's tests, by item: what scores and reports are made from."""

import re

import msgspec
import numpy as np
import pytest

from nanolm.plugin.judging import Properties
from nanolm.run import Selection, Suite
from nanolm.scoring import BenchmarkResult

_REASON = re.compile(r"(\w+)=(\d+)")


class Row(msgspec.Struct):
    """A test's result as its report brought it."""

    nodeid: str
    status: str
    seconds: float
    text: str
    properties: Properties
    """In the order of `ItemResult.properties`."""


class Collected:
    """The results of a session, by item."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.selection: Selection = {}
        self.rows: dict[tuple[str, str], Row] = {}
        self.invalid: list[Row] = []
        self.without_data: dict[str, str] = {}
        """Benchmarks that could not be run for want of data, and what to do."""

    def add(self, report: pytest.TestReport, status: str) -> None:
        """Keep a report's numbers; the report itself is not kept."""
        text = report.longrepr if isinstance(report.longrepr, str) else str(report.longrepr or "")
        row = Row(report.nodeid, status, report.duration, text, Properties(report.user_properties))
        if status == "invalid":
            self.invalid.append(row)
        if row.properties:
            self.rows[str(row.properties[0][1]), str(row.properties[1][1])] = row

    def count(self, status: str) -> int:
        """How many items have it."""
        return sum(row.status == status for row in self.rows.values())

    def result(self, slug: str, samples: int) -> BenchmarkResult | None:
        """One benchmark's counts, in the edition's order of items; None when nothing of it was run."""
        items = self.selection.get(slug, ())
        if not items:
            return None
        correct = np.zeros(len(items), dtype=np.uint8)
        reasons: dict[str, int] = {}
        seen = tokens = 0
        for place, item in enumerate(items):
            row = self.rows.get((slug, item))
            if row is None:
                reasons["missing"] = reasons.get("missing", 0) + samples
                continue
            properties = dict(row.properties)
            correct[place] = properties["right"]
            tokens += properties["output_tokens"]
            seen += samples
            for reason, count in _REASON.findall(properties["reason"]):
                reasons[reason] = reasons.get(reason, 0) + int(count)
                seen -= int(count) if reason == "missing" else 0
        chance, rule = self.suite.chance(slug)
        return BenchmarkResult(
            slug=slug,
            category=self.suite.edition.benchmarks[slug].category,
            chance=chance,
            chance_rule=rule,
            items=items,
            correct=correct,
            samples=samples,
            mean_output_tokens=tokens / seen if seen else 0.0,
            truncated_share=reasons.get("truncated", 0) / seen if seen else 0.0,
            reasons=dict(sorted(reasons.items())),
        )
