"""Accuracy by group, from the verdicts of a run."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm import editions
from nanolm.cli import cli
from nanolm.errors import RecordError, UsageError
from nanolm.reports.groups import by_group
from nanolm.run import Suite
from nanolm.verdicts import file as verdicts
from nanolm.verdicts.file import VerdictLine

MINI = editions.load("mini")
GROUPED = "hellaswag-pro-mini"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two samples of each item of two benchmarks; the first of each is right."""
    made = tmp_path / "mini" / "tiny"
    made.mkdir(parents=True)
    suite = Suite(MINI)
    lines = [
        VerdictLine(benchmark=slug, item=item, sample=sample, correct=sample == 0)
        for slug in (GROUPED, "gsm8k-platinum-mini")
        for item in suite.ids(slug)
        for sample in (0, 1)
    ]
    verdicts.write(made / verdicts.FILE, lines)
    (made / "score.json").write_text("{}")
    return made


def test_groups_in_the_editions_order_with_all_samples(folder: Path) -> None:
    found = by_group(MINI, folder)
    items = Suite(MINI).items(GROUPED)
    assert [one.group for one in found] == list(dict.fromkeys(item.group for item in items))
    assert sum(one.replies for one in found) == 2 * len(items)
    assert {one.accuracy for one in found} == {0.5}
    assert {one.benchmark for one in found} == {GROUPED}


def test_the_command(folder: Path) -> None:
    arguments = ["groups", "tiny", GROUPED, "--json", "--reports-dir", str(folder.parent.parent)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)[0]["accuracy"] == 0.5


def test_the_edition_may_be_a_folder(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "editions" / "mini-2"
    own.mkdir(parents=True)
    (own / "edition.toml").write_text(
        'name = "mini-2"\ntitle = "m"\nversion = "2"\nsummary = ""\ninherits = "mini"\n'
    )
    folder.parent.rename(folder.parent.with_name("mini-2"))
    arguments = ["groups", "tiny", GROUPED, "-e", str(own), "--json", "--reports-dir", str(tmp_path)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)[0]["accuracy"] == 0.5


def test_what_there_is_not_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match="did you mean hellaswag-pro-mini"):
        by_group(MINI, folder, ["hellaswag-pro"])
    with pytest.raises(UsageError, match="no item with a group was run"):
        by_group(MINI, folder, ["gsm8k-platinum-mini"])
    (folder / verdicts.FILE).unlink()
    with pytest.raises(RecordError, match="`nanolm rescore` writes it"):
        by_group(MINI, folder)
