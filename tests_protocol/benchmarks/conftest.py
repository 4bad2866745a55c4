"""Source files for the benchmark modules, written by a test or lying in the folder of official data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanolm.sources import SourceFile

Write = Callable[..., SourceFile]


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
