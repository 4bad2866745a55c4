"""The end of a run: results to scores, files, the summary and the exit status."""

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

from nanolm.editions import load_ids
from nanolm.entries import Entry
from nanolm.errors import NanoLMError, SourceError
from nanolm.plugin import gate
from nanolm.plugin.checker import Checking
from nanolm.plugin.collected import Collected
from nanolm.records import provenance
from nanolm.reports import details, junit, publishable, score_file, summary, terminal
from nanolm.run import Run, Suite
from nanolm.schema import EntryScore
from nanolm.scoring import entry_score, score_entry
from nanolm.verdicts import file as verdict_file
from nanolm.verdicts import parts


class Finish:
    """Writes `score.json`, `run.json` and `junit.xml` (a part beside the whole), and says how it went."""

    def __init__(
        self, config: pytest.Config, suite: Suite, entry: Entry, folder: Path, collected: Collected
    ) -> None:
        self.config, self.suite, self.entry, self.folder = config, suite, entry, folder
        self.collected = collected
        edition = suite.edition
        expression = config.getoption("gate")
        self.gate = (
            gate.conditions(expression, list(edition.benchmarks), [c.slug for c in edition.categories])
            if expression
            else []
        )
        self.started = provenance.now()
        self.record_from = ""
        """The folder of a parent edition's record that this run carried over; empty for none."""
        self.score: EntryScore | None = None
        self.details: details.Details | None = None
        self.files: list[Path] = []
        self.checking = Checking()
        self.problems: list[str] = []
        """Why the run is not valid; the exit status is then not 0."""
        self.missed: list[str] = []
        """Conditions of `--gate` that are not met; the exit status is then not 0."""
        self.advice = ""

    def end(self, run: Run, session: pytest.Session, exitstatus: int, checking: Checking) -> int:
        """Everything that is written; gives the exit status (docs/architecture.md, public contract).

        `checking`: whether and how well code was run.
        """
        self.checking = checking
        collected = self.collected
        whole = self.suite.is_whole(collected.selection)
        measured = len(collected.rows) == sum(len(items) for items in collected.selection.values())
        valid = measured and not collected.invalid
        if not measured:
            left = sum(len(items) for items in collected.selection.values()) - len(collected.rows)
            recorded = sum(run.record.has(key) for key in run.keys)
            were = terminal.items_were(left + len(collected.rows), left)
            self.problems.append(
                f"ended early: {left:,} of {were} not judged;"
                f" {recorded:,} of {run.total:,} outputs are recorded"
            )
        if collected.invalid:
            were = terminal.items_were(len(collected.invalid))
            self.problems.append(f"{were} not measured: {collected.invalid[0].text[:300]}")
        if run.error and measured and not collected.invalid:
            self.problems.append(run.error)
        self.problems += [f"{slug}: {why}" for slug, why in collected.without_data.items()]
        because = self._not_publishable(whole, valid, run)
        try:
            # a run that ended early has no score: what it did not get to is not wrong
            self.score = self._score(run, whole and valid, because) if measured else None
            if self.score is not None:
                self.missed = [p for condition in self.gate if (p := condition.problem(self.score))]
                self.files.append(score_file.write(self.folder, self.score))
            self.files.append(self._gather_verdicts(run))
            if self.score is not None and self.suite.edition.details:
                self._write_details(run, self.files[-1], whole and valid)
            # before run.json: it says whether a complete run is there
            part = provenance.place(self.folder, whole and valid, self.suite.edition, self.entry)
            self._write_junit("junit.xml" if part == provenance.FILE else "junit.partial.xml")
            self._write_run(run, whole, valid, because)
            if whole and valid and run.record.compress():
                self.files.append(run.record.compressed)
        except (NanoLMError, OSError) as error:
            self.problems.append(f"writing the reports failed: {error}")
        self.advice = terminal.advice(run, stopped=bool(session.shouldfail), code_not_run=checking.why_not)
        others = session.testsfailed - collected.count("wrong") - len(collected.invalid)
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return int(bool(self.problems or self.missed) or others > 0)
        return exitstatus

    def _score(self, run: Run, complete: bool, because: list[str]) -> EntryScore | None:
        results = {
            slug: result
            for slug in self.suite.edition.benchmarks
            if (result := self.collected.result(slug, self.entry.samples)) is not None
        }
        if not results:
            return None
        shown = complete or self.suite.edition.headline == "raw"
        scores = score_entry(self.suite.edition, results, intervals=shown)
        return entry_score(
            self.suite.edition,
            self.entry,
            scores,
            complete=complete,
            engine=self._engine(run),
            not_publishable_because=because,
        )

    def _engine(self, run: Run) -> dict[str, str]:
        """Of the recorded outputs: a run that generates nothing had its engine another time."""
        for output in run.record.outputs():
            return {"name": output.engine, "version": output.engine_version}
        return {"name": "", "version": ""}

    def _not_publishable(self, whole: bool, valid: bool, run: Run) -> list[str]:
        because = publishable.reasons(
            self.suite.edition, self.entry, self._engine(run), code_marks=self.checking.marks
        )
        if not whole:
            because.append("partial: not every item of the edition was run")
        if not valid:
            because.append("incomplete: outputs are missing or the engine failed")
        if self.checking.why_not:
            because.append(
                "code was not run: there are no working evaluators here (nanolm evaluators install)"
            )
        return because

    def _write_run(self, run: Run, whole: bool, valid: bool, because: list[str]) -> None:
        engine = run.engine
        self.files.append(
            provenance.write(
                self.folder,
                edition=self.suite.edition,
                entry=self.entry,
                started=self.started,
                carried_from=Path(self.record_from) if self.record_from else None,
                command=[Path(sys.argv[0]).name, *self.config.invocation_params.args],
                run={
                    "record_mode": run.mode,
                    "limit": self.suite.limit,
                    "partial": not whole,
                    "complete": whole and valid,
                    "publishable": whole and valid and not because,
                    "not_publishable_because": because,
                    "problems": [*self.problems, *(f"gate not met: {one}" for one in self.missed)],
                    "code_not_run_because": self.checking.why_not,
                    "outputs": run.total,
                    "generated": sum(map(run.record.has, run.missing)),
                    "engine_errors": run.engine_errors,
                    "record_from": self.record_from,
                    "engine": self._engine(run)
                    | {
                        "settings": getattr(engine, "settings", {}),
                        "restarts": getattr(engine, "restarts", []),
                    },
                },
            )
        )

    def _gather_verdicts(self, run: Run) -> Path:
        """Of every item that was judged; where a part of the edition was run, the others' stay."""
        order = []
        for slug in self.suite.edition.benchmarks:
            with contextlib.suppress(SourceError):  # without its data nothing of it was judged
                order.append((slug, load_ids(self.suite.edition, slug)))
        return parts.gather(self.folder, order, run.record.has, keep=run.mode != "all")

    def _write_details(self, run: Run, verdicts: Path, complete: bool) -> None:
        """Of what this run was asked for, as its score."""
        asked = set(run.keys)
        lines = (line for line in verdict_file.read(verdicts) if line.key in asked)
        judged = details.judged(run.record.outputs(), lines)
        self.details = details.build(self.suite, self.entry, judged, complete=complete)
        assert self.score is not None
        if score_file.place(self.folder, self.score).name == score_file.FILE:
            self.files += summary.write(self.folder, self.details)

    def _write_junit(self, name: str) -> None:
        path = self.folder / name
        junit.write(
            path,
            f"{self.suite.edition.name} {self.entry.name}",
            self._cases(),
            {"edition": self.suite.edition.digest, "entry": self.entry.digest, "samples": self.entry.samples},
        )
        self.files.append(path)

    def _cases(self) -> Any:
        for slug, items in self.collected.selection.items():
            for item in items:
                row = self.collected.rows.get((slug, item))
                if row is None:
                    continue
                file, _, name = row.nodeid.partition("::")
                yield junit.Case(
                    classname=file.removesuffix(".py").replace("/", "."),
                    name=name,
                    seconds=row.seconds,
                    properties=dict(row.properties),
                    failure=row.text,
                    invalid=row.status == "invalid",
                )

    def show(self, reporter: Any) -> None:
        """The summary, after pytest's own."""
        if self.config.get_verbosity() < -1:
            return
        texts = [row.text for row in self.collected.rows.values() if row.status == "wrong"]
        terminal.show(
            reporter,
            suite=self.suite,
            entry=self.entry,
            score=self.score,
            details=self.details,
            folder=self.folder,
            files=self.files,
            problems=self.problems,
            missed=self.missed,
            advice=self.advice,
            texts=texts if len(self.collected.rows) <= terminal.FEW else [],
        )
