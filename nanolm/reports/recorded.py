"""Finds records below `reports/<edition>/<entry>/`, whether a score stands beside them or not."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanolm import editions
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.entries import reference
from nanolm.entries.synthetic import TITLES
from nanolm.errors import RecordError, UsageError, did_you_mean, unknown
from nanolm.records import is_recorded
from nanolm.reports.folders import edition_named, nothing_in
from nanolm.reports.run_folder import record_folder


def folders(reports: Path, edition: Edition, name: str) -> tuple[Path, Path]:
    """Where an entry's record lies, and where its verdicts and score go.

    A patch edition judges its parent's record (§10). Raises `RecordError` when neither has one.
    """
    target = reports / edition.name / name
    record = record_folder(target, edition)
    if record is None:
        elsewhere = recorded_anywhere(reports).get(name, [])
        instead = f". It has one of {' and '.join(elsewhere)}: say --edition" if elsewhere else ""
        places = [target, *(reports / ancestor / name for ancestor in edition.ancestors)]
        expected = " or ".join(str(place.absolute() / "outputs.jsonl") for place in places)
        others = f". Recorded are {', '.join(known)}" if (known := recorded(reports, edition)) else ""
        raise RecordError(
            f"no record of {name} in {(reports / edition.name).absolute()}{instead}. Expected is {expected}; name another folder with --reports-dir, or run "
            f"`pytest tests_benchmarks --entry={name} --edition={edition.name}` first{others}"
        )
    return record, target


def recorded(reports: Path, edition: Edition) -> list[str]:
    """The entries that have a record, by name."""
    places = [reports / name for name in (edition.name, *edition.ancestors)]
    return sorted(
        {path.name for place in places if place.is_dir() for path in place.iterdir() if is_recorded(path)}
    )


def recorded_anywhere(reports: Path) -> dict[str, list[str]]:
    """The entries that have a record, by name, each with the names of the editions it is of."""
    found: dict[str, list[str]] = {}
    for path in sorted(reports.glob("*/*")):
        if is_recorded(path):
            found.setdefault(path.name, []).append(path.parent.name)
    return dict(sorted(found.items()))


def only_edition(reports: Path, entries: Sequence[str]) -> Edition:
    """The one edition that these entries have a record of; without names, the only one with any record.

    Raises `UsageError`, naming the editions, when there are several, and when there is none.
    """
    known = recorded_anywhere(reports)
    editions_of = [set(known[name]) for name in entries if name in known]
    found = sorted(set().union(*known.values()).intersection(*editions_of))
    names = ", ".join(found)
    if len(found) == 1:
        if found[0] not in editions.names() and not (reports / found[0] / "edition.toml").exists():
            raise UsageError(
                f"the records in {reports / found[0]} are of edition {found[0]!r}, which is not one of nanolm's "
                f"own ({', '.join(editions.names())}); name its folder with --edition path/to/folder"
            )
        return edition_named(found[0], reports)
    if not known:
        raise UsageError(
            f"{nothing_in(reports, 'record', '<edition>/<entry>/outputs.jsonl')}, which "
            "`pytest tests_benchmarks --entry=NAME` writes; or name another folder with --reports-dir"
        )
    for name in entries:
        if name not in known:  # may be a model's path, which only an edition makes an entry of
            said = unknown("record", name, known)
            raise UsageError(
                f"{said} (in {reports.absolute()}; another folder: --reports-dir); for a model's path say "
                f"--edition, too ({names})"
            )
    whose = " and ".join(entries) or "the entries"
    if not found:
        raise UsageError(f"{whose} have no edition in common that all have a record of; rescore them one by one")
    raise UsageError(f"{reports}/ has records of {whose} of several editions ({names}); say which with --edition")


def entry_named(name: str, edition: Edition, reports: Path) -> Entry:
    """The entry a person means, of whose record nothing is known by this name.

    Raises `RecordError` for an entry without a record, `UsageError` for a name of neither a record nor an entry, naming close matches of both.
    """
    known = recorded(reports, edition)
    entries = [*reference.names(edition), *reference.names(None), *TITLES]
    of_a_model = set(name) & set("/#@~") or not name.strip() or Path(name).exists()
    if name.strip() in entries and not Path(name).exists():
        folders(reports, edition, name.strip())  # before its data are asked for: what it lacks first is a record
    if name.strip() in entries or of_a_model or name.endswith((".toml", ".gguf")):
        return reference.resolve(name, edition)
    raise UsageError(
        f"unknown entry {name!r}{did_you_mean(name, [*known, *entries])} With a record in "
        f"{(reports / edition.name).absolute()}: {', '.join(known) or 'none'} (another folder: --reports-dir)"
    )


def entry_of(folder: Path) -> Entry | None:
    """The entry as the run wrote it down; None for an older run.json or none."""
    try:
        content = msgspec.json.decode((folder / "run.json").read_bytes())
        return msgspec.convert(content["entry"], Entry)
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None
