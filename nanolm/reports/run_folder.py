"""Reads one `reports/<edition>/<entry>/`: score.json, run.json, outputs and verdicts."""

import contextlib
import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.entries.reference import names, resolve
from nanolm.entries.synthetic import TITLES, synthetic
from nanolm.errors import NanoLMError, RecordError, ScoreError
from nanolm.records import Record, is_recorded
from nanolm.schema import EntryScore, Output
from nanolm.scoring import BenchmarkResult, Tally
from nanolm.verdicts import file
from nanolm.verdicts.file import VerdictLine


class RunFolder:
    """One entry's run. Raises `RecordError` for files that can't be read, naming file and line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.score: EntryScore = _read_json(path / "score.json", EntryScore)
        self.entry: Entry | None = None
        """The edition's own entry of that name, once `identify` has looked for it."""
        self.record = path
        """Where the outputs lie: of a patch edition's run the parent's folder, once identified."""
        self.run: dict[str, Any] = _json_if_there(path / "run.json")
        rescored = _json_if_there(path / "rescore.json")
        judged = self.run.get("judged") or self.run  # of the run that judged last
        self.rescored = rescored if str(rescored.get("ended", "")) >= str(judged.get("ended", "")) else {}
        """rescore.json: what judged last, when that was a rescore and not the run."""

    def identify(self, edition: Edition) -> None:
        """Look the entry up among the edition's (its title, markers, what has superseded it since), and its
        record in the folders of the edition and of those it inherits from."""
        if self.name in TITLES:
            self.entry = synthetic(self.name)
        elif self.name in names(edition):
            with contextlib.suppress(NanoLMError):
                self.entry = resolve(self.name, edition)
        self.record = record_folder(self.path, edition) or self.path
        self.run = self.run or _json_if_there(self.record / "run.json")

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.score.entry

    @property
    def file_name(self) -> str:
        """The name as part of a file name or address; no other name has the same."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", self.name)
        if plain == self.name and plain not in ("index", "items"):
            return plain
        return f"{plain}-{hashlib.sha256(self.name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"

    @property
    def superseded_by(self) -> str | None:
        """The entry that replaces this one, as the edition or run.json says (§10)."""
        found = self.entry.superseded_by if self.entry else self._of_entry("superseded_by", None)
        return str(found) if found else None

    @property
    def title(self) -> str:
        """The entry's title, or else its name."""
        return self.entry.title if self.entry else str(self._of_entry("title", "") or self.name)

    @property
    def closer(self) -> str:
        """What ends a reasoning block, for folding it (§6.1)."""
        if self.entry and self.entry.reasoning:
            return self.entry.reasoning.closer
        reasoning = self._of_entry("reasoning", None)
        found = reasoning.get("closer") if isinstance(reasoning, dict) else None
        return str(found or "</think>")

    def _of_entry(self, field: str, default: Any) -> Any:
        entry = self.run.get("entry")
        if isinstance(entry, dict) and entry.get(field) is not None:
            return entry[field]
        return self.run.get(field, default)

    def has_verdicts(self) -> bool:
        """Whether there is what comparisons start from."""
        return (self.path / file.FILE).exists()

    def has_outputs(self) -> bool:
        """Whether there is a record with verdicts to show."""
        return is_recorded(self.record) and self.has_verdicts()

    def outputs(self) -> Iterator[Output]:
        """Every recorded output; of an error and what replaced it, the latter."""
        if not is_recorded(self.record):
            raise RecordError(
                f"{self.record} has no outputs.jsonl or outputs.jsonl.zst; run the entry first, or put its "
                "record there"
            )
        with Record(self.record) as record:
            yield from record.outputs()

    def verdicts(self) -> Iterator[VerdictLine]:
        """Every verdict."""
        if not self.has_verdicts():
            raise RecordError(f"{self.path} has no {file.FILE}; `nanolm rescore` on this entry writes it")
        return file.read(self.path / file.FILE)

    def results(self, edition: Edition) -> dict[str, BenchmarkResult]:
        """What scoring starts from, by benchmark: read from the verdicts and score.json's chance levels."""
        lines = {line.key: line for line in self.verdicts()}
        items: dict[str, dict[str, None]] = {}
        for benchmark, item, _ in lines:
            items.setdefault(benchmark, {})[item] = None
        tallies = {}
        for slug, ids in items.items():
            line = self.score.benchmarks.get(slug)
            if slug not in edition.benchmarks or line is None:
                raise ScoreError(
                    f"{self.path}: verdicts on benchmark {slug!r}, which edition {edition.name} or "
                    "score.json does not have; expected both from one run. Run `nanolm rescore` on this entry"
                )
            spec = edition.benchmarks[slug]
            tallies[slug] = Tally(spec, line.chance, line.chance_rule, list(ids), self.score.samples)
        for (benchmark, item, sample), verdict in lines.items():
            tallies[benchmark].add(item, sample, verdict.verdict, 0)
        results = {slug: tallies[slug].result() for slug in edition.benchmarks if slug in tallies}
        for slug, result in results.items():
            if self.score.complete and not math.isclose(result.raw, self.score.benchmarks[slug].raw):
                raise ScoreError(
                    f"{self.path / file.FILE} and score.json are not of one judging: raw accuracy on {slug} is "
                    f"{result.raw:.6f} by the verdicts, {self.score.benchmarks[slug].raw:.6f} by the score. "
                    "Run `nanolm rescore` on this entry"
                )
        return results


def record_folder(target: Path, edition: Edition) -> Path | None:
    """Where the record behind a run folder lies: there, or in the same entry's folder of the nearest edition
    that this one inherits from (§10: a patch edition generates nothing). None when there is none."""
    places = [target, *(target.parent.parent / name / target.name for name in edition.ancestors)]
    return next((place for place in places if is_recorded(place)), None)


_WRITTEN_BY = {
    "score.json": "`nanolm rescore` on this entry writes it anew",
    "rescore.json": "`nanolm rescore` on this entry writes it anew",
    "run.json": "restore it, or move it away: the same run again writes it and generates only what is missing",
}


def _read_json(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(
            f"{path} can't be read: {error}; expected the file a run writes; {_WRITTEN_BY[path.name]}"
        ) from error


def _json_if_there(path: Path) -> dict[str, Any]:
    return _read_json(path, dict) if path.exists() else {}
