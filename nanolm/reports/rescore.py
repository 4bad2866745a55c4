"""An entry's recorded outputs, judged and scored again without a model (§10)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.errors import RecordError
from nanolm.records import Record
from nanolm.reports import details, publishable, score_file, summary
from nanolm.run import Suite
from nanolm.schema import EntryScore, Output
from nanolm.scoring import BenchmarkResult, Tally, entry_score, score_entry
from nanolm.verdicts import file, rescore
from nanolm.verdicts.file import VerdictLine
from nanolm.verdicts.judge import Judge


class Rescored(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    entry: str
    outputs: int
    score: EntryScore
    changes: tuple[rescore.Change, ...]
    """Against the verdicts that were there before."""
    kept: int = 0
    """Code verdicts taken over from before, because there are no evaluators here."""
    time_outs: int = 0
    """Math verdicts that ran out of time."""


def folders(reports: Path, edition: Edition, name: str) -> tuple[Path, Path]:
    """Where an entry's record lies, and where its verdicts and score go.

    A patch edition judges its parent's record (§10). Raises `RecordError` when neither has one.
    """
    target = reports / edition.name / name
    candidates = [target] + ([reports / edition.inherits / name] if edition.inherits else [])
    for folder in candidates:
        if any(folder.glob("outputs.jsonl*")):
            return folder, target
    expected = " or ".join(str(folder / "outputs.jsonl") for folder in candidates)
    raise RecordError(
        f"no record of {name}: expected {expected}; "
        f"run `pytest tests_benchmarks --entry={name} --edition={edition.name}` first"
    )


def recorded(reports: Path, edition: Edition) -> list[str]:
    """The entries that have a record, by name."""
    parents = [reports / edition.name] + ([reports / edition.inherits] if edition.inherits else [])
    return sorted({path.parent.name for parent in parents for path in parent.glob("*/outputs.jsonl*")})


def entry_of(folder: Path) -> Entry | None:
    """The entry as the run wrote it down; None for an older run.json or none."""
    try:
        content = msgspec.json.decode((folder / "run.json").read_bytes())
        return msgspec.convert(content["entry"], Entry)
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None


def rescore_entry(
    edition: Edition,
    entry: Entry,
    judge: Judge,
    record_folder: Path,
    target: Path,
    *,
    code_marks: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Rescored:
    """Write `verdicts.jsonl` and `score.json` anew; unchanged rules give the same verdict file.

    `code_marks`: what stands against this machine's code verdicts.
    """
    suite = Suite(edition)
    with Record(record_folder) as record:
        items = {slug: suite.items(slug) for slug in edition.benchmarks}
        old = _before(target) or _before(record_folder)
        tokens: dict[file.Key, int] = {}
        engine = {"name": "", "version": ""}

        def outputs() -> Iterator[Output]:
            for output in record.outputs():
                tokens[output.benchmark, output.item, output.sample] = output.output_tokens
                engine.update(name=output.engine, version=output.engine_version)
                yield output

        lines = rescore.rescore(items, outputs(), judge, progress=progress)
    known = {line.key: line for line in old}
    lines = [_not_run(line, known.get(line.key)) for line in lines]
    kept = sum(line is known.get(line.key) for line in lines)
    results, missing = _results(suite, entry, lines, tokens)
    errors = sum(line.rule == "error" for line in lines)
    reasons = publishable.reasons(edition, entry, engine, code_marks=code_marks)
    if missing or errors:
        reasons.append(f"incomplete: {missing:,} outputs are missing, {errors:,} are engine errors")
    unsupported_code = sum(line.reason == "unsupported" and line.rule != "unsupported" for line in lines)
    if unsupported_code:
        reasons.append(f"code was not run for {unsupported_code:,} outputs (nanolm evaluators install)")
    complete = not (missing or errors)
    score = entry_score(
        edition,
        entry,
        score_entry(edition, results, intervals=complete),
        complete=complete,
        engine=engine,
        not_publishable_because=reasons,
    )
    file.write(target / file.FILE, lines)
    score_file.write(target, score)
    if edition.details:
        with Record(record_folder) as record:
            judged = details.judged(record.outputs(), lines)
            summary.write(target, details.build(suite, entry, judged, complete=complete))
    return Rescored(
        entry=entry.name,
        outputs=len(lines),
        score=score,
        changes=tuple(rescore.diff(old, lines)) if old else (),
        kept=kept,
        time_outs=judge.time_outs,
    )


def _before(folder: Path) -> list[VerdictLine]:
    path = folder / file.FILE
    return list(file.read(path)) if path.exists() else []


def _not_run(line: VerdictLine, before: VerdictLine | None) -> VerdictLine:
    """The verdict from before on the same program, when it can't be run here."""
    if line.reason != "unsupported" or before is None or before.reason == "unsupported":
        return line
    same = (line.answer, line.rule, line.span) == (before.answer, before.rule, before.span)
    return before if same else line


def _results(
    suite: Suite, entry: Entry, lines: Sequence[VerdictLine], tokens: Mapping[file.Key, int]
) -> tuple[dict[str, BenchmarkResult], int]:
    """Counts by benchmark, and how many samples have no output."""
    tallies = {
        slug: Tally(spec, *suite.chance(slug), suite.ids(slug), entry.samples)
        for slug, spec in suite.edition.benchmarks.items()
    }
    for line in lines:
        tallies[line.benchmark].add(line.item, line.sample, line.verdict, tokens[line.key])
    return {slug: tally.result() for slug, tally in tallies.items()}, sum(t.missing for t in tallies.values())
