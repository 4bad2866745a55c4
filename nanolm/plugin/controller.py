"""The controller of pytest-xdist: it holds record and engine and collects no tests itself."""

from typing import Any

import msgspec
import pytest

from nanolm.plugin.checker import Checking, open_checking
from nanolm.plugin.distribute import ShareNumbers, Shares
from nanolm.plugin.recorded import Ref
from nanolm.plugin.session import BenchmarkSession


class Controller:
    """A plugin beside the controller's `BenchmarkSession`."""

    def __init__(self, session: BenchmarkSession) -> None:
        self.session = session
        self.shares = ShareNumbers(len(session.config.getoption("tx")))
        self._pytest: pytest.Session | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker its share and which run it belongs to."""
        node.workerinput["nanolm_share"] = self.shares.give(node.gateway.id)
        node.workerinput["nanolm_run"] = self.session.name
        if self.session.entry is not None:
            node.workerinput["nanolm_entry"] = msgspec.json.encode(self.session.entry)
        checking = self._checking()
        node.workerinput["nanolm_checking"] = checking.address
        node.workerinput["nanolm_no_checking"] = checking.why_not

    def _checking(self) -> Checking:
        """The evaluators, opened for the first worker and shared with all."""
        session = self.session
        if session.run is not None and session.checking.checker is None and not session.checking.why_not:
            session.checking = open_checking(session.suite, session.code_of(session.edition.benchmarks))
        return session.checking

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """What a worker could not do is the run's; one that died leaves its share to the one in its place."""
        output = getattr(node, "workeroutput", {})
        self.session.collected.without_data |= output.get("nanolm_without_data", {})
        self.session.say_of_the_part(output.get("nanolm_part_error", ""))
        if error:
            self.shares.take_back(node.gateway.id)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Each worker its own share."""
        return Shares(config, log, self._all_collected)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Kept: the controller's session hears of one worker's tests only."""
        self._pytest = session

    def _all_collected(self, tests: list[str]) -> None:
        if self._pytest is not None:
            self._pytest.testscollected = len(tests)
        refs = [ref for test in tests if (ref := self._ref_of(test)) is not None]
        if refs and self.session.run is not None:
            self.session.start(refs)

    def _ref_of(self, test: str) -> Ref | None:
        """From a test id to its parameter: the controller collects nothing itself."""
        function, bracket, name = test.rpartition("::")[2].partition("[")
        if not bracket:
            return None
        name = name[:-1]
        for spec in self.session.suite.of_module(function.removeprefix("test_")):
            slug, colon, item = name.partition(":")
            if not colon:
                return spec.slug, name
            if slug == spec.slug:
                return slug, item
        return None
