"""A pytest session with benchmark tests: which items, who answers, where results go.

The same plugin object works in three places: in a single process, in the controller of pytest-xdist
(which holds record and engine and collects no tests), and in its workers (which only judge).
"""

import uuid
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanolm import editions, entries
from nanolm.engines import NAMES as ENGINES
from nanolm.engines import Engine, open_engine
from nanolm.entries import Entry, summary
from nanolm.errors import NanoLMError, SourceError, UsageError, unknown
from nanolm.plugin.checker import Checking, connect_checking, open_checking
from nanolm.plugin.finish import Collected, Finish
from nanolm.plugin.judging import Desk, ItemResult
from nanolm.plugin.protocol import STATUS, Runner
from nanolm.plugin.signals import Signals
from nanolm.records import Record, adopt
from nanolm.reports.folders import record_folder
from nanolm.reports.progress import Progress
from nanolm.run import RECORD_MODES, Followed, Run, Selection, Suite, state
from nanolm.verdicts import cache as caches
from nanolm.verdicts import parts, versions
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.parts import Part

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


class BenchmarkSession:
    """Registered when benchmark tests are asked for. Raises `NanoLMError` for wrong options."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        option = config.getoption
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.controller = self.worker is None and bool(option("tx", None)) and option("dist", "no") != "no"
        self.only_collects = bool(option("collectonly", False))
        mode, limit = option("record_mode"), option("limit")
        if mode not in RECORD_MODES:
            raise unknown("record mode", mode, RECORD_MODES)
        if option("engine") not in ENGINES:
            raise unknown("engine", option("engine"), ENGINES)
        if limit is not None and limit < 1:
            raise UsageError(f"--limit={limit}: expected at least 1 item of each benchmark")
        self.mode = mode
        reports = Path(option("reports_dir"))
        reports = reports if reports.is_absolute() else config.invocation_params.dir / reports
        self.edition = editions.load(option("edition"))
        if option("items"):
            file = config.invocation_params.dir / Path(option("items")).expanduser()
            self.edition = editions.with_items(self.edition, file, reports)
        self.suite = Suite(self.edition, limit)
        self.entry: Entry | None = None
        if option("entry"):
            self.entry = self._resolve(option("entry"))
        name = self.entry.name if self.entry else "-"
        self.folder = reports / self.edition.name / name
        self.name = self.worker["nanolm_run"] if self.worker else uuid.uuid4().hex
        self.run: Run | None = None
        self.desk: Desk | None = None
        self.runner: Runner | None = None
        self.progress: Progress | None = None
        self.collected = Collected(self.suite)
        self.finish: Finish | None = None
        self.checking = Checking()
        self._session: pytest.Session | None = None
        self._judge: Judge | None = None
        self.signals: Signals | None = None
        self._counted: pytest.TestReport | None = None
        self._part: Part | None = None
        self._followed: Followed | None = None
        if self.controller:
            from nanolm.plugin.distribute import ShareNumbers

            self.shares = ShareNumbers(len(option("tx")))
        if self.entry is not None and self.worker is None and not self.only_collects:
            self.finish = Finish(config, self.suite, self.entry, self.folder, self.collected)
            self._open_run()

    def _resolve(self, reference: str) -> Entry:
        """Workers take the controller's entry: a model's files are read and hashed once."""
        if self.worker is not None and "nanolm_entry" in self.worker:
            return msgspec.json.decode(self.worker["nanolm_entry"], type=Entry)
        return entries.resolve(reference, self.edition)

    def _open_run(self) -> None:
        """The record is opened before anything else: a second run is refused at once."""
        assert self.entry is not None
        source = record_folder(self.folder, self.edition)
        adopted = source is not None and self.mode != "all" and adopt(source, self.folder)
        record = Record(self.folder, write=True, fresh=self.mode == "all")
        if self.finish is not None and adopted:
            self.finish.record_from = str(source)
        parts.remove(self.folder)
        state.write(self.folder, state.State(run=self.name))
        self.run = Run(self.suite, self.entry, record, self._engine, mode=self.mode, name=self.name)
        self.config.add_cleanup(self.close)  # also when collecting fails

    def _engine(self) -> Engine:
        assert self.entry is not None
        replay = self.config.getoption("replay_from")
        return open_engine(
            self.entry,
            self.edition,
            name=self.config.getoption("engine"),
            folder=self.folder,
            items_of=self.suite.items,
            replay_from=Path(replay) if replay else None,
            replicas=self.config.getoption("replicas"),
        )

    def pytest_report_header(self) -> list[str]:
        """What was derived for a model without an entry file."""
        return summary.lines(self.entry) if self.entry is not None else []

    # collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> list[Any] | None:
        """A benchmark that this edition does not have gives no test."""
        if name.startswith("test_") and _is_benchmark(obj) and not self.suite.of_module(name[5:]):
            return []
        return None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test an item, named by the item's id."""
        if "recorded" not in metafunc.fixturenames:
            return
        specs = self.suite.of_module(metafunc.function.__name__.removeprefix("test_"))
        refs: list[Ref] = []
        for spec in specs:
            try:
                refs += [(spec.slug, item) for item in self.suite.ids(spec.slug)]
            except SourceError as error:  # the others can be run; this one is told in the summary
                self.collected.without_data[spec.slug] = str(error)
            except NanoLMError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        # two benchmarks of one module in an edition: the ids say which is which
        ids = [item if len(specs) == 1 else f"{slug}:{item}" for slug, item in refs]
        metafunc.parametrize("item", refs, ids=ids, indirect=True)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Without the placeholders of benchmarks that have no data; a worker keeps its own share."""
        if self.collected.without_data:
            items[:] = [
                one for one in items if _ref(one) or "recorded" not in getattr(one, "fixturenames", ())
            ]
        if self.worker is not None and "nanolm_share" in self.worker:
            share, shares = self.worker["nanolm_share"]
            items[:] = items[share::shares]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Now it is known which items are asked for."""
        if self.controller or self.entry is None or self.only_collects:
            return
        refs = [ref for item in session.items if (ref := _ref(item)) is not None]
        if not refs:
            return
        if self.run is not None:
            self._start(refs)
        else:
            self._follow(refs)
        self.runner = Runner(
            self.config,
            {
                "item": lambda recorded: self.suite.item(*recorded.ref),
                "recorded": lambda recorded: recorded,
                "edition": lambda _: self.edition,
                "entry": lambda _: self.entry,
                "vllm_session": lambda _: self.run.engine if self.run else None,
                "sandbox": lambda _: self.checking.checker,
            },
        )

    def _start(self, refs: list[Ref]) -> None:
        """Single process or controller: generate."""
        assert self.run is not None
        assert self.entry is not None
        selection = self.suite.in_order(refs)
        self.collected.selection = selection
        kinds = {self.edition.benchmarks[slug].answer_type for slug in selection}
        try:
            if "math_expression" in kinds:
                versions.require(self.edition.extractors)
            self.run.prepare(selection)
            self.progress = Progress(self.config, self.run)
            if not self.controller:
                self.checking = open_checking(self.suite, self._code(selection))
            self._say_whether_code_runs(selection)
            if not self.controller:
                self._open_desk(self.run)
                assert self.desk is not None
                self.desk.expect(refs)
                self.run.listeners.append(self.desk.arrived)
            self.run.listeners.append(self.progress.arrived)
            self.progress.start()
            self.run.start()
            if self.desk is not None:
                self.desk.look_ahead(self.run.record)
        except NanoLMError as error:
            self.run.stop()
            pytest.exit(f"nanolm: {error}", returncode=1)

    def _follow(self, refs: list[Ref]) -> None:
        """A worker: read the record along."""
        assert self.worker is not None
        self.checking = connect_checking(self.worker["nanolm_checking"], self.worker["nanolm_no_checking"])
        followed = self._followed = Followed(self.folder, self.name, self._news)
        self._open_desk(followed)
        assert self.desk is not None
        self.desk.expect(refs)

    def _say_whether_code_runs(self, selection: Selection) -> None:
        """Where programs are asked for and can't be run, says so before hours of generation."""
        if not self._code(selection):
            self.checking.why_not = ""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.checking.why_not and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"Code is not run: {self.checking.why_not}", yellow=True)

    def _code(self, slugs: Iterable[str]) -> list[str]:
        return [slug for slug in slugs if self.edition.benchmarks[slug].answer_type == "code"]

    def _news(self) -> None:
        if self.desk is not None and self._followed is not None:
            self.desk.look_ahead(self._followed.record)

    def _open_desk(self, outputs: Any) -> None:
        assert self.entry is not None
        workers = 1 if self.worker else None
        self._judge = Judge.of(
            self.entry,
            self.edition.extractors,
            strict=False,
            workers=workers,
            checker=self.checking.checker,
            why_no_checker=self.checking.why_not,
            cache=caches.place(),
        )
        self._part = Part(self.folder, self.worker["workerid"] if self.worker else "main")
        self.desk = Desk(self.suite, self.entry, outputs, self._judge, self.folder, self._part)

    # running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """In one go, where the test needs nothing else."""
        if self.runner is None or not self.runner.can(item):
            return None
        assert isinstance(item, pytest.Function)
        ref = _ref(item)
        assert ref is not None
        self.runner.run(item, Recorded(self.desk, ref))
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, None]:
        """The ordinary way: the report says what was measured, as in one go."""
        outcome = yield
        if _ref(item) is not None:
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
        if self.worker is None and hasattr(report, STATUS) and report.when == "call":
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

    # pytest-xdist

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker its share and which run it belongs to."""
        node.workerinput["nanolm_share"] = self.shares.give(node.gateway.id)
        node.workerinput["nanolm_run"] = self.name
        if self.entry is not None:
            node.workerinput["nanolm_entry"] = msgspec.json.encode(self.entry)
        if self.run is not None and self.checking.checker is None and not self.checking.why_not:
            self.checking = open_checking(self.suite, self._code(self.edition.benchmarks))
        node.workerinput["nanolm_checking"] = self.checking.address
        node.workerinput["nanolm_no_checking"] = self.checking.why_not

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """A worker that died leaves its share to the one in its place."""
        self.collected.without_data |= getattr(node, "workeroutput", {}).get("nanolm_without_data", {})
        if error:
            self.shares.take_back(node.gateway.id)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Each worker its own share."""
        from nanolm.plugin.distribute import Shares

        return Shares(config, log, self._all_collected)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """The session is kept for the controller, which hears of one worker's tests only."""
        self._session = session
        if self.run is not None:
            self.signals = Signals()

    def _all_collected(self, tests: list[str]) -> None:
        if self._session is not None:
            self._session.testscollected = len(tests)
        refs = [ref for test in tests if (ref := self._ref_of(test)) is not None]
        if refs and self.run is not None:
            self._start(refs)

    def _ref_of(self, test: str) -> Ref | None:
        """From a test id to its parameter: the controller collects nothing itself."""
        function, bracket, name = test.rpartition("::")[2].partition("[")
        if not bracket:
            return None
        name = name[:-1]
        for spec in self.suite.of_module(function.removeprefix("test_")):
            slug, colon, item = name.partition(":")
            if not colon:
                return spec.slug, name
            if slug == spec.slug:
                return slug, item
        return None

    # the end

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Scores, files, exit status."""
        if self.worker is not None:
            output: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            output["nanolm_without_data"] = self.collected.without_data
        if self.progress is not None:
            self.progress.stop()
        if self._part is not None:
            self._part.close()
        if self.run is not None and self.finish is not None and self.collected.selection:
            interrupted = exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
            if interrupted or session.shouldstop or session.shouldfail:
                self.run.stop()
            session.exitstatus = self.finish.end(self.run, session, int(exitstatus), self.checking)
        self.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table, what was missing, and where the files are."""
        if self.finish is not None and self.collected.selection:
            self.finish.show(terminalreporter)

    def close(self) -> None:
        """Let go of everything; may be called twice."""
        if self.run is not None:
            self.run.close()
            state.remove(self.folder)
        if self._followed is not None:
            self._followed.close()
        if self._judge is not None:
            self._judge.close()
            self._judge = None
        if self._part is not None:
            self._part.close()
        self.checking.close()
        if self.signals is not None:
            self.signals.restore()


def _is_benchmark(obj: Any) -> bool:
    code = getattr(obj, "__code__", None)
    return code is not None and "recorded" in code.co_varnames[: code.co_argcount]


def _ref(item: Any) -> Ref | None:
    """A benchmark test's parameter."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "recorded" not in item.fixturenames:
        return None
    found = callspec.params.get("item")
    return found if isinstance(found, tuple) else None
