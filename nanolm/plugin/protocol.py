"""Running a benchmark test in one go: the function is called with its fixtures' values, then reported.

pytest's own way takes three phases and some fifty hook calls a test, and a failing assertion some
eleven milliseconds for its traceback: too much for tens of thousands of items. Anything that needs
the ordinary way (other fixtures, `--pdb`, `--setup-show`) goes the ordinary way.
"""

from collections.abc import Callable, Mapping
from time import perf_counter, time
from typing import Any

import pytest
from _pytest.outcomes import Exit, OutcomeException

STATUS = "nanolm"
"""Attribute of a report: `right`, `wrong` (measured) or `invalid` (nothing was measured)."""

_ORDINARY = ("usepdb", "trace", "setuponly", "setupshow", "setupplan")


class Runner:
    """`values` gives what each fixture name stands for, from the test's parameter."""

    def __init__(self, config: pytest.Config, values: Mapping[str, Callable[[Any], Any]]) -> None:
        self._values = values
        self._known = frozenset(values) | {"request", "pytestconfig"}
        self._ordinary = any(config.getoption(name, False) for name in _ORDINARY)
        # a second report an item takes a kilobyte; pytest's own JUnit writer reads properties from it only
        own_xml = bool(config.getoption("xmlpath", None))
        self._phases: tuple[Any, ...] = ("call", "teardown") if own_xml else ("call",)
        self._can: dict[Any, bool] = {}
        self._lines: dict[Any, tuple[str, int | None]] = {}

    def can(self, item: pytest.Item) -> bool:
        """Whether the test needs nothing but what is known here."""
        if self._ordinary or not isinstance(item, pytest.Function):
            return False
        function = item.function
        known = self._can.get(function)
        if known is None:
            names = item._fixtureinfo.names_closure
            known = self._can[function] = "recorded" in names and self._known.issuperset(names)
        return known

    def run(self, item: pytest.Function, state: Any) -> None:
        """Call the test and log its reports."""
        values = self._values
        arguments = {name: values[name](state) for name in item._fixtureinfo.argnames}
        start, clock = time(), perf_counter()
        outcome: Any = "passed"
        longrepr: Any = None
        try:
            item.function(**arguments)
        except Exit:
            raise
        except OutcomeException as problem:
            skipped = isinstance(problem, pytest.skip.Exception)
            outcome, longrepr = ("skipped" if skipped else "failed"), str(problem.msg)
        except Exception:
            outcome = "failed"
            longrepr = item.repr_failure(pytest.ExceptionInfo.from_current())
        duration = perf_counter() - clock
        location = self._location(item)
        result = state.result
        properties = result.properties if result is not None else []
        status = "invalid"
        if result is not None and result.valid:
            status = "right" if outcome == "passed" else "wrong"
        log = item.ihook.pytest_runtest_logreport
        for when in self._phases:
            called = when == "call"
            if outcome == "skipped" and called and isinstance(longrepr, str):
                longrepr = (location[0], location[1] or 0, longrepr)
            report = pytest.TestReport(
                nodeid=getattr(item, "id", item.nodeid),  # the parsed id is shared, not parsed again
                location=location,
                keywords={},
                outcome=outcome if called else "passed",
                longrepr=longrepr if called else None,
                when=when,
                duration=duration if called else 0.0,
                start=start,
                stop=start + duration,
                user_properties=properties,
            )
            setattr(report, STATUS, status)
            log(report=report)

    def _location(self, item: pytest.Function) -> tuple[str, int | None, str]:
        """`item.location`, worked out once a function."""
        found = self._lines.get(item.function)
        if found is None:
            path, line, _ = item.location
            found = self._lines[item.function] = (path, line)
        return (*found, item.name)
