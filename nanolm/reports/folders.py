"""Reads `reports/<edition>/<entry>/`: score.json, run.json, outputs and verdicts, line by line."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.editions.read import load
from nanolm.entries.entry import Entry
from nanolm.entries.reference import names, resolve
from nanolm.entries.synthetic import TITLES, synthetic
from nanolm.errors import NanoLMError, RecordError, ScoreError, UsageError
from nanolm.records.frames import zstd
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
        run = path / "run.json"
        self.run: dict[str, Any] = _read_json(run, dict) if run.exists() else {}

    def identify(self, edition: Edition) -> None:
        """Look the entry up among the edition's: its title, markers, and what has superseded it since."""
        if self.name in TITLES:
            self.entry = synthetic(self.name)
        elif self.name in names(edition):
            with contextlib.suppress(NanoLMError):
                self.entry = resolve(self.name, edition)

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.score.entry

    @property
    def file_name(self) -> str:
        """The name as part of a file name or address."""
        return re.sub(r"[^A-Za-z0-9._-]", "_", self.name)

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

    def has_outputs(self) -> bool:
        """Whether there is a record to show."""
        return _find(self.path, "outputs") is not None and (self.path / file.FILE).exists()

    def outputs(self) -> Iterator[Output]:
        """Every recorded output, as it was written."""
        return _lines(self.path, "outputs", Output)

    def verdicts(self) -> Iterator[VerdictLine]:
        """Every verdict."""
        path = self.path / file.FILE
        if not path.exists():
            raise RecordError(f"{self.path} has no {file.FILE}; `nanolm rescore` on this entry writes it")
        return file.read(path)

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
        return {slug: tallies[slug].result() for slug in edition.benchmarks if slug in tallies}


def edition_folder(folder: Path | None, reports: Path = Path("reports")) -> Path:
    """The folder of one edition's runs: as given, or the only one below `reports`. Raises `UsageError`."""
    if folder is not None:
        return folder
    found = sorted({path.parent.parent for path in reports.glob("*/*/score.json")})
    if len(found) != 1:
        names = ", ".join(map(str, found)) or f"no run below {reports}/"
        raise UsageError(f"which edition's runs? Name one folder, e.g. reports/nano-lm-v1; found: {names}")
    return found[0]


def edition_of(folder: Path, name: str) -> Edition:
    """The edition of the runs in `folder` (`reports/<edition>`): the folder's own where custom items lie
    there, else the one of that name."""
    return load(folder) if (folder / "edition.toml").exists() else load(name)


def edition_named(name: str, reports: Path) -> Edition:
    """An edition by name or folder; a name may be that of custom items below `reports`."""
    return edition_of(reports / name, name)


def runs(folder: Path) -> list[RunFolder]:
    """All runs with a score.json below `reports/<edition>`, by name. `RecordError` if there is none."""
    found = [RunFolder(path.parent) for path in sorted(folder.glob("*/score.json"))]
    if not found:
        raise RecordError(
            f"no run in {folder}: expected {folder}/<entry>/score.json; "
            "run `pytest tests_benchmarks --entry=NAME` first, or name the folder of an edition's reports"
        )
    return found


def one_edition(found: list[RunFolder]) -> tuple[str, str]:
    """Name and digest of the edition that all runs belong to (§10). Raises `ScoreError` if they differ."""
    editions: dict[tuple[str, str], list[str]] = {}
    for run in found:
        editions.setdefault((run.score.edition, run.score.edition_digest), []).append(run.name)
    if len(editions) > 1:
        lines = "; ".join(
            f"{name} ({digest}): {', '.join(runs)}" for (name, digest), runs in editions.items()
        )
        raise ScoreError(
            f"these runs belong to different editions, and numbers are comparable only within one: {lines}. "
            "Rescore all of them under one edition (nanolm rescore --all --edition NAME)"
        )
    return next(iter(editions))


def _read_json(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(
            f"{path} can't be read: {error}; expected the file a run writes; "
            "run `nanolm rescore` on this entry"
        ) from error


def _find(folder: Path, stem: str) -> Path | None:
    for name in (f"{stem}.jsonl.zst", f"{stem}.jsonl"):
        if (folder / name).exists():
            return folder / name
    return None


def _lines(folder: Path, stem: str, kind: Any) -> Iterator[Any]:
    path = _find(folder, stem)
    if path is None:
        raise RecordError(f"{folder} has no {stem}.jsonl or {stem}.jsonl.zst; run or rescore the entry first")
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as opened:
        source: Any = opened
        if path.suffix == ".zst":
            source = zstd.ZstdFile(opened)
        for number, line in enumerate(_split(source), start=1):
            try:
                yield decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                yield _second_reading(path, number, line, kind, error)


def _second_reading(path: Path, number: int, line: bytes, kind: Any, error: Exception) -> Any:
    """Lone surrogates: Python's own reader takes them, the fast one does not."""
    try:
        return msgspec.convert(json.loads(line), kind)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        raise RecordError(
            f"{path}, line {number} can't be read: {error}; expected one JSON object of a run. "
            "Start the run again (it heals its record) or rescore the entry"
        ) from error


def _split(source: Any) -> Iterator[bytes]:
    """Lines without their line break. A last line that was not written to its end is left out."""
    rest = b""
    while block := source.read(1 << 20):
        *whole, rest = (rest + block).split(b"\n") if b"\n" in block else [rest + block]
        yield from (line for line in whole if line)
