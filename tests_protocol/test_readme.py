"""The README says what the data says."""

from pathlib import Path

from click.testing import CliRunner

from nanolm.cli import cli

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_suite_table_is_the_one_that_edition_show_prints() -> None:
    printed = CliRunner().invoke(cli, ["edition", "show", "nano-lm-v1", "--markdown"])
    assert printed.exit_code == 0
    assert printed.output.strip() in README.read_text("utf-8")
