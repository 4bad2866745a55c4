"""Reads `reports/<edition>/<entry>/`: score.json, run.json, outputs and verdicts."""

import contextlib
import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.entries.reference import names, resolve
from nanolm.entries.synthetic import TITLES, synthetic
from nanolm.errors import NanoLMError, RecordError, ScoreError, UsageError, unknown
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


def edition_folder(folder: Path | None, reports: Path = Path("reports")) -> Path:
    """The folder of one edition's runs: as given, or the only one below `reports`. Raises `UsageError`."""
    if folder is not None:
        return folder
    found = sorted({path.parent.parent for path in reports.glob("*/*/score.json")})
    if len(found) != 1:
        names = ", ".join(map(str, found)) or f"no run below {reports}/"
        raise UsageError(f"which edition's runs? Name one folder, e.g. reports/nano-lm-v1; found: {names}")
    return found[0]


def edition_named(name: str, reports: Path) -> Edition:
    """An edition by name or folder; a name may be that of custom items below `reports`."""
    folder = reports / name
    return editions.load(folder if (folder / "edition.toml").exists() else name)


def runs(folder: Path) -> list[RunFolder]:
    """All runs with a score.json below `reports/<edition>`, by name. `RecordError` if there is none."""
    found = [RunFolder(path.parent) for path in sorted(folder.glob("*/score.json"))]
    if not found:
        raise RecordError(
            f"no run in {folder}: expected {folder}/<entry>/score.json; "
            "run `pytest tests_benchmarks --entry=NAME` first, or name the folder of an edition's reports"
            + "".join(f". {note}" for note in without_score(folder))
        )
    places: dict[str, RunFolder] = {}
    for run in found:
        if run.name in places:
            raise _twice(places[run.name], run)
        places[run.name] = run
    return found


def _twice(one: RunFolder, other: RunFolder) -> RecordError:
    of = [(run.score.edition, run.score.edition_digest) for run in (one, other)]
    both = f"{one.path} and {other.path} are both runs of {one.name!r}"
    if of[0] == of[1]:
        return RecordError(f"{both}; expected one: move a copy elsewhere")
    named = " and ".join(f"{name} ({digest})" for name, digest in of)
    return RecordError(
        f"{both}, of the editions {named}; expected runs of one edition in a folder: move the other away"
    )


def without_score(folder: Path) -> list[str]:
    """A note for each record below `reports/<edition>` that no score.json stands beside."""
    return [
        f"{path.name} has no score.json; `nanolm rescore` writes it"
        for path in sorted(folder.glob("*"))
        if is_recorded(path) and not (path / "score.json").exists()
    ]


def named(entries: list[str], reports: Path, edition: str | None) -> tuple[Edition, list[RunFolder]]:
    """The runs of these names or in these folders, and the one edition they are of.

    Raises `UsageError` for names without a run, `ScoreError` when they are not of one edition.
    """
    loaded = edition_named(edition, reports) if edition else None
    found = [RunFolder(find(name, reports, loaded.name if loaded else None)) for name in entries]
    of = loaded or edition_of(found)
    check_edition(found, of)
    seen: dict[Path, str] = {}
    for name, run in zip(entries, found, strict=True):
        where = run.path.resolve()
        if where in seen:
            twice = " and ".join(dict.fromkeys((seen[where], name)))
            raise UsageError(f"the same run is named twice ({twice}); expected different ones")
        seen[where] = name
        run.identify(of)
    return of, found


def find(name: str, reports: Path, edition: str | None = None) -> Path:
    """The run folder of an entry: a folder as it is, or the one of that name below the reports folder.

    `edition`: the name of the edition whose run is meant.
    """
    if (Path(name) / "score.json").exists():
        return Path(name)
    below = f"{reports / edition if edition else reports}/"
    scores = [
        path for path in sorted(reports.glob("*/*/score.json")) if edition in (None, path.parent.parent.name)
    ]
    paths = [path.parent for path in scores if path.parent.name == name]
    if not paths:
        if not scores:
            raise UsageError(
                f"no run of {name!r}: there is no run below {below} at all; expected {below}"
                f"{'' if edition else '<edition>/'}{name}/score.json, written by `pytest tests_benchmarks "
                "--entry=NAME`; name another folder with --reports-dir"
            )
        found = unknown("run", name, {path.parent.name for path in scores})
        raise UsageError(f"{found} (below {below})")
    if len(paths) > 1:
        names = ", ".join(path.parent.name for path in paths)
        raise UsageError(f"{name} has runs of several editions ({names}); say which with --edition")
    return paths[0]


def edition_of(found: list[RunFolder]) -> Edition:
    """The edition that all these runs name. Raises `ScoreError` when they are of several."""
    name, _ = one_edition(found)
    custom = found[0].path.parent
    if (custom / "edition.toml").exists():  # custom items' edition lies beside their runs
        return editions.load(custom)
    if name not in editions.names():
        raise UsageError(
            f"these runs are of edition {name!r} ({found[0].path}), which is not one of nanolm's own "
            f"({', '.join(editions.names())}); name its folder with --edition path/to/folder"
        )
    return editions.load(name)


def one_edition(found: list[RunFolder]) -> tuple[str, str]:
    """Name and digest of the edition that all runs belong to (§10). Raises `ScoreError` if they differ."""
    of: dict[tuple[str, str], list[str]] = {}
    for run in found:
        of.setdefault((run.score.edition, run.score.edition_digest), []).append(run.name)
    if len(of) > 1:
        lines = "; ".join(f"{name} ({digest}): {', '.join(runs)}" for (name, digest), runs in of.items())
        raise ScoreError(
            f"these runs belong to different editions, and numbers are comparable only within one: {lines}. "
            "Rescore all of them under one edition (nanolm rescore --all --edition NAME)"
        )
    return next(iter(of))


def check_edition(found: list[RunFolder], edition: Edition) -> None:
    """Raises `ScoreError` unless all runs belong to this very edition."""
    name, digest = one_edition(found)
    if (name, digest) != (edition.name, edition.digest):
        raise ScoreError(
            f"the runs in {found[0].path.parent} belong to edition {name} ({digest}), the edition at hand is "
            f"{edition.name} ({edition.digest}). Rescore the runs under it (nanolm rescore --all --edition "
            "NAME), or name the edition they have"
        )


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
