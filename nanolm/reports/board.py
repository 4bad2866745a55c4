"""Builds the board: one folder of pages that opens from the file system (§8, §9, §10)."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from nanolm.editions.edition import Edition
from nanolm.reports import charts, evidence, extent, site, viewer
from nanolm.reports.card import card
from nanolm.reports.folders import check_edition, runs, without_score
from nanolm.reports.reread import Rereader
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.gate import Gate, gate
from nanolm.reports.table import Row, as_csv, as_json, rows
from nanolm.schema import BenchmarkScore
from nanolm.scoring.compare import Difference, Usefulness, shown_differences, useful_middle

MEASURES = {
    "skill": "Skill",
    "raw": "Raw accuracy",
    "tokens": "Mean output tokens",
    "truncated": "Truncated, %",
    "reasons": "Failure reasons",
}


class Built(NamedTuple):
    """What was written."""

    page: Path
    entries: int
    ranked: int
    items: int
    """Items in the viewer."""
    left_out: tuple[str, ...]
    """Benchmarks whose items are not in the viewer because they must not be redistributed."""
    without_outputs: tuple[str, ...]
    """Entries that are not in the viewer and not compared: no outputs or no verdicts lie beside them."""
    evidence: tuple[str, ...]
    """Which evidence was checked, in sentences."""
    notes: tuple[str, ...]
    """What else is to be said: records without a score, runs whose score can't be checked."""


def build(
    folder: Path, out: Path, edition: Edition, items_of: viewer.ItemsOf, *, private: bool = False
) -> Built:
    """Read all runs below `folder` and write the site to `out`.

    Raises `ScoreError` when runs of several editions lie there, or while a sanity check fails; `RecordError`
    for files that can't be read. Pages of an earlier board in `out` are replaced once all new ones are there.
    """
    found = runs(folder)
    check_edition(found, edition)
    for run in found:
        run.identify(edition)
    checks = gate(folder, found)
    unverified = {run.name: why for run in found if (why := evidence.missing(run, edition))}
    checkable = [run for run in found if run.score.complete and run.name not in unverified]
    recomputed = evidence.judged(checkable, edition)
    parts = {
        run.name: str(extent.of_keys(run, edition, "verdict", (line.key for line in run.verdicts())))
        for run in found
        if not run.score.complete and run.has_verdicts()
    }
    table = rows(edition, found, checks.checked, unverified, parts)
    order = {row.name: place for place, row in enumerate(table)}
    found.sort(key=lambda run: order[run.name])
    hidden = [slug for slug, spec in edition.benchmarks.items() if not spec.redistribute and not private]
    shown = [slug for slug in edition.benchmarks if slug not in hidden]
    with_outputs = [run for run in found if run.has_outputs()]
    with site.replacing(out) as new:
        rereader = Rereader(edition, items_of)
        counts = viewer.write(new / "data", with_outputs, shown, items_of, rereader)
        if rereader.evidence.lacking:
            unverified |= evidence.lacking(rereader.evidence.lacking)
            table = rows(edition, found, checks.checked, unverified, parts)
        told = (evidence.told(len(checkable)), *rereader.evidence.told())
        _write_site_data(new, edition, table, {slug: n for slug, n in counts.items() if n})
        _write_pages(
            new,
            edition,
            found,
            table,
            checks,
            private,
            {slug for slug, n in counts.items() if n},
            recomputed,
            without_score(folder),
            told,
        )
        (new / "board.json").write_bytes(as_json(edition, table))
        (new / "board.csv").write_text(as_csv(edition, table), encoding="utf-8")
    return Built(
        page=out / "board.html",
        entries=len(table),
        ranked=sum(row.rank is not None for row in table),
        items=sum(counts.values()),
        left_out=tuple(hidden),
        without_outputs=tuple(run.name for run in found if not run.has_outputs()),
        evidence=told,
        notes=(
            *without_score(folder),
            *(f"{name} is not ranked. {why}" for name, why in unverified.items()),
        ),
    )


def _environment() -> jinja2.Environment:
    templates = resources.files("nanolm.reports") / "templates"
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _write_pages(
    out: Path,
    edition: Edition,
    found: Sequence[RunFolder],
    table: Sequence[Row],
    checks: Gate,
    private: bool,
    shown: set[str],
    recomputed: evidence.Recomputed,
    unscored: Sequence[str],
    told: Sequence[str],
) -> None:
    pages, top = _environment(), charts.ceiling(table)
    differences, middle = _comparisons(edition, recomputed)
    common = {"edition": edition, "rows": table, "private": private}
    board = pages.get_template("board.html").render(
        **common,
        root="",
        gate=checks,
        unscored=unscored,
        evidence=told,
        top=top,
        measures=MEASURES if edition.headline == "skill" else {"raw": MEASURES["raw"], **MEASURES},
        lines=_chance_lines(edition, table),
        strip=lambda row: Markup(charts.interval(row, top)),
        scatter=Markup(charts.parameters_against_index(table)),
        reasons=_reasons,
        differences=differences,
        middle=middle,
        shown=shown,
    )
    _write(out / "board.html", board)
    _write(out / "index.html", '<!doctype html><meta http-equiv="refresh" content="0;url=board.html">\n')
    _write(out / "items.html", pages.get_template("items.html").render(**common, root=""))
    titles = {slug: spec.title for slug, spec in edition.benchmarks.items()}
    entry_page = pages.get_template("entry.html")
    by_name = {run.name: run for run in found}
    for row in table:
        markdown = card(edition, row)
        _write(out / "cards" / f"{row.file_name}.md", markdown)
        run = by_name[row.name]
        page = entry_page.render(
            **common,
            root="../",
            row=row,
            titles=titles,
            shown=shown,
            card=markdown,
            link=_safe_link(row.score.decoding.get("link")),
            told={"run.json": _pretty(run.run), "rescore.json": _pretty(run.rescored)},
            rescored=run.rescored,
        )
        _write(out / "entries" / f"{row.file_name}.html", page)
    for file in (resources.files("nanolm.reports") / "static").iterdir():
        (out / "static" / file.name).write_bytes(file.read_bytes())


def _pretty(told: Mapping[str, Any]) -> str:
    return json.dumps(told, indent=1, ensure_ascii=False) if told else ""


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # lone surrogates have no UTF-8


def _write_site_data(out: Path, edition: Edition, table: Sequence[Row], counts: Mapping[str, int]) -> None:
    told = {
        "chunk": viewer.CHUNK,
        "categories": {
            category.slug: {
                "title": category.title,
                "benchmarks": [s for s in counts if edition.benchmarks[s].category == category.slug],
            }
            for category in edition.categories
        },
        "benchmarks": {
            slug: {"title": edition.benchmarks[slug].title, "items": count} for slug, count in counts.items()
        },
        "entries": {row.file_name: {"title": row.label} for row in table},
    }
    text = json.dumps(told).replace("<", "\\u003c")
    (out / "data" / "site.js").write_text(f"window.nanolmSite = {text};\n", encoding="ascii")


def _comparisons(
    edition: Edition, recomputed: evidence.Recomputed
) -> tuple[dict[str, dict[str, Difference | None]], list[Usefulness]]:
    """Pairwise differences and the useful middle, over runs that are complete and have all verdicts."""
    results, resampled = recomputed
    if len(results) < 2:
        return {}, []
    real = {name: each for name, each in results.items() if name not in ("oracle", "constant", "random")}
    middle = useful_middle(edition, real, resampled) if len(real) > 1 else []
    return shown_differences(edition, results, resampled), middle


def _chance_lines(edition: Edition, table: Sequence[Row]) -> dict[str, BenchmarkScore]:
    """For each benchmark the line of a complete run: its chance level and items head the table."""
    found: dict[str, BenchmarkScore] = {}
    for row in sorted(table, key=lambda row: not row.score.complete):
        for slug, line in row.score.benchmarks.items():
            if slug in edition.benchmarks:
                found.setdefault(slug, line)
    return found


def _reasons(line: BenchmarkScore) -> str:
    return "\n".join(f"{reason} {count:,}" for reason, count in line.reasons.items()) or "none"


def _safe_link(link: Any) -> str:
    """Only web addresses become links: anything else in an entry file is shown as text."""
    return link if isinstance(link, str) and link.startswith(("https://", "http://")) else ""
