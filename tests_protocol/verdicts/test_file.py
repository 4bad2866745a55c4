"""`verdicts.jsonl`: the same bytes for the same verdicts, whatever they hold."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.answers import strict_json
from nanolm.errors import RecordError
from nanolm.verdicts import file
from nanolm.verdicts.file import VerdictLine


def line(benchmark: str = "b", item: str = "1", sample: int = 0, **fields: Any) -> VerdictLine:
    return VerdictLine(benchmark=benchmark, item=item, sample=sample, correct=False, **fields)


def test_lines_are_written_in_the_editions_order() -> None:
    order = [("second", ["b", "a"]), ("first", ["x"])]
    lines = [line("first", "x"), line("second", "a", 1), line("second", "a", 0), line("second", "b")]
    sorted_lines = file.in_order(lines, order)
    assert [one.key for one in sorted_lines] == [
        ("second", "b", 0),
        ("second", "a", 0),
        ("second", "a", 1),
        ("first", "x", 0),
    ]
    assert file.in_order(reversed(lines), order) == sorted_lines


def test_lines_of_no_item_and_lines_twice_are_refused() -> None:
    with pytest.raises(RecordError, match="item '2' of benchmark 'b'"):
        file.in_order([line(item="2")], [("b", ["1"])])
    with pytest.raises(RecordError, match="two verdicts on sample 0 of b/1"):
        file.in_order([line(), line()], [("b", ["1"])])


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    lines = [
        line(reason="wrong", rule="call-list", span=(3, 9), answer=[{"name": "f", "arguments": {"x": 5.5}}]),
        line(item="2", reason="truncated", rule="truncated"),
        line(item="3", reason="wrong", answer=[strict_json.number("9" * 5_000), strict_json.number("1e999")]),
        line(item="4", reason="wrong", answer=2**70, detail="took\nlong"),
    ]
    path = tmp_path / "new" / file.FILE
    assert file.write(path, lines) == 4
    read = list(file.read(path))
    assert read == lines
    assert read[0].verdict.answer == lines[0].answer
    before = path.read_bytes()
    file.write(path, read)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [file.FILE]


def test_numbers_are_never_rounded() -> None:
    exact = strict_json.number("0.1000000000000000055511151231257827")
    assert exact == Decimal("0.1000000000000000055511151231257827")
    data = file.encode(line(answer=exact))
    assert b"0.1000000000000000055511151231257827" in data
    assert file._decoder.decode(data).answer == exact


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / file.FILE
    file.write(path, [line()])
    before = path.read_bytes()

    def lines() -> Any:
        yield line(item="2")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        file.write(path, lines())
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_line_that_is_no_verdict_is_named(tmp_path: Path) -> None:
    path = tmp_path / file.FILE
    path.write_bytes(file.encode(line()) + b"\n{broken\n")
    with pytest.raises(RecordError, match=r"verdicts\.jsonl, line 2.*nanolm rescore"):
        list(file.read(path))


@given(st.text(st.characters(categories=["Cs", "L", "Cc"])), st.text())
def test_any_text_can_be_written(answer: str, detail: str) -> None:
    data = file.encode(line(answer={"a": [answer]}, detail=detail))
    assert b"\n" not in data
    read = file._decoder.decode(data)
    assert len(read.answer["a"][0]) >= len(answer)
    assert file.encode(read) == data
