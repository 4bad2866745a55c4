"""`--gate` conditions."""

from pathlib import Path

import pytest

from nanolm.errors import UsageError
from nanolm.plugin.gate import conditions
from nanolm.schema import BenchmarkScore, EntryScore, Interval

SCORE = EntryScore(
    edition="mini",
    edition_digest="d",
    entry="e",
    mode="no-think",
    complete=True,
    publishable=True,
    index=Interval(12.5),
    raw_index=None,
    categories={"coding": Interval(0.25)},
    benchmarks={
        "arc": BenchmarkScore(
            skill=0.1, raw=0.4, chance=0.3, chance_rule="constant", items=10, truncated_share=0.05
        )
    },
    decoding={},
    model={},
    engine={},
    samples=1,
)


def problems(gate: str) -> list[str]:
    return [text for one in conditions(gate, ["arc"], ["coding"]) if (text := one.problem(SCORE))]


@pytest.mark.parametrize(
    "gate",
    ["index >= 12.5", "index>12.4, raw[arc] == 0.4", "category[coding] <= 0.25", "truncated[arc] < 0.06"],
)
def test_what_holds(gate: str) -> None:
    assert problems(gate) == []


def test_what_does_not_hold_says_by_how_much() -> None:
    assert problems("index > 12.5, skill[arc] >= 0.2") == [
        "index > 12.5: it is 12.5",
        "skill[arc] >= 0.2: it is 0.1",
    ]
    assert problems("raw_index >= 0") == ["raw_index >= 0: this run has no such score"]


def test_a_file_has_one_a_line_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "gate"
    path.write_text("# release\n\nindex >= 20  # soon\nskill[arc] > 0\n")
    assert problems(str(path)) == ["index >= 20: it is 12.5"]


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("indx >= 3", "did you mean index"),
        ("skill[ark] > 0", "did you mean arc"),
        ("category[code] > 0", "unknown --gate category"),
        ("skill > 0", "unknown --gate benchmark"),
        ("index", "can't read 'index'"),
        ("", "no condition"),
    ],
)
def test_what_can_not_be_read(gate: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("[", r"\[")):
        conditions(gate, ["arc"], ["coding"])


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "gate"
    path.write_bytes(b"index >= 1\xff\xfe\n")
    with pytest.raises(UsageError, match=r"gate can.t be read: .*; expected a text file"):
        conditions(str(path), ["arc"], ["coding"])
