"""The official source data gives the protocol's counts, exclusions and chance levels (§3, §8)."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.benchmarks.chance import chance
from nanolm.editions import Edition, exclusions, load
from nanolm.editions.items import module_of
from nanolm.editions.read import sources_of
from nanolm.sources import SourceFile

pytestmark = pytest.mark.shared_data

COUNTS = {
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


@cache
def edition() -> Edition:
    return load("nano-lm-v1")


def files(slug: str, folder: Path) -> Iterator[SourceFile]:
    """The files of a benchmark where they lie in the folder of official data: official bytes or a mirror."""
    for source in edition().benchmarks[slug].sources:
        for file in sources_of(edition())[source].file:
            path, form = (
                (file.mirror[0].path, file.mirror[0].form) if file.mirror else (file.local, "official")
            )
            yield SourceFile(source=source, name=file.path, local=folder / path, form=form)


@cache
def made(slug: str, folder: Path) -> BenchmarkItems:
    found = module_of(edition(), edition().benchmarks[slug]).items(slug, list(files(slug, folder)))
    return exclusions.apply(exclusions.read(edition().folder), slug, found)


@pytest.mark.parametrize(("slug", "count"), COUNTS.items())
def test_counts(shared_data: Path, slug: str, count: int) -> None:
    assert len(made(slug, shared_data).items) == count == edition().benchmarks[slug].items


@pytest.mark.parametrize("slug", ["hellaswag-pro", "banking77", "clinc150"])
def test_chance_levels_without_a_shuffle_agree_to_four_digits(shared_data: Path, slug: str) -> None:
    found = chance(made(slug, shared_data).items)
    assert round(found.value, 4) == edition().benchmarks[slug].published_chance


@pytest.mark.parametrize("slug", ["mmlu-cf", "arc-easy"])
def test_chance_levels_after_a_shuffle_are_near(shared_data: Path, slug: str) -> None:
    found = chance(made(slug, shared_data).items)
    published = edition().benchmarks[slug].published_chance
    assert published is not None
    assert found.rule == "constant"
    assert abs(found.value - published) < 0.01


def test_chance_rules_are_the_protocols(shared_data: Path) -> None:
    rules = {slug: chance(made(slug, shared_data).items) for slug in COUNTS}
    assert {slug: found.rule for slug, found in rules.items()} == {
        "mmlu-cf": "constant",
        "arc-easy": "constant",
        "hellaswag-pro": "uniform",
        "gsm8k-platinum": "open-ended",
        "math-500": "open-ended",
        "toolalpaca": "open-ended",
        "mbpp-plus": "open-ended",
        "evoeval": "open-ended",
        "banking77": "constant",
        "clinc150": "constant",
    }
    assert rules["clinc150"].answer == "oos"


def test_exclusions_are_the_protocols(shared_data: Path) -> None:
    found = Counter(one.rule for slug in COUNTS for one in made(slug, shared_data).excluded)
    assert found == {
        "depends-on-earlier-result": 25,
        "undocumented-function": 15,
        "gold-not-json": 4,
        "reference-fails": 5,
    }


def test_toolalpaca_keeps_104_real_and_66_simulated_cases(shared_data: Path) -> None:
    groups = Counter(item.group for item in made("toolalpaca", shared_data).items)
    assert groups == {"real": 104, "simulated": 66}


def test_mmlu_cf_keeps_none_of_the_other_choices_in_its_slot(shared_data: Path) -> None:
    """Ruling 73: 4,634 items, on every slot."""
    text = "None of the other choices"
    slots = Counter(
        item.options.index(text) for item in made("mmlu-cf", shared_data).items if text in item.options
    )
    assert sum(slots.values()) == 4_634
    assert set(slots) == {0, 1, 2, 3}


def test_hellaswag_pro_options(shared_data: Path) -> None:
    """Ruling 74: two items have 3 options; item 673 of reverse_conversion has two equal ones."""
    items = made("hellaswag-pro", shared_data).items
    assert Counter(len(item.options) for item in items)[3] == 2
    equal = [item for item in items if len(set(item.options)) < len(item.options)]
    assert [item.id for item in equal] == ["reverse_conversion-673"]
    sorting = Counter(item.gold for item in items if item.group == "sentence_sorting")
    assert max(sorting.values()) < 240


def test_labels(shared_data: Path) -> None:
    for slug, count in (("banking77", 77), ("clinc150", 151)):
        items = made(slug, shared_data).items
        assert len(items[0].labels) == count
        assert all(item.labels is items[0].labels for item in items)


def test_the_300_rows_of_when2call(shared_data: Path) -> None:
    local = shared_data / "when2call" / "when2call_test_llm_judge.jsonl"
    file = SourceFile(source="when2call", name="test/when2call_test_llm_judge.jsonl", local=local)
    items = module_of(edition(), edition().benchmarks["when2call"]).items("when2call", [file]).items
    assert len(items) == 300
    assert {len(item.options) for item in items} == {4}
    assert "direct" not in {item.group for item in items}
