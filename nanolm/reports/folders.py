"""Finds runs below `reports/<edition>/<entry>/`, by name or folder, and the one edition they are of."""

from pathlib import Path

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.errors import RecordError, ScoreError, UsageError, unknown
from nanolm.records import is_recorded
from nanolm.reports.run_folder import RunFolder


def edition_folder(
    folder: Path | None, reports: Path = Path("reports"), edition: str | None = None
) -> Path:
    """The folder of one edition's runs: as given, or the only one below `reports`. Raises `UsageError`.

    `edition`: the name of the edition that is meant where several have runs.
    """
    if folder is not None:
        return folder
    found = sorted({path.parent.parent for path in reports.glob("*/*/score.json")})
    if not found:
        raise UsageError(
            f"which edition's runs? {nothing_in(reports, 'run', '<edition>/<entry>/score.json')}, or name "
            "the folder of one edition's runs, e.g. `nanolm board path/to/reports/nano-lm-v1`, or with "
            "--reports-dir the one above"
        )
    if reports / str(edition) in found:
        return reports / str(edition)
    if len(found) > 1:
        raise UsageError(f"which edition's runs? Name one folder of {', '.join(map(str, found))}")
    return found[0]


def nothing_in(folder: Path, what: str, pattern: str) -> str:
    """Says that no `what` is in a folder, with its whole path: a relative one depends on where one stands."""
    where = folder.absolute()
    if where.is_dir():
        found = f"no {what} in {where}"
    else:
        found = f"{where} is a file" if where.exists() else f"there is no folder {where}"
    return f"{found}; expected {where}/{pattern}"


def edition_named(name: str, reports: Path) -> Edition:
    """An edition by name or folder; a name may be that of custom items below `reports`."""
    folder = reports / name
    return editions.load(folder if (folder / "edition.toml").exists() else name)


def runs(folder: Path) -> list[RunFolder]:
    """All runs with a score.json below `reports/<edition>`, by name. `RecordError` if there is none."""
    found = [RunFolder(path.parent) for path in sorted(folder.glob("*/score.json"))]
    if not found:
        below = sorted({str(path.parent.parent) for path in folder.glob("*/*/score.json")})
        raise RecordError(
            f"{nothing_in(folder, 'run', '<entry>/score.json')}, which `pytest tests_benchmarks --entry=NAME` "
            "writes; or name the folder of an edition's reports"
            + (f" ({', '.join(below)})" if below else "")
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
    loaded = edition_named(edition, reports) if edition is not None else None
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
    below = reports / edition if edition else reports
    scores = [
        path for path in sorted(reports.glob("*/*/score.json")) if edition in (None, path.parent.parent.name)
    ]
    paths = [path.parent for path in scores if path.parent.name == name]
    if not paths:
        if not scores:
            pattern = f"{'' if edition else '<edition>/'}{name}/score.json"
            raise UsageError(
                f"no run of {name!r}: {nothing_in(below, 'run', pattern)}, which `pytest "
                "tests_benchmarks --entry=NAME` writes; or name another folder with --reports-dir"
            )
        found = unknown("run", name, {path.parent.name for path in scores})
        raise UsageError(f"{found} (in {below.absolute()}; another folder: --reports-dir)")
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
