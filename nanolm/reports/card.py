"""A Markdown card of an entry's scores, to be put into a model card."""

from collections.abc import Mapping
from typing import Any

from nanolm.editions.edition import Edition
from nanolm.errors import counted
from nanolm.reports.table import Row
from nanolm.schema import EntryScore, Interval


def card(edition: Edition, row: Row) -> str:
    """§9 as Markdown tables. Says first if the numbers are not published ones."""
    score = row.score
    lines = [f"## {_plain(edition.title)}: {_plain(row.title)}", ""]
    lines += [f"> **{reason}**" for reason in row.reasons]
    if row.reasons:
        lines.append("")
    if edition.headline == "skill":
        lines += _means(edition, score)
    lines += [
        "| Benchmark | Skill | Raw | Chance | Items | Mean output tokens | Truncated |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for slug, of in score.benchmarks.items():
        title = edition.benchmarks[slug].title if slug in edition.benchmarks else slug
        skill = with_interval(Interval(of.skill, of.low, of.high), 100.0, 1)
        raw = with_interval(Interval(of.raw, of.raw_low, of.raw_high), 100.0, 1)
        lines.append(
            f"| {_plain(title)} | {skill} | {raw} | {100 * of.chance:.1f} | {of.items:,} "
            f"| {of.mean_output_tokens:,.0f} | {100 * of.truncated_share:.1f}% |"
        )
    lines += _conventions(edition, score)
    model, decoding = score.model, score.decoding
    values = ", ".join(f"{name} {value}" for name, value in dict(decoding.get("values", {})).items())
    source = _plain(str(decoding.get("source", "")))
    if decoding.get("quote"):
        source += f': "{_plain(str(decoding["quote"]))}"'
    if decoding.get("link"):
        source += f" <{_plain(str(decoding['link']))}>"
    lines += [
        "",
        f"- Model: {_artefact(model)}, mode `{score.mode}`, "
        f"{int(model.get('parameters') or 0):,} parameters, context {int(model.get('context') or 0):,}, "
        f"licence {_plain(str(model.get('licence') or 'none stated'))}",
        f"- Decoding: {_plain(values)} ({source}); {counted(score.samples, 'sample')} per item",
        f"- Engine: {_plain(' '.join(str(part) for part in score.engine.values()))}",
        f"- Edition: {edition.name} {edition.version} (`{score.edition_digest}`)",
    ]
    return "\n".join(lines) + "\n"


def _means(edition: Edition, score: EntryScore) -> list[str]:
    """The index and the categories."""
    index = "not computed" if score.index is None else with_interval(score.index, 1.0, 2)
    raw = "" if score.raw_index is None else f" Raw index {score.raw_index:.2f}."
    lines = [
        f"**Index {index}** (0: no better than a no-skill strategy, 100: perfect; 95% interval).{raw}",
        "",
        "| Category | Score |",
        "|---|---:|",
    ]
    for category in edition.categories:
        if category.slug in score.categories:
            found = with_interval(score.categories[category.slug], 100.0, 1)
            lines.append(f"| {_plain(category.title)} | {found} |")
    return [*lines, ""]


def _conventions(edition: Edition, score: EntryScore) -> list[str]:
    """What another run has to do alike, of benchmarks that are read as log-likelihoods."""
    lines = []
    for slug in score.benchmarks:
        spec = edition.benchmarks.get(slug)
        if spec is None or spec.answer_type != "likeliest":
            continue
        context = _code(spec.layout) if spec.layout else "the opening token alone"
        compared = {"none": "its sum (acc)", "characters": "its sum by the option's characters (acc_norm)"}[spec.normalisation]
        clip = f"; of the context the last {spec.clip:,} tokens" if spec.clip else ""
        lines.append(
            f"- {_plain(spec.title)}: zero-shot, no chat template, log-likelihood of {_code(spec.continuation)} "
            f"behind {context}, compared by {compared}{clip}"
        )
    return ["", "Conventions, with line breaks as `\\n`:", "", *lines] if lines else []


def _artefact(model: Mapping[str, Any]) -> str:
    revision = f"revision `{model.get('revision', '')}`"
    return f"`{model['repo']}`, {revision}" if model.get("repo") else f"local files, {revision} (a digest of them)"


def _code(text: str) -> str:
    shown = text.replace("\n", "\\n")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def with_interval(interval: Interval, scale: float, digits: int) -> str:
    """`23.1 (21.0 to 25.2)`."""
    text = f"{scale * interval.value:.{digits}f}"
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({scale * interval.low:.{digits}f} to {scale * interval.high:.{digits}f})"


def _plain(text: str) -> str:
    """One line of text without characters that Markdown or HTML would act on."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_[]|":
        line = line.replace(character, "\\" + character)
    return line
