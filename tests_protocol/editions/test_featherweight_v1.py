"""Featherweight v1: the suite as its document has it, the two prompts, and the frozen items."""

from pathlib import Path

import pytest

from nanolm import editions
from nanolm.benchmarks import featherweight
from nanolm.editions import prompt
from nanolm.editions.datasheet import not_publishable_because
from nanolm.editions.fetch import fetch_edition
from nanolm.editions.lock import check
from nanolm.schema import Decoding, Item

PLAIN = """What colour is the sky?

A) red
B) blue
C) green
D) black

Answer with just the letter of the correct choice."""

COMPLETION = """Question: What colour is the sky?
A) red
B) blue
C) green
D) black
Answer:"""


def test_the_suite() -> None:
    edition = editions.load("featherweight-v1")
    assert list(edition.benchmarks) == ["featherweight-plain", "featherweight-completion"]
    assert [spec.items for spec in edition.benchmarks.values()] == [100, 100]
    assert {spec.answer_type for spec in edition.benchmarks.values()} == {"featherweight_letter"}
    assert edition.decoding == Decoding(temperature=0.0, top_p=1.0, top_k=1, repetition_penalty=1.0)
    assert (edition.budget, edition.samples_greedy) == (20, 1)
    assert (edition.base_models, edition.prompting, edition.details) == (True, "chat", True)
    assert not_publishable_because(edition) == ()


@pytest.mark.parametrize(
    ("slug", "text"), [("featherweight-plain", PLAIN), ("featherweight-completion", COMPLETION)]
)
def test_its_two_prompts(slug: str, text: str) -> None:
    item = Item(
        benchmark=slug,
        id="1",
        answer_type="featherweight_letter",
        question="What colour is the sky?",
        options=("red", "blue", "green", "black"),
        gold="B",
    )
    assert prompt.make(editions.load("featherweight-v1"), item).text == text


@pytest.mark.shared_data
def test_the_official_file_gives_the_frozen_items(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    edition = editions.load("featherweight-v1")
    fetch_edition(edition, from_folder=shared_data)
    assert check(edition) == (("featherweight-plain", "featherweight-completion"), ())
    plain, completion = (editions.load_items(edition, slug).items for slug in edition.benchmarks)
    assert featherweight.positions(plain) == dict.fromkeys("ABCD", 25)
    groups = [item.group for item in plain]
    assert {groups.count(group) for group in groups} == {10}
    assert len(set(groups)) == 10
    assert [(i.id, i.question, i.options, i.gold) for i in plain] == [
        (i.id, i.question, i.options, i.gold) for i in completion
    ]
