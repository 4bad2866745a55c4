"""Verdicts gathered from the files of several processes."""

from pathlib import Path

import pytest

from nanolm.verdicts import file, parts
from nanolm.verdicts.file import VerdictLine
from nanolm.verdicts.parts import Part

ORDER = [("second", ["b", "a"]), ("first", ["x"])]


def line(benchmark: str, item: str, sample: int = 0, correct: bool = False) -> VerdictLine:
    return VerdictLine(benchmark=benchmark, item=item, sample=sample, correct=correct)


def write_part(folder: Path, name: str, *lines: VerdictLine) -> None:
    part = Part(folder, name)
    for one in lines:
        part.add(one)
    part.close()
    part.close()


def gathered(folder: Path, without: tuple[file.Key, ...] = (), keep: bool = True) -> list[VerdictLine]:
    path = parts.gather(folder, ORDER, lambda key: key not in without, keep=keep)
    assert [one.name for one in folder.iterdir()] == [path.name]
    return list(file.read(path))


def test_the_editions_order_whoever_judged(tmp_path: Path) -> None:
    lines = [line("second", "b"), line("second", "a", 0), line("second", "a", 1), line("first", "x")]
    write_part(tmp_path, "gw0", lines[3], lines[1])
    write_part(tmp_path, "gw1", lines[2], lines[0])
    assert gathered(tmp_path) == lines
    file.write(tmp_path / "rescored", lines)
    assert (tmp_path / "rescored").read_bytes() == (tmp_path / file.FILE).read_bytes()


def test_nothing_judged_is_an_empty_file(tmp_path: Path) -> None:
    assert gathered(tmp_path) == []


def test_what_was_judged_twice_counts_once_the_later(tmp_path: Path) -> None:
    write_part(tmp_path, "gw0", line("first", "x", correct=False))
    write_part(tmp_path, "gw1", line("first", "x", correct=True))
    assert gathered(tmp_path) == [line("first", "x", correct=True)]


def test_verdicts_of_an_earlier_run_stay_while_their_output_does(tmp_path: Path) -> None:
    file.write(tmp_path / file.FILE, [line("second", "b"), line("second", "a"), line("first", "x")])
    write_part(tmp_path, "main", line("second", "a", correct=True))
    left = gathered(tmp_path, without=(("first", "x", 0),))
    assert left == [line("second", "b"), line("second", "a", correct=True)]
    write_part(tmp_path, "main", line("first", "x"))
    assert gathered(tmp_path, keep=False) == [line("first", "x")]


def test_torn_and_unknown_lines_are_left_out(tmp_path: Path) -> None:
    write_part(tmp_path, "gw0", line("first", "x"), line("first", "gone"), line("other", "x"))
    with (tmp_path / ".verdicts-gw0.part").open("ab") as torn:
        torn.write(b'{"benchmark":"second","it')
    assert gathered(tmp_path) == [line("first", "x")]


def test_parts_stay_when_the_file_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_part(tmp_path, "main", line("first", "x"))

    def full(path: Path, lines: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file, "write_encoded", full)
    with pytest.raises(OSError, match="No space"):
        parts.gather(tmp_path, ORDER, lambda _: True)
    assert list(tmp_path.glob(".verdicts-*.part"))
    parts.remove(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_kept_as_an_error_and_raises_nothing(tmp_path: Path) -> None:
    part = Part(tmp_path, "main")
    part._file.close()
    part._file = open("/dev/full", "wb")  # noqa: SIM115 closed below
    for _ in range(2000):
        part.add(line("first", "x"))
    part.close()
    part.close()
    assert "No space left on device" in part.error
