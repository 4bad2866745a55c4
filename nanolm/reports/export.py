"""Outputs and verdicts as Parquet, with a data card."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.errors import UsageError
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.viewer import as_text

_ROWS = 4096  # rows in memory at a time

COLUMNS = (
    ("benchmark", "string", "slug of the benchmark"),
    ("category", "string", "slug of its category"),
    ("item", "string", "the item's id in its source"),
    ("sample", "int32", "which of the item's samples, from 0"),
    ("seed", "int64", "what the engine's sampling was seeded with"),
    ("entry", "string", "name of the entry: a model at a revision in one mode"),
    ("entry_digest", "string", "digest of what decides its outputs: revision, template, decoding, stop ids"),
    ("prompt_digest", "string", "digest of the user message"),
    ("decoding", "string", "decoding settings, as JSON"),
    ("max_tokens", "int32", "the budget of new tokens for this prompt"),
    ("text", "string", "what the engine wrote, special tokens kept"),
    ("finish_reason", "string", "stop, length, unsupported (the prompt does not fit) or error"),
    ("prompt_tokens", "int32", "tokens of the rendered prompt"),
    ("output_tokens", "int32", "tokens that were written"),
    ("error", "string", "what the engine said when it failed"),
    ("started", "float64", "Unix time at which generation began"),
    ("seconds", "float64", "how long it took"),
    ("engine", "string", "the engine's name"),
    ("engine_version", "string", "and its version"),
    ("correct", "bool_", "the verdict; null where an output was not judged"),
    ("reason", "string", "why not correct: wrong, unparseable, truncated, unsupported or error"),
    ("answer", "string", "what was read; JSON when it is no text"),
    ("rule", "string", "the extraction rule that decided"),
    ("span_start", "int64", "where the answer stands in `text`, in code points"),
    ("span_end", "int64", "and where it ends"),
    ("detail", "string", "what a judge or evaluator adds"),
)
"""Name, type in pyarrow's words, what it holds."""


def export(run: RunFolder, edition: Edition, out: Path) -> tuple[Path, int]:
    """Write `<entry>.parquet` and `<entry>.md` to `out`; returns the Parquet file and its number of rows.

    One row per output, outputs and verdicts joined; an output without a verdict has nulls there. Outputs
    hold what models wrote, never an item's text. Raises `UsageError` without pyarrow.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise UsageError("writing Parquet needs pyarrow: pip install 'nanolm[board]'") from error

    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind, _ in COLUMNS])
    out.mkdir(parents=True, exist_ok=True)
    path, count = out / f"{run.file_name}.parquet", 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in _batches(_rows(run, edition)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    (out / f"{run.file_name}.md").write_text(
        _data_card(run, edition, path.name, count, schema), encoding="utf-8"
    )
    return path, count


def _rows(run: RunFolder, edition: Edition) -> Iterator[dict[str, Any]]:
    verdicts = {line.key: line for line in run.verdicts()}
    for output in run.outputs():
        line = verdicts.get((output.benchmark, output.item, output.sample))
        spec = edition.benchmarks.get(output.benchmark)
        row = {
            **{field: getattr(output, field) for field in output.__struct_fields__},
            "entry": run.name,
            "entry_digest": output.entry,
            "category": spec.category if spec else None,
            "decoding": json.dumps(msgspec.to_builtins(output.decoding)),
            "text": _unicode(output.text),
            "seed": output.seed,
        }
        row.pop("rendered_digest")
        if line is not None:
            row |= {
                "correct": line.correct,
                "reason": line.reason,
                "answer": _unicode(as_text(line.answer)),
                "rule": line.rule,
                "span_start": line.span[0] if line.span else None,
                "span_end": line.span[1] if line.span else None,
                "detail": _unicode(line.detail),
            }
        yield row


def _unicode(text: str | None) -> str | None:
    """Parquet holds UTF-8: lone surrogates become the replacement character."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _data_card(run: RunFolder, edition: Edition, file: str, count: int, schema: Any) -> str:
    score = run.score
    model = score.model
    standing = "published" if score.publishable else "not publishable: "
    standing += "; ".join(score.not_publishable_because) if not score.publishable else ""
    fields = "\n".join(
        f"| `{field.name}` | {field.type} | {text} |"
        for field, (_, _, text) in zip(schema, COLUMNS, strict=True)
    )
    closed = [spec.title for spec in edition.benchmarks.values() if not spec.redistribute]
    kept = f" Items of {', '.join(closed)} must not be redistributed." if closed else ""
    repository = f"`{model['repo']}` at `{model.get('revision', '')}`" if model.get("repo") else run.name
    sources = "\n".join(
        f"| {spec.title} | {spec.split} | {spec.licence} |" for spec in edition.benchmarks.values()
    )
    return f"""# Outputs and verdicts of {run.title} on {edition.title}

`{file}`: {count:,} rows, one per output (item × sample), with the verdict that scored it.

- Model: {repository}, mode `{score.mode}`, \
licence {model.get("licence") or "none stated"}
- Edition: {edition.name} {edition.version} (`{score.edition_digest}`)
- Engine: {score.engine.get("name", "")} {score.engine.get("version", "")}; {score.samples} sample(s) per item
- Standing: {standing}

`text` is what the engine wrote, special tokens kept; `span_start` and `span_end` are positions in it, in code
points. A lone surrogate is replaced by U+FFFD. Prompts, questions and gold answers are not part of this file:
they belong to the sources below, each under its own licence. The outputs can repeat parts of them.{kept}

| Column | Type | What it holds |
|---|---|---|
{fields}

| Benchmark | Source and split | Licence |
|---|---|---|
{sources}
"""
