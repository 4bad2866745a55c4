"""A small edition of our own, with a benchmark module that stands in for real ones."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nanolm.benchmarks.benchmark import BenchmarkItems, Exclusion
from nanolm.schema import Item
from nanolm.sources.rows import read_rows
from nanolm.sources.source import SourceFile

EDITION = """
name = "small"
title = "A small edition"
version = "1.0.0"
summary = "For tests."
budget = 256
prompt_limit = 4096
parameter_limit = 600_000_000
samples = { sampled = 4, greedy = 1 }
engine = { name = "vllm", version = "0.31.0", dtype = "bfloat16" }
extractors = { math-verify = "0.9.0" }

[categories]
knowledge = "Knowledge"

[instructions]
letter = "Answer with a letter."
label = "Answer with a label."
tool_calls = "Reply with calls."

[benchmark.toy]
title = "Toy"
category = "knowledge"
module = "toy"
answer_type = "letter"
items = 3
metric = "accuracy"
split = "ours"
licence = "CC0"
sources = ["toy"]
published_chance = 0.5

[benchmark.toy-labels]
title = "Toy labels"
category = "knowledge"
module = "toy"
answer_type = "label"
items = 3
metric = "accuracy"
split = "ours"
licence = "CC0"
sources = ["toy"]

[benchmark.toy-tools]
title = "Toy tools"
category = "knowledge"
module = "toy"
answer_type = "tool_calls"
items = 3
metric = "exact match per case"
split = "ours"
licence = "CC0"
sources = ["toy"]
"""

LOCK = """
[source.toy]
kind = "folder"
licence_protocol = "CC0"
licence_repository = "CC0"

[[source.toy.file]]
path = "toy.jsonl"
"""

ROWS = [
    {"q": "One?", "options": ["a", "b"], "gold": "A"},
    {"q": "Two?", "options": ["a", "b"], "gold": "B"},
    {"q": "Three?", "options": ["a", "b"], "gold": "A"},
]


def toy_items(benchmark: str, files: Sequence[SourceFile]) -> BenchmarkItems:
    """Items of every answer type from the same rows."""
    labels = ("a", "b")
    kinds: dict[str, dict[str, Any]] = {
        "toy": {"answer_type": "letter"},
        "toy-labels": {"answer_type": "label", "labels": labels},
        "toy-tools": {
            "answer_type": "tool_calls",
            "gold": [{"name": "f", "arguments": {"big": 2**90, "text": "ü", "none": None, "float": 0.1}}],
        },
    }
    items = []
    for file in files:
        for number, row in enumerate(read_rows(file)):
            # The real modules read richer rows; these are enough for every answer type.
            fields: dict[str, Any] = {
                "gold": row["gold"],
                "options": tuple(row["options"]) if benchmark == "toy" else (),
                **kinds[benchmark],
                **({"gold": row["gold"].lower()} if benchmark == "toy-labels" else {}),
            }
            items.append(
                Item(
                    benchmark=benchmark,
                    id=f"{number:04d}",
                    question=row["q"],
                    source=f"{file.name}:{number}",
                    **fields,
                )
            )
    return BenchmarkItems(items=tuple(items), excluded=(Exclusion("gone", "too-long"),))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a small edition; the cache is a folder of this test."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    toy = ModuleType("nanolm.benchmarks.toy")
    toy.items = toy_items  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nanolm.benchmarks.toy", toy)
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "edition.toml").write_text(EDITION, "utf-8")
    (folder / "sources.lock.toml").write_text(LOCK, "utf-8")
    write_rows(folder, ROWS)
    return folder


def write_rows(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the small edition's data."""
    (folder / "toy.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
