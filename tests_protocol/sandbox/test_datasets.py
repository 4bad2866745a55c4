"""Which official suite judges what, and where its files are."""

import gzip
from pathlib import Path

import pytest

from nanolm.editions.read import load
from nanolm.errors import SandboxError, UsageError
from nanolm.sandbox import dataset, of_edition, official
from nanolm.sandbox.datasets import OFFICIAL, data_sum, unpacked


@pytest.mark.parametrize(
    ("name", "suite", "inner", "raw"),
    [
        ("mbpp-plus", "mbpp", "MbppPlus.jsonl", False),
        ("mbpp-plus-mini", "mbpp", "MbppPlus.jsonl", False),
        ("evoeval-tool_use", "evoeval", "EvoEval_tool_use.jsonl", False),
        ("evoeval-difficult-mini", "evoeval", "EvoEval_difficult.jsonl", False),
        ("evoeval-verbose", "evoeval", "EvoEval_verbose.jsonl", True),
        ("evoeval-concise", "evoeval", "EvoEval_concise.jsonl", True),
    ],
)
def test_a_name_says_which_suite(name: str, suite: str, inner: str, raw: bool) -> None:
    made = dataset(name, Path("x.jsonl"))
    assert (made.suite, made.inner_name, made.raw) == (suite, inner, raw)


@pytest.mark.parametrize("name", ["mbpp", "evoeval", "evoeval-hard", "humaneval", "", "evoeval-tool-use"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="mbpp-plus or evoeval-"):
        dataset(name, Path("x.jsonl"))


def test_five_tasks_are_excluded() -> None:
    """§3: the reference solution fails the official evaluator."""
    excluded = {name: sorted(dataset(name, Path()).excluded) for name in OFFICIAL}
    assert sum(map(len, excluded.values())) == 5
    assert excluded["mbpp-plus"] == ["Mbpp/255"]
    assert excluded["evoeval-concise"] == excluded["evoeval-verbose"] == ["HumanEval/130", "HumanEval/32"]


def test_the_mini_edition_has_three() -> None:
    found = of_edition(load("mini"))
    assert sorted(found) == ["evoeval-difficult-mini", "evoeval-tool_use-mini", "mbpp-plus-mini"]
    assert all(data.file.is_file() for data in found.values())


@pytest.mark.shared_data
def test_v1_has_1201_tasks(shared_data: Path) -> None:
    total = 0
    for data in official(shared_data).values():
        with gzip.open(data.file, "rt", encoding="utf-8") as lines:
            total += sum(1 for line in lines if line.strip()) - len(data.excluded)
    assert total == 1201


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"MbppPlus\.jsonl\[\.gz\] is not below"):
        official(tmp_path)


def test_packed_and_plain_are_the_same_data(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_bytes(b'{"task_id": "Mbpp/2"}\n')
    with gzip.open(packed, "wb") as out:
        out.write(plain.read_bytes())
    one, two = dataset("mbpp-plus", plain), dataset("mbpp-plus", packed)
    assert data_sum(one) == data_sum(two)
    place = unpacked(two, tmp_path / "data", data_sum(two))
    assert place.name == "MbppPlus.jsonl"
    assert place.read_bytes() == plain.read_bytes()
    assert place.stat().st_mode & 0o777 == 0o444
    assert unpacked(one, tmp_path / "data", data_sum(one)) == place


def test_a_cut_file_is_an_error(tmp_path: Path) -> None:
    cut = tmp_path / "MbppPlus.jsonl.gz"
    cut.write_bytes(gzip.compress(b"x" * 10_000)[:-20])
    with pytest.raises(SandboxError, match="can't be read"):
        data_sum(dataset("mbpp-plus", cut))
