"""What became of each benchmark test: counted, and shown without dots and tracebacks."""

from collections.abc import Generator
from typing import Any

import pytest

from nanolm.plugin.collected import Collected
from nanolm.plugin.protocol import STATUS
from nanolm.plugin.recorded import ref_of


class Outcomes:
    """A plugin beside `BenchmarkSession`. `is_worker`: one of pytest-xdist's, whose controller counts."""

    def __init__(self, config: pytest.Config, collected: Collected, *, is_worker: bool) -> None:
        self.config, self.collected, self.is_worker = config, collected, is_worker
        self._counted: pytest.TestReport | None = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, None]:
        """The ordinary way: the report says what was measured, as in one go."""
        outcome = yield
        if ref_of(item) is not None:
            report = outcome.get_result()
            properties = dict(report.user_properties)
            reasons = str(properties.get("reason", "missing"))
            valid = bool(properties) and "missing" not in reasons and "error" not in reasons
            right = properties.get("right") == properties.get("samples")
            setattr(report, STATUS, "invalid" if not valid else "right" if right else "wrong")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        """Count the result; in a worker, the controller does."""
        yield
        if not self.is_worker and hasattr(report, STATUS) and report.when == "call":
            self.collected.add(report, getattr(report, STATUS))
            self._counted_only(report)

    def _counted_only(self, report: pytest.TestReport) -> None:
        """pytest keeps each report to count them at the end: one stands for all, where none is shown."""
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or getattr(report, STATUS) == "invalid" or "P" in reporter.reportchars.upper():
            return
        kept = reporter.stats.get("passed" if getattr(report, STATUS) == "right" else "wrong")
        if kept and kept[-1] is report:
            kept[-1] = self._counted = self._counted or report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport, config: pytest.Config
    ) -> tuple[str, str, str] | None:
        """No dots, and a wrong answer is a measurement, not a failure to print at length."""
        status = getattr(report, STATUS, None)
        if status is None or report.when != "call":
            return None if status is None else ("", "", "")
        loud = config.getoption("verbose") > 0
        if status == "invalid":
            return "not measured", "", "NOT MEASURED" if loud else ""
        category = "passed" if status == "right" else "wrong"
        return category, "", category.upper() if loud else ""
