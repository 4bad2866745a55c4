"""The log-likelihood edition: its conventions are data, and the official data gives what is frozen."""

import json
import re
from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions import prompt
from nanolm.editions.corpus import corpus_text
from nanolm.editions.fetch import fetch_edition
from nanolm.editions.lock import check
from nanolm.errors import EditionError, SourceError, UsageError
from nanolm.schema import Item

EDITION = editions.load("slm-specs")

ITEM = {
    "id": "1",
    "answer_type": "likeliest",
    "question": "Why is {question} _ so?",
    "options": ("the first", "the second"),
    "gold": "A",
}


def pairs(slug: str, **fields: object) -> tuple[tuple[str, str], ...]:
    return prompt.alternatives(EDITION, Item(benchmark=slug, **(ITEM | fields)))  # type: ignore[arg-type]


def test_the_suite() -> None:
    counts = {slug: spec.items for slug, spec in EDITION.benchmarks.items()}
    assert counts["blimp"] == 67_000
    assert sum(counts.values()) == 104_671
    assert {spec.answer_type for spec in EDITION.benchmarks.values()} == {"likeliest"}
    assert (EDITION.prompting, EDITION.base_models, EDITION.dtype) == ("bare", True, "float32")
    assert EDITION.decoding is not None
    assert EDITION.decoding.greedy


@pytest.mark.parametrize("slug", [slug for slug in EDITION.benchmarks if slug.endswith("-norm")])
def test_two_normalisations_ask_the_same(slug: str) -> None:
    plain = EDITION.benchmarks[slug.removesuffix("-norm")]
    normed = EDITION.benchmarks[slug]
    assert (plain.normalisation, normed.normalisation) == ("none", "characters")
    assert pairs(slug) == pairs(plain.slug)


def test_contexts_and_continuations_are_the_written_conventions() -> None:
    """Braces in an item's own text are text."""
    assert pairs("blimp") == (("", " the first"), ("", " the second"))
    assert pairs("arc-easy-letter") == (
        ("Why is {question} _ so?\nA. the first\nB. the second", "\nA"),
        ("Why is {question} _ so?\nA. the first\nB. the second", "\nB"),
    )
    assert pairs("arc-easy-text")[0] == ("Question: Why is {question} _ so?\nAnswer:", " the first")
    assert pairs("piqa")[1] == ("Question: Why is {question} _ so?\nAnswer:", " the second")
    assert pairs("hellaswag")[1] == ("Why is {question} _ so?", " the second")
    assert pairs("sciq")[0] == ("\nQuestion: Why is {question} _ so?\nAnswer:", " the first")
    passage = pairs("sciq", documentation="Some words.\n")[0][0]
    assert passage == "Some words.\n\nQuestion: Why is {question} _ so?\nAnswer:"
    assert pairs("winogrande") == (
        ("Why is {question} the first", " so?"),
        ("Why is {question} the second", " so?"),
    )


def test_a_prompt_shows_every_text_and_its_digest_covers_them() -> None:
    item = Item(benchmark="arc-easy-text", **ITEM)  # type: ignore[arg-type]
    made = prompt.make(EDITION, item)
    shown = ["Question: Why is {question} _ so?", "Answer:", '⇒ A: " the first"', '⇒ B: " the second"']
    assert made.text.splitlines() == shown
    fields = ITEM | {"options": ("the first", "the  second")}
    other = Item(benchmark="arc-easy-text", **fields)  # type: ignore[arg-type]
    assert prompt.make(EDITION, other).digest != made.digest
    two = prompt.make(EDITION, Item(benchmark="winogrande", **ITEM))  # type: ignore[arg-type]
    assert two.text.splitlines()[0] == '⇒ A: "Why is {question} the first" ⇒ " so?"'
    assert prompt.make(EDITION, Item(benchmark="blimp", **ITEM)).text.startswith("⇒ A:")  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An edition with a corpus of four rows beside it."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "texts"
    made.mkdir()
    source = (EDITION.folder / "edition.toml").read_text("utf-8")
    head, _, _ = source.partition("# Log-likelihood of the whole sentence")
    head = head.replace("1_292_008", str(len("One é . \n\n\n Two".encode()))).replace(
        'source = "wikitext-2"', 'source = "rows"'
    )
    head = head.replace('name = "slm-specs"', 'name = "texts"')
    toy = head + (
        '[benchmark.p]\ntitle = "P"\ncategory = "grammar"\nmodule = "piqa"\nanswer_type = "likeliest"\n'
        'items = 1\nmetric = "accuracy"\nsplit = "all"\nlicence = "none"\nsources = ["rows"]\n'
        'continuation = " {option}"\n'
    )
    (made / "edition.toml").write_text(toy)
    pin = '[source.rows]\nkind = "folder"\n[[source.rows.file]]\npath = "r.jsonl"\n'
    (made / "sources.lock.toml").write_text(pin)
    rows = [" \n", " One é . \n", "", " Two \n"]
    (made / "r.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    return made


def test_a_corpus_is_joined_and_stripped(folder: Path) -> None:
    text = corpus_text(editions.load(folder), "wikitext-2")
    assert text == "One é . \n\n\n Two"


def test_a_corpus_of_other_bytes_is_refused(folder: Path) -> None:
    (folder / "r.jsonl").write_text('{"text": "One"}\n')
    with pytest.raises(EditionError, match=r"bytes = \d+, but the rows give 3"):
        corpus_text(editions.load(folder), "wikitext-2")
    with pytest.raises(UsageError, match="did you mean wikitext-2"):
        corpus_text(editions.load(folder), "wikitext2")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('continuation = " {option}"', "continuation is empty"),
        ('clip = 0', "clip = 0; expected at least 1 token"),
        ('normalisation = "words"', "normalisation"),
        ('layout = "{nothing}"', "unknown place in layout 'nothing'"),
    ],
)  # fmt: skip
def test_what_can_not_be_scored_is_refused(folder: Path, line: str, says: str) -> None:
    path = folder / "edition.toml"
    key = line.partition(" ")[0]
    text = path.read_text()
    path.write_text(text.replace(line, "") if key == "continuation" else text + line + "\n")

    def made() -> None:
        prompt.make(editions.load(folder), Item(benchmark="p", **ITEM))  # type: ignore[arg-type]

    with pytest.raises(EditionError, match=re.escape(says)):
        made()


@pytest.mark.shared_data
def test_the_official_data_gives_what_is_frozen(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SourceError, match="nanolm fetch --edition slm-specs"):
        corpus_text(EDITION, "wikitext-2")
    report = fetch_edition(EDITION, from_folder=shared_data)
    assert report.errors == ()
    assert {one.benchmark: one.items for one in report.benchmarks} == {
        slug: spec.items for slug, spec in EDITION.benchmarks.items()
    }
    checked, drifts = check(EDITION)
    assert (set(checked), drifts) == (set(EDITION.benchmarks), ())
    text = corpus_text(EDITION, "wikitext-2")
    assert len(text.encode()) == 1_292_008
    assert text.startswith("= Robert Boulter =")
