"""Outputs and verdicts as Parquet, with a data card."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.errors import UsageError
from nanolm.reports.folders import RunFolder
from nanolm.reports.viewer import as_text

_ROWS = 4096  # rows in memory at a time


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

    schema = pa.schema(
        [
            ("benchmark", pa.string()),
            ("category", pa.string()),
            ("item", pa.string()),
            ("sample", pa.int32()),
            ("seed", pa.int64()),
            ("entry", pa.string()),
            ("entry_digest", pa.string()),
            ("prompt_digest", pa.string()),
            ("decoding", pa.string()),
            ("max_tokens", pa.int32()),
            ("text", pa.string()),
            ("finish_reason", pa.string()),
            ("prompt_tokens", pa.int32()),
            ("output_tokens", pa.int32()),
            ("error", pa.string()),
            ("started", pa.float64()),
            ("seconds", pa.float64()),
            ("engine", pa.string()),
            ("engine_version", pa.string()),
            ("correct", pa.bool_()),
            ("reason", pa.string()),
            ("answer", pa.string()),
            ("rule", pa.string()),
            ("span_start", pa.int64()),
            ("span_end", pa.int64()),
            ("detail", pa.string()),
        ]
    )
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
    fields = "\n".join(f"| `{field.name}` | {field.type} |" for field in schema)
    sources = "\n".join(
        f"| {spec.title} | {spec.split} | {spec.licence} |" for spec in edition.benchmarks.values()
    )
    return f"""# Outputs and verdicts of {run.title} on {edition.title}

`{file}`: {count:,} rows, one per output (item × sample), with the verdict that scored it.

- Model: `{model.get("repo", "")}` at `{model.get("revision", "")}`, mode `{score.mode}`, \
licence {model.get("licence") or "none stated"}
- Edition: {edition.name} {edition.version} (`{score.edition_digest}`)
- Engine: {score.engine.get("name", "")} {score.engine.get("version", "")}; {score.samples} sample(s) per item
- Standing: {standing}

`text` is what the engine wrote, special tokens kept; `span_start` and `span_end` are positions in it, in code
points. A lone surrogate is replaced by U+FFFD. Prompts, questions and gold answers are not part of this file:
they belong to the sources below, each under its own licence. The outputs can repeat parts of them.

| Column | Type |
|---|---|
{fields}

| Benchmark | Source and split | Licence |
|---|---|---|
{sources}
"""
