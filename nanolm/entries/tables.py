"""Tables of entries, audits and locks for the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nanolm.editions.edition import Edition
from nanolm.entries.decoding import FIELDS
from nanolm.entries.entry import Entry
from nanolm.entries.inspect import Inspection
from nanolm.entries.lock import Locked
from nanolm.schema import Decoding

_COLOURS = {
    "holds": "green",
    "look": "yellow",
    "fails": "red",
    "confirmed": "green",
    "filled in": "green",
    "differs": "red",
    "open": "yellow",
}


def _table(*columns: str, title: str = "") -> Table:
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    for column in columns:
        right = column in ("parameters", "context", "elements", "bytes")
        table.add_column(
            column, justify="right" if right else "left", overflow="fold", no_wrap=right or column == "name"
        )
    return table


def short(values: Decoding) -> str:
    """Decoding in few words: `T 0.6, top-p 0.95, top-k 20`; what is off is left out."""
    if values.greedy:
        return "greedy"
    parts = [f"T {values.temperature:g}"]
    parts += [f"top-p {values.top_p:g}"] if values.top_p < 1 else []
    parts += [f"top-k {values.top_k}"] if values.top_k else []
    parts += [f"min-p {values.min_p:g}"] if values.min_p else []
    parts += [f"rep. {values.repetition_penalty:g}"] if values.repetition_penalty != 1 else []
    return ", ".join(parts)


def state(entry: Entry) -> str:
    """Whether an entry can be published, in a few words."""
    if entry.superseded_by:
        return f"superseded by {entry.superseded_by}"
    if not entry.official:
        return "unofficial"
    if entry.unverified:
        return f"{len(entry.unverified)} open"
    return "ready" if not entry.not_publishable_because else "not publishable"


def print_list(edition: Edition, entries: Sequence[Entry], console: Console | None = None) -> None:
    """An edition's entries, one a line."""
    out = console or Console()
    table = _table("name", "mode", "parameters", "context", "decoding", "state", title=edition.title)
    for entry in entries:
        values = short(entry.decoding.values)
        cells = (entry.name, entry.mode, f"{entry.parameters:,}", f"{entry.context:,}", values, state(entry))
        table.add_row(*map(Text, cells))
    out.print(table if entries else Text(f"{edition.title} has no entries of its own"))
    if any(entry.unverified for entry in entries):
        out.print(
            Text("open: questions that nanolm entry lock NAME answers; nanolm entry show NAME lists them")
        )


def print_entry(entry: Entry, console: Console | None = None) -> None:
    """All settings of an entry with the reason for each, then what is odd or open."""
    out = console or Console()
    table = _table("field", "value", "why", title=f"{entry.title}  ({entry.name})")
    why = entry.reasons
    where = entry.path or entry.repo
    rows = {
        "model": (where or "none", entry.artefact),
        "revision": (entry.revision or "not known", "" if entry.repo else "digest of the model's files"),
        "mode": (entry.mode, why.get("mode", "")),
        "template": (
            entry.template_sha256 or ("none" if entry.mode == "base" else "not pinned"),
            why.get("template_sha256", ""),
        ),
        "template arguments": (_plain(entry.template_arguments), ""),
        "parameters": (f"{entry.parameters:,}", why.get("parameters", "")),
        "context": (f"{entry.context:,} tokens", why.get("context", "")),
        "decoding": (short(entry.decoding.values), why.get("decoding", entry.decoding.source)),
        "values": (_values(entry), _sources(entry)),
        "quote": (entry.decoding.quote, entry.decoding.link),
        "samples": (str(entry.samples), "1 when greedy (§5)" if entry.samples == 1 else "sampled (§5)"),
        "stop ids": (_plain(list(entry.stop_ids)), why.get("stop_ids", "")),
        "end markers": (" ".join(entry.end_markers), "stripped from the end of a reply"),
        "BOS": (_bos(entry), why.get("add_bos", "")),
        "reasoning": (_reasoning(entry), ""),
        "licence": (entry.licence or "not stated", ""),
        "digest": (entry.digest, "part of every record's key"),
    }
    for field, (value, reason) in rows.items():
        if value:
            table.add_row(field, Text(value), Text(reason))
    out.print(table)
    for warning in entry.warnings:
        out.print(Text(f"note: {warning}", style="yellow"))
    for because in entry.not_publishable_because:
        out.print(Text(f"not publishable: {because}", style="yellow"))


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _values(entry: Entry) -> str:
    if entry.decoding.values.greedy:
        return ""
    return ", ".join(f"{field} {getattr(entry.decoding.values, field):g}" for field in FIELDS)


def _sources(entry: Entry) -> str:
    return ", ".join(f"{field}: {entry.decoding.sources.get(field, '?')}" for field in FIELDS)


def _bos(entry: Entry) -> str:
    if entry.mode == "base":
        return "by the tokenizer's own rule"
    return "added once" if entry.add_bos else "not added"


def _reasoning(entry: Entry) -> str:
    if entry.reasoning is None:
        return ""
    opened = ", the template opens it" if entry.reasoning.opened_by_template else ""
    return f"{entry.reasoning.opener} … {entry.reasoning.closer}{opened}"


def print_inspection(found: Inspection, limit: int, console: Console | None = None) -> None:
    """An audit: files, what was left out and why, the count, and each rule of §2."""
    out = console or Console()
    count = found.audit
    files = _table("file", "bytes", "SHA-256", title=count.where)
    for file in count.files:
        cells = (file.name, f"{file.bytes:,}", file.sha256 or "not read (headers only)")
        files.add_row(*map(Text, cells))
    out.print(files, "")
    table = _table("tensors", "elements", "why")
    table.add_row("in the headers", f"{count.header_total:,}", f"{count.tensors} tensors")
    for item in count.left_out:
        table.add_row(Text(f"- {item.name}"), f"{item.elements:,}", Text(item.why))
    table.add_row("unique parameters", f"{count.parameters:,}", f"tied embeddings: {count.tied}")
    if count.with_buffers != count.parameters:
        why = "decides about eligibility (ruling 68)"
        table.add_row("unique with buffers", f"{count.with_buffers:,}", why)
    table.add_row("limit", f"{limit:,}", "protocol §2")
    out.print(table, "")
    for note in count.notes:
        out.print(Text(f"note: {note}", style="yellow"))
    rules = _table("rule", "outcome", "found")
    for rule in found.eligibility.rules:
        rules.add_row(rule.name, Text(rule.outcome, style=_COLOURS[rule.outcome]), Text(rule.found))
    out.print(rules, "")
    out.print(Text(found.eligibility.line, style="bold"))


def print_lock(path: Path, locked: Locked, console: Console | None = None) -> None:
    """What a lock found, field by field."""
    out = console or Console()
    table = _table("field", "outcome", "found", title=locked.file.name)
    for item in locked.findings:
        found = item.why or _plain(item.model)
        table.add_row(item.field, Text(item.outcome, style=_COLOURS[item.outcome]), Text(found))
    out.print(table)
    for warning in locked.file.warnings:
        out.print(Text(f"note: {warning}", style="yellow"))
    open_ = ", ".join(locked.file.unverified)
    rest = f"still open: {open_}" if open_ else "nothing is open: it can be published"
    out.print(Text(f"wrote {path}; {rest}"))
