"""The board's rows: which runs are ranked and why others are not; board.json and board.csv."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.reports.run_folder import RunFolder
from nanolm.schema import EntryScore
from nanolm.scoring import ranks


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One entry on the board."""

    rank: int | None
    """None for a run that is not ranked."""
    name: str
    title: str
    label: str
    """The title, with what tells entries of the same title apart: the mode, else the name."""
    file_name: str
    marks: tuple[str, ...]
    """Why it is not ranked, in a word each: partial, not publishable, superseded, unverified, not
    checked."""
    reasons: tuple[str, ...]
    """The same in full."""
    score: EntryScore
    has_outputs: bool

    @property
    def value(self) -> float | None:
        """The index."""
        return self.score.index.value if self.score.index else None


def rows(
    edition: Edition,
    found: Sequence[RunFolder],
    checked: bool,
    unverified: Mapping[str, str],
    extents: Mapping[str, str],
) -> list[Row]:
    """Published entries by rank, then the others by index. Without sanity checks nothing is ranked (§10), and
    in an edition that leads with raw accuracies nothing ever is.

    `unverified`: of runs whose score nothing can be checked by, the name and why. `extents`: of runs of a
    part, the name and of how much.
    """
    marks = {run.name: _marks(run, checked, unverified.get(run.name, ""), extents.get(run.name, "")) for run in found}
    ranked = ranks(
        {
            run.name: run.score.index.value
            for run in found
            if edition.headline == "skill" and run.score.index and not marks[run.name]
        }
    )
    order = sorted(found, key=lambda run: _place(run, ranked))
    labels = _labels(found)
    return [
        Row(
            rank=ranked.get(run.name),
            name=run.name,
            title=run.title,
            label=labels[run.name],
            file_name=run.file_name,
            marks=tuple(marks[run.name]),
            reasons=tuple(marks[run.name].values()),
            score=run.score,
            has_outputs=run.has_outputs(),
        )
        for run in order
    ]


def _labels(found: Sequence[RunFolder]) -> dict[str, str]:
    titles = Counter(run.title for run in found)
    modes = Counter((run.title, run.score.mode) for run in found)
    labels = {}
    for run in found:
        alone = modes[run.title, run.score.mode] == 1
        more = "" if titles[run.title] == 1 else f" ({run.score.mode if alone else run.name})"
        labels[run.name] = run.title + more
    return labels


def _place(run: RunFolder, ranked: dict[str, int]) -> tuple[bool, float, str]:
    index = run.score.index.value if run.score.index else -1.0
    return run.name not in ranked, ranked.get(run.name, -index), run.name


def _marks(run: RunFolder, checked: bool, unverified: str, extent: str) -> dict[str, str]:
    """Mark to explanation; empty for a run that is ranked."""
    score, found = run.score, {}
    if not score.complete or score.index is None:
        found["partial"] = (
            "Not every item of every benchmark has its output and its verdict: these are numbers of a part"
            + (f", of {extent}." if extent else ".")
        )
    if not score.publishable or score.not_publishable_because:
        because = "; ".join(score.not_publishable_because) or "the run says so"
        found["not publishable"] = f"Not publishable: {because}."
    if run.superseded_by:
        found["superseded"] = f"Superseded by {run.superseded_by}: kept, no longer ranked."
    if unverified:
        found["unverified"] = unverified
    if not checked:
        found["not checked"] = "No sanity check of this edition stands beside these runs (nanolm check)."
    return found


def as_json(edition: Edition, found: Sequence[Row]) -> bytes:
    """board.json: rank, marks and the whole score.json of every entry."""
    board = {
        "edition": edition.name,
        "title": edition.title,
        "version": edition.version,
        "edition_digest": edition.digest,
        "entries": [
            {"rank": row.rank, "title": row.title, "marks": row.marks, **msgspec.to_builtins(row.score)}
            for row in found
        ],
    }
    return msgspec.json.format(msgspec.json.encode(board), indent=1) + b"\n"


def as_csv(edition: Edition, found: Sequence[Row]) -> str:
    """board.csv: one line per entry; skill, raw, mean output tokens and truncated share per benchmark."""
    head = ["rank", "entry", "mode", "parameters", "index", "low", "high", "raw_index"]
    head += [category.slug for category in edition.categories]
    parts = ("skill", "raw", "mean_output_tokens", "truncated_share")
    head += [f"{slug} {part}" for slug in edition.benchmarks for part in parts]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*head, "marks"])
    for row in found:
        score = row.score
        index: list[Any] = [score.index.value, score.index.low, score.index.high] if score.index else [""] * 3
        line: list[Any] = [row.rank or "", row.name, score.mode, score.model.get("parameters", ""), *index]
        line.append(_or_empty(score.raw_index))
        line += [
            score.categories[category.slug].value if category.slug in score.categories else ""
            for category in edition.categories
        ]
        for slug in edition.benchmarks:
            of = score.benchmarks.get(slug)
            line += [getattr(of, part) if of else "" for part in parts]
        writer.writerow([_no_formula(cell) for cell in [*line, "; ".join(row.marks)]])
    return text.getvalue()


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value


def _no_formula(cell: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets a leading apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
