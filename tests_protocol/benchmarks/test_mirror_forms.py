"""Items from a mirror form equal those of the official form, field by field.

The official files' layout is written here from the mirror's rows, as the hub has them (Parquet).
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanolm.benchmarks import arc_easy, gsm8k_platinum, mmlu_cf
from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.schema import Item
from nanolm.sources import SourceFile

parquet = pytest.importorskip("pyarrow.parquet")

Make = Callable[[str, list[SourceFile]], BenchmarkItems]


def official(folder: Path, name: str, rows: list[dict[str, Any]]) -> SourceFile:
    import pyarrow

    local = folder / name
    local.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), local)
    return SourceFile(source="s", name=name, local=local)


def mirrored(local: Path, name: str, form: str) -> SourceFile:
    return SourceFile(source="s", name=name, local=local, form=form)


def assert_equal(found: BenchmarkItems, expected: BenchmarkItems) -> None:
    assert len(found.items) == len(expected.items) > 0
    for left, right in zip(found.items, expected.items, strict=True):
        if left != right:
            fields = [f for f in Item.__struct_fields__ if getattr(left, f) != getattr(right, f)]
            pytest.fail(f"{left.id}: {', '.join(fields)} differ: {left} and {right}")
    assert msgspec.structs.asdict(found) == msgspec.structs.asdict(expected)


def arc_hub_row(row: dict[str, Any], letters: str) -> dict[str, Any]:
    labels = list(letters[: len(row["choices"])])
    choices = {"text": row["choices"], "label": labels}
    return {
        "id": row["id"], "question": row["question"], "choices": choices, "answerKey": labels[row["gold"]],
    }  # fmt: skip


def gsm_hub_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    return [{"question": row["problem"], "answer": row["gt_solution"]} for row in ordered]


MMLU = [
    {
        "Question": f"q{n}",
        "A": f" a{n}",
        "B": "b",
        "C": "all of the above",
        "D": f"d{n} ",
        "Answer": "ABCD"[n % 4],
    }
    for n in range(40)
]
ARC = [
    {"id": f"Mercury_{n}", "question": f"q{n}", "choices": list("wxyzv")[: 3 + n % 3], "gold": n % 3}
    for n in range(40)
]
GSM = [
    {"id": f"GSM8KPlatinum-{n:04d}", "problem": f"p{n}", "gt_solution": f"s\n#### {n},000", "gt_answer": None}
    for n in range(40)
]


def own(tmp_path: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    local = tmp_path / name
    text = json.dumps(rows) if name.endswith(".json") else "\n".join(json.dumps(row) for row in rows)
    local.write_text(text, "utf-8")
    return local


def test_mmlu_cf(tmp_path: Path) -> None:
    _mmlu(tmp_path, own(tmp_path, "m.json", MMLU))


def test_arc_easy(tmp_path: Path) -> None:
    _arc(tmp_path, own(tmp_path, "m.json", ARC))


def test_gsm8k_platinum_whatever_order_the_mirror_has(tmp_path: Path) -> None:
    shuffled = list(GSM)
    random.Random(3).shuffle(shuffled)
    _gsm(tmp_path, own(tmp_path, "m.jsonl", shuffled))


@pytest.mark.shared_data
def test_mmlu_cf_whole(tmp_path: Path, shared_data: Path) -> None:
    _mmlu(tmp_path, shared_data / "mmlu-cf" / "validation.json")


@pytest.mark.shared_data
def test_arc_easy_whole(tmp_path: Path, shared_data: Path) -> None:
    _arc(tmp_path, shared_data / "arc" / "arc-easy-test.json")


@pytest.mark.shared_data
def test_gsm8k_platinum_whole(tmp_path: Path, shared_data: Path) -> None:
    _gsm(tmp_path, shared_data / "gsm8k-platinum" / "test.jsonl")


def _mmlu(tmp_path: Path, mirror: Path) -> None:
    hub = official(tmp_path, "val.parquet", json.loads(mirror.read_text("utf-8")))
    mirror_file = mirrored(mirror, "val.parquet", "one-list")
    assert_equal(mmlu_cf.items("mmlu-cf", [mirror_file]), mmlu_cf.items("mmlu-cf", [hub]))


def _arc(tmp_path: Path, mirror: Path) -> None:
    name = "ARC-Easy/test-00000-of-00001.parquet"
    rows = json.loads(mirror.read_text("utf-8"))
    # On the hub labels are letters in some rows and digits in others.
    hub = official(
        tmp_path, name, [arc_hub_row(row, "ABCDE" if n % 7 else "12345") for n, row in enumerate(rows)]
    )
    mirror_file = mirrored(mirror, name, "choices-list")
    assert_equal(arc_easy.items("arc-easy", [mirror_file]), arc_easy.items("arc-easy", [hub]))


def _gsm(tmp_path: Path, mirror: Path) -> None:
    name = "main/test-00000-of-00001.parquet"
    rows = [json.loads(line) for line in mirror.read_text("utf-8").splitlines() if line]
    hub = official(tmp_path, name, gsm_hub_rows(rows))
    mirror_file = mirrored(mirror, name, "cooked-jsonl")
    made: Make = gsm8k_platinum.items  # type: ignore[assignment]
    assert_equal(made("gsm8k-platinum", [mirror_file]), made("gsm8k-platinum", [hub]))
