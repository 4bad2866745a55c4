"""What tables look like on a terminal of 80 columns, and in a file."""

import io
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from nanolm.cli import cli, tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, show: Callable[[], object]) -> list[str]:
    """What `show` prints on a terminal of 80 columns."""
    found = Terminal()
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "dumb")
        patch.setattr("sys.stdout", found)
        show()
    return found.getvalue().splitlines()


def test_the_suite_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["edition", "show", "nano-lm-v1"]
    lines = on_a_terminal(monkeypatch, lambda: cli(arguments, standalone_mode=False))
    assert max(map(len, lines)) <= 80
    suite = next(line.split() for line in lines if "CLINC150" in line)
    assert suite == ["CLINC150", "5,500", "label", "0.1818", "constant", "0.1818", "+0.0000"]
    assert any(line.split()[:4] == ["Global", "PIQA", "203", "letter"] for line in lines)


def test_a_line_is_folded_between_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/a/very-long/path/" + "x" * 90
    text = f"Missing: {path} and some more words that go on until the line is full and over"
    lines = on_a_terminal(monkeypatch, lambda: tables.print_line(text))
    assert path in lines
    assert " ".join(lines) == text


def test_in_a_file_lines_are_whole_and_end_with_their_last_sign() -> None:
    output = CliRunner().invoke(cli, ["edition", "show", "nano-lm-v1"]).output
    assert not [line for line in output.splitlines() if line != line.rstrip()]
    assert any(
        "Apache-2.0 (LICENSE.txt of NVIDIA/When2Call), CC BY 4.0 (hub card)" in line
        for line in output.splitlines()
    )
    assert "\x1b" not in output
