"""Failures for reading by hand (§10): a seeded sample per benchmark, as CSV, and back again."""

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from nanolm.errors import UsageError
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.reply import Parts, parts
from nanolm.reports.viewer import ItemsOf, as_text
from nanolm.schema import Interval
from nanolm.scoring.compare import wilson
from nanolm.verdicts.file import Key

FAULTS = ("model", "extractor", "gold", "unclear")
"""Whose fault a failure is; a fault of the extractor is fixed in a patch edition (§10)."""

COLUMNS = (
    "benchmark",
    "item",
    "sample",
    "entry",
    "reason",
    "rule",
    "read",
    "gold",
    "prompt",
    "output",
    "verdict",
    "note",
)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One output that is not correct, as a reviewer reads it."""

    benchmark: str
    item: str
    sample: int
    entry: str
    reason: str
    rule: str
    read: str
    gold: str
    prompt: str
    output: str
    parts: Parts
    """The output as the page shows it: reasoning, text, what was read, text."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How often one kind of fault was found on a benchmark, with its Wilson interval."""

    benchmark: str
    fault: str
    count: int
    reviewed: int
    share: Interval


def draw(
    runs: Sequence[RunFolder], per_benchmark: int, seed: int, benchmarks: Sequence[str] = ()
) -> list[tuple[RunFolder, Key]]:
    """`per_benchmark` failures of each benchmark across the runs, in order of benchmark, entry and item.

    A failure's place in the draw is the SHA-256 of seed, entry, benchmark, item and sample: the same on any
    machine, and a larger sample holds the smaller one. Runs that hold all failures equally weigh each failure
    equally, whichever entry it is of.
    """
    places: dict[str, list[tuple[bytes, int, Key]]] = {}
    for number, run in enumerate(runs):
        last = {line.key: line.correct for line in run.verdicts()}
        for key, correct in last.items():
            if not correct and (not benchmarks or key[0] in benchmarks):
                name = f"{seed}/{run.name}/{key[0]}/{key[1]}/{key[2]}"
                place = hashlib.sha256(name.encode()).digest()
                places.setdefault(key[0], []).append((place, number, key))
    chosen = [one for each in places.values() for one in sorted(each)[:per_benchmark]]
    return [(runs[number], key) for _, number, key in sorted(chosen, key=lambda one: (one[2][0], *one[1:]))]


def failures(chosen: Iterable[tuple[RunFolder, Key]], items_of: ItemsOf) -> list[Failure]:
    """The texts of the chosen failures, in their order."""
    wanted: dict[int, tuple[RunFolder, list[Key]]] = {}
    for run, key in chosen:
        wanted.setdefault(id(run), (run, []))[1].append(key)
    found = []
    for run, keys in wanted.values():
        these = set(keys)
        verdicts = {line.key: line for line in run.verdicts() if line.key in these}
        texts = {
            (one.benchmark, one.item, one.sample): one.text
            for one in run.outputs()
            if (one.benchmark, one.item, one.sample) in these
        }
        for key in keys:
            line, items = verdicts[key], items_of(key[0])
            item = items.shown.get(key[1]) if items else None
            found.append(
                Failure(
                    benchmark=key[0],
                    item=key[1],
                    sample=key[2],
                    entry=run.name,
                    reason=line.reason or "wrong",
                    rule=line.rule,
                    read=as_text(line.answer) or "",
                    gold=(as_text(item.gold) or "") if item else "",
                    prompt=item.prompt if item else "",
                    output=texts.get(key, ""),
                    parts=parts(texts.get(key, ""), line.verdict, run.closer),
                )
            )
    return sorted(found, key=lambda one: (one.benchmark, one.entry, one.item, one.sample))


def as_csv(found: Sequence[Failure]) -> str:
    """One line per failure, with empty columns for the reviewer's verdict and note."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in found:
        cells = [str(getattr(one, column)) for column in COLUMNS[:-2]]
        writer.writerow([*(_no_formula(cell) for cell in cells), "", ""])
    return text.getvalue()


def _no_formula(cell: str) -> str:
    """A spreadsheet must not run what a model wrote."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell.replace("\x00", "\ufffd")


def read_back(path: Path) -> list[Share]:
    """Shares of each fault per benchmark and over all, from a CSV with its verdict column filled in.

    Lines without a verdict are left out. Raises `UsageError` for words that are no fault, naming the line.
    """
    counts: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_table(path), start=2):
        word = (line["verdict"] or "").strip().casefold().replace("\u2019", "'").removesuffix("'s fault")
        if not word:
            continue
        if word not in FAULTS:
            raise UsageError(
                f"{path}, row {number}: verdict {line['verdict']!r}; expected one of {', '.join(FAULTS)}"
            )
        for benchmark in (line["benchmark"], "all"):
            of = counts.setdefault(benchmark, dict.fromkeys(FAULTS, 0))
            of[word] += 1
    if not counts:
        raise UsageError(
            f"{path} holds no verdict yet; fill the verdict column with one of {', '.join(FAULTS)}"
        )
    order = [*sorted(counts.keys() - {"all"}), "all"]
    return [
        Share(
            benchmark=benchmark,
            fault=fault,
            count=count,
            reviewed=sum(counts[benchmark].values()),
            share=wilson(count, sum(counts[benchmark].values())),
        )
        for benchmark in order
        for fault, count in counts[benchmark].items()
    ]


def _table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV, as spreadsheets write it: with a byte order mark, or with semicolons or tabs."""
    csv.field_size_limit(1 << 30)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is no text in UTF-8 ({error.reason} at byte {error.start}); expected a file of "
            "`nanolm review`; in a spreadsheet, save it as CSV UTF-8"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path} can't be read: {error.strerror}; expected a CSV of `nanolm review`"
        ) from None
    for delimiter in (",", ";", "\t"):
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            if {"benchmark", "verdict"} <= set(reader.fieldnames or ()):
                return [dict(row) for row in reader]
        except csv.Error as error:
            raise UsageError(f"{path}, row {reader.line_num}: no CSV ({error})") from None
    raise UsageError(f"{path} has no columns benchmark and verdict; expected a file of `nanolm review`")
