"""`nanolm card`: a model card against its model."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from nanolm.cli.entry import _EDITION, _JSON, _json, _load

if TYPE_CHECKING:
    from nanolm.entries.artefacts import Artefacts
    from nanolm.entries.card.finding import Finding
    from nanolm.entries.card.scores import Measured
    from nanolm.entries.parameters import Audit
    from nanolm.run.perplexity import Perplexity

_MOST_ROWS = 40
"""Rows of the table about one thing, so that a card of thousands of claims can be read."""


@click.group()
def command() -> None:
    """Check what a model card states."""


@command.command()
@click.argument("reference")
@click.option(
    "--scores",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A score.json, or a perplexity-*.json, of ours of this model, to hold the card's benchmark numbers "
    "against; may be repeated.",
)
@_EDITION
@_JSON
def check(reference: str, scores: tuple[Path, ...], edition: str, as_json: bool) -> None:
    """What the card of a model states against its artefact: holds, differs, missing.

    REFERENCE is a model folder or hub/repo@revision, or an entry's name. Checked are the architecture, the
    unique parameters (tied embeddings once, buffers left out), the checkpoint's SHA-256, every benchmark
    number with its convention, training data and limitations.

    Exit status: 0 when nothing differs, 1 otherwise.
    """
    from nanolm.entries.card import check as card_check
    from nanolm.entries.inspect import source_of
    from nanolm.entries.parameters import audit

    source = source_of(reference, _load(edition), card=True)
    count = audit(source)
    findings = card_check.check(source, count, _measured(scores, source, count))
    _json(findings) if as_json else _show(source.where, findings)
    if any(finding.outcome == "differs" for finding in findings):
        raise SystemExit(1)


def _measured(scores: tuple[Path, ...], source: "Artefacts", count: "Audit") -> "Measured":
    """What the files of `--scores` hold. Raises `EntryError` for one of another model."""
    from nanolm.entries.card import scores as card_scores
    from nanolm.entries.derive import content_of
    from nanolm.reports import score_file
    from nanolm.run.perplexity import Perplexity

    rows: dict[str, card_scores.Row] = {}
    texts: list[card_scores.TextScore] = []
    here = source.revision or (content_of(source, count) if scores else "")
    for path in scores:
        found = _perplexity(path, Perplexity) or score_file.read(path)
        card_scores.check_model(
            source.where,
            found.model,
            file=str(path),
            entry=found.entry,
            repo=source.reference if source.revision else "",
            revision=here,
            parameters=count.parameters,
        )
        if isinstance(found, Perplexity):
            texts.append(msgspec.convert(found, card_scores.TextScore, from_attributes=True))
            continue
        for slug, line in found.benchmarks.items():
            row = card_scores.Row(raw=line.raw, items=line.items, complete=found.complete)
            if slug not in rows or row.complete or not rows[slug].complete:
                rows[slug] = row
    return card_scores.Measured(rows=rows, texts=texts)


def _perplexity(path: Path, kind: "type[Perplexity]") -> "Perplexity | None":
    """None for a file that is no measured text."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError:
        return None


def _show(where: str, findings: "list[Finding]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"holds": "green", "differs": "red", "missing": "yellow", "not checked": "dim"}
    table = Table(title=Text(f"Model card of {where}"), title_justify="left", box=None, header_style="bold")
    for column in ("what", "outcome", "the card", "here", "line"):
        table.add_column(column, overflow="fold", justify="right" if column == "line" else "left")
    shown, more = _shown(findings)
    for one in shown:
        here = "; ".join(part for part in (one.found, one.why) if part)
        line = "" if one.line is None else str(one.line)
        line += f" (\u00d7{one.times:,})" if one.times > 1 else ""
        table.add_row(
            Text(one.what), Text(one.outcome, style=colours[one.outcome]), Text(one.stated), Text(here), line
        )
    console = Console()
    console.print(table)
    for line in more:
        console.print(Text(line))
    counts = {outcome: sum(one.outcome == outcome for one in findings) for outcome in colours}
    console.print(", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))


def _shown(findings: "list[Finding]") -> "tuple[list[Finding], list[str]]":
    """At most `_MOST_ROWS` of each thing, those that differ first; and a line of how many more there are."""
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        kinds.setdefault(one.what.casefold(), []).append(one)
    shown: list[Finding] = []
    more = []
    for found in kinds.values():
        if len(found) > _MOST_ROWS:
            found.sort(key=lambda one: one.outcome != "differs")
            left = found[_MOST_ROWS:]
            differ = sum(one.outcome == "differs" for one in left)
            more.append(f"{found[0].what}: {len(left):,} more ({differ:,} differ); --json has all")
        shown += found[:_MOST_ROWS]
    return shown, more
