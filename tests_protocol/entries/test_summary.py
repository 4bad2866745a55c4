"""What a run says about a model that has no entry file."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from nanolm.entries import Entry, resolve, summary

from .conftest import CHATML, Write
from .test_derive import HYBRID

ROOT = Path(__file__).resolve().parents[2]


def test_the_head_of_a_run_says_what_was_derived_and_why(model: Write, tmp_path: Path) -> None:
    folder = model(template="{{ strftime_now('%Y') }}" + CHATML, generation={"do_sample": True, "top_k": 7})
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests_benchmarks", "--collect-only"),
            *("--entry", str(folder), "--reports-dir", str(tmp_path), "-k", "arc_easy"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in (
        f"nanolm: tiny-chat, derived from {folder}",
        "  mode        no-think (non-reasoning: the template neither opens nor demands reasoning",
        "  decoding    T 1, top-k 7, 4 samples an item (generation_config.json enables sampling",
        "  context     4,096 tokens (max_position_embeddings in config.json)",
        "  note: the template asks for today's date; its clock stands at 2026-01-01",
    ):
        assert line in done.stdout


def test_official_entries_and_checks_need_no_explanation() -> None:
    for name in ("qwen3-0.6b-think", "oracle"):
        assert summary.lines(resolve(name, None)) == []


@pytest.mark.parametrize("name", ["qwen3-0.6b-no-think", "lfm2-350m", "smollm2-135m-instruct-q4", "oracle"])
def test_workers_get_the_same_entry(name: str) -> None:
    entry = resolve(name, None)
    assert msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry


def test_workers_get_the_same_derived_entry(model: Write) -> None:
    entry = resolve(str(model(template=HYBRID)) + "#no-think", None)
    assert entry.reasons
    assert msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry
