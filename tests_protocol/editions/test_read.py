"""Strict reading of edition folders: what is wrong is named with file, table and key."""

from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions.difference import diff
from nanolm.errors import EditionError, UsageError
from nanolm.schema import Decoding


def change(folder: Path, old: str, new: str, file: str = "edition.toml") -> None:
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), "utf-8")


def test_what_is_written_is_read(small: Path) -> None:
    edition = editions.load(str(small))
    assert (edition.name, edition.budget, edition.samples_sampled, edition.engine_version) == (
        "small",
        256,
        4,
        "0.31.0",
    )
    assert list(edition.benchmarks) == ["toy", "toy-labels", "toy-tools"]
    assert edition.benchmarks["toy"].published_chance == 0.5
    assert edition.folder == small.resolve()
    assert len(edition.digest) == 16


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "budget = 256",
            "budget = 256\nbugdet = 3",
            r"edition.toml: unknown key 'bugdet'; did you mean budget\?",
        ),
        ("budget = 256", 'budget = "256"', r"edition.toml: budget = '256'; expected a whole number"),
        ("budget = 256", "budget = 0", "budget = 0; expected 1 to 2,147,483,647"),
        ("budget = 256\n", "", "edition.toml: lacks the key budget$"),
        (
            "budget = 256",
            'budget = 256\nprompting = "raw"',
            r"edition.toml: unknown prompting 'raw'. Known: bare, chat",
        ),
        ("budget = 256", "budget = 256\nbase_models = 1", "base_models = 1; expected true or false"),
        ("[categories]", "[decoding]\n[categories]", r"\[decoding\] lacks the key temperature"),
        (
            "[categories]",
            "[decoding]\ntemperature = 0.0\ntop-p = 1\n[categories]",
            r"\[decoding\] unknown key 'top-p'",
        ),
        (
            "[categories]",
            "[decoding]\ntemperature = -1.0\n[categories]",
            r"\[decoding\] temperature = -1.0; expected a number from 0",
        ),
        (
            "[categories]",
            "[decoding]\ntemperature = 1.0\ntop_p = 0.0\n[categories]",
            r"\[decoding\] top_p = 0.0; expected above 0 and at most 1",
        ),
        ("items = 3", "item = 3", r"\[benchmark.toy\] unknown key 'item'; did you mean items"),
        ("items = 3", "items = 0", r"\[benchmark.toy\] items = 0"),
        (
            'answer_type = "letter"',
            'answer_type = "word"',
            r"\[benchmark.toy\] unknown answer_type 'word'; did you mean code\? Known: code, featherwei",
        ),
        (
            'category = "knowledge"',
            'category = "knowlege"',
            r"\[benchmark.toy\] unknown category 'knowlege'; did you mean",
        ),
        (
            'sources = ["toy"]',
            'sources = ["toi"]',
            r"unknown source of sources.lock.toml 'toi'; did you mean toy",
        ),
        ('sources = ["toy"]', "sources = []", "sources is empty"),
        ("published_chance = 0.5", "published_chance = 1.5", "published_chance = 1.5"),
        ("[benchmark.toy-labels]", "[benchmark.toy]", "not valid TOML"),
        (
            "[benchmark.toy-labels]",
            '[benchmark."toy labels"]',
            "slug 'toy labels'; expected at most 100 lower-case",
        ),
        ("greedy = 1", "greedy = 1, beam = 4", r"\[samples\] unknown key 'beam'"),
        ('tool_calls = "Reply with calls."', "", "answer_type = 'tool_calls' has no text in"),
        (
            'name = "small"',
            'name = "Small Edition"',
            "name = 'Small Edition'; expected at most 100 lower-case",
        ),
    ],
)
def test_faults_are_named(small: Path, old: str, new: str, message: str) -> None:
    change(small, old, new)
    with pytest.raises(EditionError, match=message) as caught:
        editions.load(small)
    assert str(small) in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "folder"',
            'kind = "ftp"',
            r"\[source.toy\] unknown kind 'ftp'. Known: custom, fixtures, folder, github, hub",
        ),
        ('kind = "folder"', 'kind = "folder"\nsize = 3', r"\[source.toy\] unknown key 'size'"),
        ('kind = "folder"', 'kind = "hub"', r"\[source.toy\] repository = ''; expected owner/name"),
        (
            'kind = "folder"',
            'kind = "hub"\nrepository = "a/b"\nrevision = "main"',
            "revision = 'main'; expected a commit of 40 hex digits",
        ),
        ('path = "toy.jsonl"', 'path = "../toy.jsonl"', r"path = '../toy.jsonl'; expected a relative path"),
        (
            'path = "toy.jsonl"',
            'path = "toy.jsonl"\nsha256 = "abc"',
            "sha256 = 'abc'; expected 64 hex digits",
        ),
        ('path = "toy.jsonl"', 'path = "toy.jsonl"\n[[source.toy.file]]\npath = "toy.jsonl"', "stands twice"),
        ('[[source.toy.file]]\npath = "toy.jsonl"', "file = []", "has no .*file.* tables"),
    ],
)
def test_faults_of_the_lock_are_named(small: Path, old: str, new: str, message: str) -> None:
    change(small, old, new, "sources.lock.toml")
    with pytest.raises(EditionError, match=message):
        editions.load(small)


def test_unknown_names_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown edition 'nano-lm-v9'"):
        editions.load("nano-lm-v9")
    with pytest.raises(EditionError, match=r"holds no edition.toml"):
        editions.load(tmp_path)


def test_an_edition_needs_its_lock(small: Path) -> None:
    (small / "sources.lock.toml").unlink()
    with pytest.raises(EditionError, match=r"sources.lock.toml does not exist"):
        editions.load(small)


def test_the_digest_follows_what_decides_a_number(small: Path) -> None:
    first = editions.load(small).digest
    change(small, 'title = "A small edition"', 'title = "Small"')
    assert editions.load(small).digest == first
    change(small, "Answer with a letter.", "Answer by letter.")
    second = editions.load(small).digest
    assert second != first
    (small / "exclusions.toml").write_text("[rule.odd]\nsays = 'odd'\nitems = 1\n")
    assert editions.load(small).digest not in (first, second)


def test_what_it_prescribes_for_every_entry(small: Path) -> None:
    plain = editions.load(small)
    assert (plain.decoding, plain.base_models, plain.prompting) == (None, False, "chat")
    change(small, "budget = 256", 'budget = 256\nbase_models = false\nprompting = "chat"')
    assert editions.load(small).digest == plain.digest, "said, but the same"
    change(small, "base_models = false", "base_models = true")
    taken = editions.load(small)
    change(small, 'prompting = "chat"', 'prompting = "bare"')
    bare = editions.load(small)
    change(small, "[categories]", "[decoding]\ntemperature = 0.0\ntop_k = 1\n[categories]")
    decoded = editions.load(small)
    assert (taken.base_models, bare.prompting) == (True, "bare")
    assert decoded.decoding == Decoding(temperature=0.0, top_k=1)
    assert len({edition.digest for edition in (plain, taken, bare, decoded)}) == 4
    assert [each.what for each in diff(plain, decoded).differences] == [
        "decoding",
        "base_models",
        "prompting",
    ]
    assert diff(plain, decoded).needs == "version"


def test_a_patch_edition_keeps_items_prompts_and_budget(small: Path) -> None:
    patch = small.parent / "patch"
    patch.mkdir()
    text = (
        'name = "small-1"\ntitle = "Patch"\nversion = "1.0.1"\nsummary = "A fix."\n'
        'inherits = "../small"\nextractors = { math-verify = "0.9.1" }\n'
    )
    (patch / "edition.toml").write_text(text)
    parent, edition = editions.load(small), editions.load(patch)
    assert (edition.inherits, edition.version) == ("small", "1.0.1")
    assert edition.extractors == {"math-verify": "0.9.1"}
    assert edition.benchmarks == parent.benchmarks
    assert edition.instructions == parent.instructions
    assert edition.digest != parent.digest
    assert editions.load_items(edition, "toy") == editions.load_items(parent, "toy")
    for key in ("budget = 3", "samples = {}", "[instructions]", "[benchmark.x]"):
        (patch / "edition.toml").write_text(f"{text}{key}\n")
        name = key.strip("[]").split(" ")[0].split(".")[0]
        with pytest.raises(EditionError, match=f"'{name}' can't stand in an edition that inherits"):
            editions.load(patch)
    (patch / "edition.toml").write_text(text.replace("../small", "../patch"))
    with pytest.raises(EditionError, match="inherits from itself"):
        editions.load(patch)
