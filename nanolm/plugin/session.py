"""A pytest session with benchmark tests: who answers, which items are judged, where results go.

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
from nanolm.engines import Engine, open_engine
from nanolm.entries import Entry, summary
from nanolm.errors import NanoLMError, UsageError
from nanolm.plugin import options
from nanolm.plugin.checker import Checking, connect_checking, open_checking
from nanolm.plugin.collected import Collected
from nanolm.plugin.finish import Finish
from nanolm.plugin.judging import Desk
from nanolm.plugin.leaving import Leaving
from nanolm.plugin.protocol import Runner
from nanolm.plugin.recorded import Recorded, Ref, ref_of
from nanolm.plugin.signals import Signals
from nanolm.records import Record, adopt
from nanolm.reports.progress import Progress
from nanolm.reports.run_folder import record_folder
from nanolm.run import Followed, Run, Selection, Suite, state
from nanolm.verdicts import cache as caches
from nanolm.verdicts import parts, versions
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.parts import Part


class BenchmarkSession:
    """Registered when benchmark tests are asked for. Raises `NanoLMError` for wrong options."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        option = config.getoption
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.controller = self.worker is None and bool(option("tx", None)) and option("dist", "no") != "no"
        self.only_collects = bool(option("collectonly", False))
        options.check(config)
        self.mode = option("record_mode")
        reports = Path(option("reports_dir"))
        reports = reports if reports.is_absolute() else config.invocation_params.dir / reports
        self.edition = editions.load(option("edition"))
        if option("items"):
            file = config.invocation_params.dir / Path(option("items")).expanduser()
            self.edition = editions.with_items(self.edition, file, reports)
        self.suite = Suite(self.edition, option("limit"))
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
        self._judge: Judge | None = None
        self.signals: Signals | None = None
        self.leaving: Leaving | None = None
        self._part: Part | None = None
        self._followed: Followed | None = None
        if self.entry is not None and self.worker is None and not self.only_collects:
            self.finish = Finish(config, self.suite, self.entry, self.folder, self.collected)
            recorded = record_folder(self.folder, self.edition) if self.mode != "all" else None
            options.check_engine(config, self.entry, self.edition, recorded)
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
        run = self.run = Run(self.suite, self.entry, record, self._engine, mode=self.mode, name=self.name)
        self.leaving = Leaving(lambda: run.busy)
        self.config.add_cleanup(self.close)  # also when collecting fails

    def _engine(self) -> Engine:
        assert self.entry is not None
        return open_engine(
            self.entry,
            self.edition,
            name=self.config.getoption("engine"),
            folder=self.folder,
            items_of=self.suite.items,
            replay_from=options.replayed(self.config),
            replicas=self.config.getoption("replicas"),
        )

    def pytest_report_header(self) -> list[str]:
        """What was derived for a model without an entry file."""
        return summary.lines(self.entry) if self.entry is not None else []

    # what is asked for

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Now it is known which items are asked for, unless collecting failed: then pytest says so."""
        if self.controller or self.entry is None or self.only_collects:
            return
        if session.testsfailed and not self.config.getoption("continue_on_collection_errors"):
            return
        refs = [ref for item in session.items if (ref := ref_of(item)) is not None]
        if not refs:
            return
        if self.run is not None:
            self.start(refs)
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

    def start(self, refs: list[Ref]) -> None:
        """Single process or controller: generate."""
        assert self.run is not None
        assert self.entry is not None
        selection = self.suite.in_order(refs)
        kinds = {self.edition.benchmarks[slug].answer_type for slug in selection}
        try:
            if "math_expression" in kinds:
                versions.require(self.edition.extractors)
            self.run.prepare(selection)
            if self.run.missing and self.mode != "none":
                options.require_engine(self.config, self.entry, self.edition)
            self.collected.selection = selection  # a run that is refused leaves all files as they are
            self.progress = Progress(self.config, self.run)
            if not self.controller:
                self.checking = open_checking(self.suite, self.code_of(selection))
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
            pytest.exit(f"nanolm: {error}", returncode=4 if isinstance(error, UsageError) else 1)

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
        if not self.code_of(selection):
            self.checking.why_not = ""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.checking.why_not and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"Code is not run: {self.checking.why_not}", yellow=True)

    def code_of(self, slugs: Iterable[str]) -> list[str]:
        """Those that are answered with programs."""
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
        ref = ref_of(item)
        assert ref is not None
        self.runner.run(item, Recorded(self.desk, ref))
        return True

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Signals are taken once a run can be ended in good order."""
        if self.run is not None:
            self.signals = Signals(trace=bool(self.config.getoption("fulltrace", False)))
            self.config.add_cleanup(self.signals.restore)  # after the summary

    # the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Before pytest-xdist waits for its workers: they wait for outputs as long as there may be more."""
        if self.run is not None:
            self.run.stop()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        """Last of all, and also where another plugin fails at its own end."""
        if self.signals is not None:
            self.signals.ending()
        try:
            yield
        finally:
            self._end(session, exitstatus)

    def _end(self, session: pytest.Session, exitstatus: int) -> None:
        """Scores, files, exit status."""
        if self.leaving is not None:
            self.leaving.status = lambda: int(session.exitstatus)
        if self.progress is not None:
            self.progress.stop()
        if self._part is not None:
            self._part.close()
            self.say_of_the_part(self._part.error)
        if self.worker is not None:
            output: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            output["nanolm_without_data"] = self.collected.without_data
            output["nanolm_part_error"] = self._part.error if self._part is not None else ""
        if self.run is not None and self.finish is not None and self.collected.selection:
            interrupted = exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
            if interrupted or session.shouldstop or session.shouldfail:
                self.run.stop()
            session.exitstatus = self.finish.end(self.run, session, int(exitstatus), self.checking)
        else:
            if self.run is not None:
                parts.remove(self.folder)
            if self.finish is not None and self.collected.without_data:  # nothing that was asked for has data
                self.finish.problems += [f"{s}: {why}" for s, why in self.collected.without_data.items()]
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.close()

    def say_of_the_part(self, error: str) -> None:
        """Verdicts that could not be written (the disk is full) make the run invalid; each reason once."""
        problem = f"writing the verdicts failed: {error}"
        if error and self.finish is not None and problem not in self.finish.problems:
            self.finish.problems.append(problem)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table, what was missing, and where the files are."""
        if self.finish is None:
            return
        if self.collected.selection:
            self.finish.show(terminalreporter)
        else:
            for problem in self.finish.problems:
                terminalreporter.write_line(f"Not valid: {problem}", red=True)

    def close(self) -> None:
        """Let go of everything; may be called twice."""
        if self.run is not None:
            self.run.close()
            state.remove(self.folder)
            if self.leaving is not None and not self.run.busy:
                self.leaving.forget()
        if self._followed is not None:
            self._followed.close()
        if self._judge is not None:
            self._judge.close()
            self._judge = None
        if self._part is not None:
            self._part.close()
        self.checking.close()
