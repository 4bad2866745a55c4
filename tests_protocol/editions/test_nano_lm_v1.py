"""The edition of the protocol: its own files agree, and the official data gives what is frozen."""

from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions.datasheet import datasheet
from nanolm.editions.fetch import fetch_edition
from nanolm.editions.lock import check

WHOLE = {
    "mmlu-cf": 10_000,
    "arc-easy": 2_376,
    "hellaswag-pro": 5_600,
    "gsm8k-platinum": 1_209,
    "math-500": 500,
    "toolalpaca": 170,
    "mbpp-plus": 377,
    "evoeval": 824,
    "banking77": 3_080,
    "clinc150": 5_500,
}
SHUFFLED = {"mmlu-cf", "arc-easy", "global-piqa", "when2call"}


def test_the_suite_is_the_protocols() -> None:
    edition = editions.load("nano-lm-v1")
    counts = {slug: spec.items for slug, spec in edition.benchmarks.items()}
    assert sum(counts.values()) == 33_485
    assert {slug: counts[slug] for slug in WHOLE} == WHOLE
    assert len(edition.categories) == 6


def test_every_packaged_edition_is_read() -> None:
    assert {"mini", "nano-lm-v1"} <= set(editions.names())
    for name in editions.names():
        assert editions.load(name).name == name
        assert datasheet(editions.load(name)).benchmarks


@pytest.mark.shared_data
def test_the_official_data_gives_the_protocols_counts_and_nothing_drifts(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    edition = editions.load("nano-lm-v1")
    report = fetch_edition(edition, from_folder=shared_data)
    assert report.errors == ()
    counts = {each.benchmark: each.items for each in report.benchmarks if each.items is not None}
    assert {slug: counts[slug] for slug in WHOLE} == WHOLE
    checked, drifts = check(edition)
    assert drifts == ()
    assert set(checked) >= set(WHOLE)


def test_frozen_chance_levels_are_the_published_ones() -> None:
    """To four digits where no option order is involved, within 0.01 where one is (ruling 71)."""
    sheet = datasheet(editions.load("nano-lm-v1"))
    frozen = {slug: line for slug, line in sheet.benchmarks.items() if line.chance is not None}
    assert set(frozen) >= set(WHOLE)
    for slug, line in frozen.items():
        assert line.chance is not None
        assert line.published_chance is not None
        tolerance = 0.01 if slug in SHUFFLED else 0.00005
        assert abs(line.chance - line.published_chance) <= tolerance, slug
