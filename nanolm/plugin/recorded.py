"""What a benchmark test is made for and what it gets."""

from typing import Any

import pytest

from nanolm.plugin.judging import Desk, ItemResult

Ref = tuple[str, str]
"""A test's parameter: benchmark slug and item id."""


class Recorded:
    """What a benchmark test gets: its item's recorded outputs and their verdicts."""

    def __init__(self, desk: Desk | None, ref: Ref, node: Any = None) -> None:
        self._desk, self._ref, self._node = desk, ref, node
        self.result: ItemResult | None = None

    @property
    def ref(self) -> Ref:
        """The item the test was made for."""
        return self._ref

    def check(self) -> ItemResult:
        """Judge all samples of the item; the test fails, in one line, unless every sample is right."""
        assert self._desk is not None
        result = self.result = self._desk.result(*self._ref)
        if self._node is not None:
            self._node.user_properties[:] = result.properties
        if result.text:
            pytest.fail(result.text, pytrace=False)
        return result


def is_benchmark(obj: Any) -> bool:
    """Whether a test function is one of a benchmark: it takes the fixture `recorded`."""
    code = getattr(obj, "__code__", None)
    return code is not None and "recorded" in code.co_varnames[: code.co_argcount]


def ref_of(item: Any) -> Ref | None:
    """A benchmark test's parameter; None of any other test."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "recorded" not in item.fixturenames:
        return None
    found = callspec.params.get("item")
    return found if isinstance(found, tuple) else None
