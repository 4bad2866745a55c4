"""Source files for the benchmark modules, written by a test or lying in the folder of official data."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanolm import sources
from nanolm.sources.source import SourceFile

Write = Callable[..., SourceFile]


def _rows(file: SourceFile) -> Iterator[dict[str, Any]]:
    """Reads what these tests need, where the sources room is not there yet."""
    name = file.local.name.removesuffix(".gz")
    opened = gzip.open if file.local.suffix == ".gz" else open
    with opened(file.local, "rt", encoding="utf-8", newline="") as stream:
        if name.endswith(".json"):
            yield from json.load(stream)
        elif name.endswith(".jsonl"):
            yield from (json.loads(line) for line in stream if line.strip())
        else:
            yield from csv.DictReader(stream, delimiter="\t" if name.endswith(".tsv") else ",")


@pytest.fixture(autouse=True)
def _readable_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(sources, "read_rows"):
        monkeypatch.setattr(sources, "read_rows", _rows, raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(name, rows or text, form="official")` gives the source file."""

    def written(name: str, content: Any, form: str = "official") -> SourceFile:
        local = tmp_path / form / name
        local.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            text = content
        elif name.endswith(".jsonl"):
            text = "\n".join(json.dumps(row) for row in content)
        else:
            text = json.dumps(content)
        local.write_text(text, "utf-8")
        return SourceFile(source="test", name=name, local=local, form=form)

    return written
