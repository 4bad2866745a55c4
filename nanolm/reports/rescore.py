"""An entry's recorded outputs, judged and scored again without a model (§10)."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.errors import RecordError, UsageError, counted, unknown
from nanolm.records import Record, is_recorded, provenance
from nanolm.reports import details, publishable, score_file, summary
from nanolm.reports.folders import edition_named
from nanolm.reports.run_folder import record_folder
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
    missing: int
    """Outputs that the record lacks; the score is then one of a part."""
    score: EntryScore
    changes: tuple[rescore.Change, ...]
    """Against the verdicts that were there before."""
    compared: bool = True
    """False: there were none before."""
    beside_complete: bool = False
    """The record lacks outputs that a complete score there counts; that score and its verdicts stay, and
    these are in `score.partial.json` and `verdicts.partial.jsonl`."""
    kept: int = 0
    """Code verdicts taken over from before, because there are no evaluators here."""
    time_outs: int = 0
    """Math verdicts that ran out of time."""


def rescore_entry(
    edition: Edition,
    entry: Entry,
    judge: Judge,
    recorded_in: Path,
    target: Path,
    *,
    code_marks: Callable[[], Sequence[str]] = tuple,
    against: Path | None = None,
    command: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Rescored:
    """Write `verdicts.jsonl` and `score.json` anew; unchanged rules give the same verdict file.

    Raises `RecordError` for an output that was made by another entry or on another prompt.

    `code_marks`: says, after judging, what stands against this machine's code verdicts.
    `against`: the run folder whose verdicts changes are named against (default: the verdicts that were
    there, or else those beside the record). The record and `run.json` stay as they are; what judged again
    is written to `rescore.json`.
    """
    started = provenance.now()
    suite = Suite(edition)
    prompts = _prompts(suite)
    with Record(recorded_in) as record:
        items = {slug: suite.items(slug) for slug in edition.benchmarks}
        old = _before(against) if against else _before(target) or _before(recorded_in)
        tokens: dict[file.Key, int] = {}
        engine = {"name": "", "version": ""}

        def outputs() -> Iterator[Output]:
            for output in record.outputs():
                tokens[output.benchmark, output.item, output.sample] = output.output_tokens
                _made_as_asked(edition, entry, output, prompts.get((output.benchmark, output.item)))
                engine.update(name=output.engine, version=output.engine_version)
                yield output

        try:
            lines = rescore.rescore(items, outputs(), judge, progress=progress)
        except RecordError as error:
            raise RecordError(f"{record.path}: {error}") from None
    known = {line.key: line for line in old}
    lines = [_not_run(line, known.get(line.key)) for line in lines]
    kept = sum(line is known.get(line.key) for line in lines)
    results, missing = _results(suite, entry, lines, tokens)
    scored = sum(len(result.items) for result in results.values())
    errors = sum(line.rule == "error" for line in lines)
    reasons = publishable.reasons(edition, entry, engine, code_marks=code_marks())
    if missing or errors:
        reasons.append(f"incomplete: {counted(missing, 'output is', 'outputs are')} missing, {counted(errors, 'engine error')}")
    if missing:
        every = sum(map(len, items.values()))
        reasons.append(f"partial: scored over the {scored:,} of {every:,} items that have all their outputs")
    not_run = sum(map(_is_not_run, lines))
    if not_run:
        reasons.append(f"code was not run for {counted(not_run, 'output')} (nanolm evaluators install)")
    complete = not (missing or errors or not_run)
    score = entry_score(
        edition,
        entry,
        score_entry(edition, results, intervals=complete or edition.headline == "raw"),
        complete=complete,
        engine=engine,
        not_publishable_because=reasons,
    )
    if missing:  # an index is one of the whole edition
        score = msgspec.structs.replace(score, index=None, raw_index=None)
    changes = tuple(rescore.diff(old, lines)) if old else ()
    try:
        partial = score_file.place(target, score).name == score_file.PARTIAL
        file.write(target / (file.PARTIAL if partial else file.FILE), lines)
        score_file.write(target, score)
        if not partial:
            for name in (file.PARTIAL, score_file.PARTIAL):
                (target / name).unlink(missing_ok=True)
        if edition.details and not partial:
            with Record(recorded_in) as record:
                judged = details.judged(record.outputs(), lines)
                summary.write(target, details.build(suite, entry, judged, complete=complete))
        provenance.write_rescore(
            target,
            edition=edition,
            started=started,
            command=command,
            rescore={
                "entry": {"name": entry.name, "digest": entry.digest},
                "record": os.path.relpath(recorded_in, target),
                "outputs": len(lines),
                "missing": missing,
                "changed": len(changes),
                "code_verdicts_kept": kept,
                "complete": complete,
                "publishable": score.publishable,
                "not_publishable_because": list(score.not_publishable_because),
            },
        )
    except OSError as error:
        raise RecordError(
            f"can't write {error.filename or target}: {error.strerror}; the record is untouched. Make the "
            "folder writable, or work on a copy of it with --reports-dir"
        ) from None
    return Rescored(
        entry=entry.name,
        outputs=len(lines),
        missing=missing,
        score=score,
        changes=changes,
        compared=bool(old),
        beside_complete=partial,
        kept=kept,
        time_outs=judge.time_outs,
    )


def _prompts(suite: Suite) -> dict[tuple[str, str], str]:
    """The digest of every item's prompt, by benchmark and item."""
    return {
        (slug, item.id): prompt.digest
        for slug in suite.edition.benchmarks
        for whole in [suite.whole(slug)]
        for item, prompt in zip(whole.items, whole.prompts, strict=True)
    }


def _made_as_asked(edition: Edition, entry: Entry, output: Output, prompt: str | None) -> None:
    """Raises `RecordError` for an output of another entry or on another prompt, as a run does (§10).

    `prompt`: the digest of the item's; None for an item that the edition does not have, which is told by
    who pairs outputs with items.
    """
    if prompt is None:
        return
    now = {"entry": entry.digest, "prompt_digest": prompt}
    differs = [
        f"{name} {getattr(output, name)!r} in the record, {value!r} now"
        for name, value in now.items()
        if getattr(output, name) != value
    ]
    if differs:
        raise RecordError(
            f"recorded under other conditions: {output.benchmark} {output.item} sample {output.sample}: "
            f"{'; '.join(differs)}. "
            f"Expected outputs of the entry {entry.name} on the prompts of {edition.name}: restore the "
            "run.json or the edition it was made with, or generate anew with --record-mode=all"
        )


def _before(folder: Path) -> list[VerdictLine]:
    """A broken line is no reason not to judge again: its output then counts as one without a verdict."""
    return file.readable(folder / file.FILE)


def _is_not_run(line: VerdictLine) -> bool:
    """A program without a verdict; an output that the engine failed on has the rule `error`."""
    return line.reason == "error" and line.rule != "error"


def _not_run(line: VerdictLine, before: VerdictLine | None) -> VerdictLine:
    """The verdict from before on the same program, when it can't be run here."""
    if not _is_not_run(line) or before is None or before.reason in ("error", "unsupported"):
        return line
    same = (line.answer, line.rule, line.span) == (before.answer, before.rule, before.span)
    return before if same else line


def _results(
    suite: Suite, entry: Entry, lines: Sequence[VerdictLine], tokens: Mapping[file.Key, int]
) -> tuple[dict[str, BenchmarkResult], int]:
    """Counts by benchmark, and how many of the edition's samples have no output.

    As in a run on a part of the edition, only what was asked is counted: items that lack an output are left
    out, and benchmarks without an item.
    """
    asked = {slug: suite.ids(slug) for slug in suite.edition.benchmarks}
    recorded = Counter((line.benchmark, line.item) for line in lines)
    results = {}
    for slug, spec in suite.edition.benchmarks.items():
        whole = [item for item in asked[slug] if recorded[slug, item] >= entry.samples]
        if whole:
            results[slug] = Tally(spec, *suite.chance(slug), whole, entry.samples)
    for line in lines:
        if recorded[line.benchmark, line.item] >= entry.samples:
            results[line.benchmark].add(line.item, line.sample, line.verdict, tokens[line.key])
    missing = sum(map(len, asked.values())) * entry.samples - len(lines)
    return {slug: tally.result() for slug, tally in results.items()}, missing
