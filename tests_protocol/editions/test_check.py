"""An edition that names what does not exist is refused when it is read, before anything is asked."""

import os
import re
import shutil
from pathlib import Path

import pytest

from nanolm import answers, editions, rules
from nanolm.answers import math_expression
from nanolm.benchmarks.chance import chance
from nanolm.editions import known
from nanolm.editions.frozen import read_digests
from nanolm.editions.items import build_items
from nanolm.editions.lock import check, lock
from nanolm.editions.read import EDITIONS, names
from nanolm.engines.choice import NAMES
from nanolm.errors import EditionError, ItemError
from tests_protocol.editions.conftest import ROWS, write_rows
from tests_protocol.editions.test_read import change

PATCH = (
    'name = "small-1"\ntitle = "Patch"\nversion = "1.0.1"\nsummary = "A fix."\n'
    'inherits = "../small"\nextractors = {{ {} }}\n'
)


def refused(folder: Path, *says: str, file: str = "edition.toml") -> None:
    """One line that begins with the file and says all of it."""
    with pytest.raises(EditionError) as caught:
        editions.load(folder)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(folder.resolve() / file))
    for each in says:
        assert each in text


def test_what_may_be_named_is_what_there_is() -> None:
    assert set(known.ENGINES) == set(NAMES) - {"auto", "replay"}
    assert tuple(known.METRICS) == answers.TYPES
    assert set(known.EXTRACTORS) == {*rules.VERSIONS, *math_expression.PACKAGES}
    assert {rule for rule in rules.VERSIONS if rule not in ("reasoning", "scoring")} <= set(answers.TYPES)


def test_each_number_format_is_one_that_the_engines_compare_in() -> None:
    text = (EDITIONS.parent / "engines" / "causal.py").read_text("utf-8")  # needs torch to import
    found = re.search(r"^TOLERANCE = \{(.*)\}$", text, re.MULTILINE)
    assert found is not None
    assert set(known.DTYPES) == set(re.findall(r'"(\w+)":', found[1]))


@pytest.mark.parametrize("name", names())
def test_the_packages_editions_hold_to_it(name: str) -> None:
    edition = editions.load(name)
    assert edition.name == name
    for spec in edition.benchmarks.values():
        assert known.answer_type(spec.module) == spec.answer_type


def test_every_module_makes_what_it_says() -> None:
    """In mini each module of the index; the others are made in tests_protocol/benchmarks."""
    mini = editions.load("mini")
    for slug, spec in mini.benchmarks.items():
        types = {item.answer_type for item in build_items(mini, slug)[0].items}
        assert types == {known.answer_type(spec.module)}
    for module in ("arc", "blimp", "featherweight", "hellaswag", "piqa", "sciq", "winogrande"):
        assert known.answer_type(module) in ("likeliest", "featherweight_letter")


def test_an_answer_type_that_a_module_does_not_make_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "own"
    shutil.copytree(EDITIONS / "mini", copy)
    change(copy, 'name = "mini"', 'name = "own"')
    change(copy, 'module = "mmlu_cf"', 'module = "gsm8k_platinum"')
    refused(copy, "answer_type = 'letter'; expected 'number', of which the module gsm8k_platinum makes items")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '"vllm"',
            '"vlm"',
            "[engine] unknown engine 'vlm'; did you mean vllm? Known: llamacpp, transformers,",
        ),
        ('"bfloat16"', '"bf16"', "[engine] unknown dtype 'bf16'; did you mean bfloat16"),
        ('"0.31.0"', '""', "[engine] version = ''; expected a version"),
        (
            "math-verify",
            "math-verfy",
            "[extractors] unknown extractor 'math-verfy'; did you mean math-verify?",
        ),
        ('math-verify = "0.9.0"', 'number = "two"', "[extractors] number = 'two'; expected a whole number"),
        ('"0.9.0"', '"0.9 beta"', "[extractors] math-verify = '0.9 beta'; expected a version of the package"),
        ('"0.9.0"', "9", "[extractors] math-verify = 9; expected a text in quotes"),
        ('metric = "accuracy"', 'metric = "f1"', "[benchmark.toy] metric = 'f1'; expected 'accuracy'"),
        ('"exact match per case"', '"pass@1"', "metric = 'pass@1'; expected 'exact match per case'"),
        (
            'module = "toy"',
            'module = "arc_esay"',
            "[benchmark.toy] unknown module 'arc_esay'; did you mean arc_easy",
        ),
        ('module = "toy"', 'module = "chance"', "[benchmark.toy] unknown module 'chance'. Known: arc, "),
        ('module = "toy"', 'module = "os.path"', "[benchmark.toy] unknown module 'os.path'"),
        ('"letter"', '"leter"', "[benchmark.toy] unknown answer_type 'leter'; did you mean letter"),
        ("letter = ", "lettr = ", "[instructions] unknown key 'lettr'; did you mean letter"),
        ('"Answer with a letter."', '" "', "[instructions] letter is empty"),
        (
            "items = 3",
            'items = 3\nlayout = "{questoin}"',
            "unknown place in layout 'questoin'; did you mean question",
        ),
        ("items = 3", 'items = 3\nlayout = "{question}"\nstem = "s"', "stem would never be shown"),
        ("items = 3", "items = 3\nclip = 8", "[benchmark.toy] clip is for answer_type 'likeliest' alone"),
        (
            "items = 3",
            'items = 3\nnormalisation = "bytes"',
            "normalisation is for answer_type 'likeliest' alone",
        ),
        ("items = 3", "items = 3\nweight = 2", "[benchmark.toy] unknown key 'weight'. Known: answer_type, "),
        (
            "items = 3",
            'items = 3\nslug = "toy"',
            "[benchmark.toy] unknown key 'slug'; the slug is the table's own",
        ),
        (
            "[categories]",
            "[weights]\nknowledge = 2\n[categories]",
            "unknown key 'weights'. Known: base_models",
        ),
        ('["toy"]', '["toy", "toy"]', "[benchmark.toy] sources names 'toy' twice"),
        ('["toy"]', '"toy"', "[benchmark.toy] sources = 'toy'; expected a list"),
        ("budget = 256", "budget = -1", "budget = -1; expected 1 to"),
        ("budget = 256", "budget = 99999999999999999999", "expected 1 to 2,147,483,647"),
        ("sampled = 4", "sampled = 0", "[samples] sampled = 0; expected 1 to 255"),
        ("sampled = 4", "sampled = 256", "[samples] sampled = 256; expected 1 to 255"),
        ("{ sampled = 4, greedy = 1 }", "[4, 1]", "samples is a list; expected a table"),
        ("[benchmark.toy]", "[[benchmark.toy]]", "[benchmark] toy is a list; expected a table"),
        ('"Knowledge"', '"Knowledge"\nknowledge = "Again"', "a key or table stands twice: Cannot overwrite"),
        ('"Knowledge"', '"Knowledge"\nmore = "Knowledge"', "knowledge and more have the same title"),
        ('"Knowledge"', '"Know\\nledge"', "[categories] knowledge = 'Know\\nledge'; expected one line"),
        ('"1.0.0"', '"one two"', "version = 'one two'; expected a version"),
        ('name = "small"', f'name = "{"a" * 101}"', "expected at most 100 lower-case"),
        (
            "[categories]",
            "[decoding]\ntemperature = inf\n[categories]",
            "[decoding] temperature = inf; expected",
        ),
    ],
)
def test_what_does_not_exist_is_refused(small: Path, old: str, new: str, says: str) -> None:
    change(small, old, new)
    refused(small, says)


@pytest.mark.parametrize("name", names())
def test_a_packaged_editions_name_is_taken(small: Path, name: str) -> None:
    change(small, 'name = "small"', f'name = "{name}"')
    refused(small, f"name = {name!r} is an edition that comes with nanolm", "expected a name of its own")


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ('nummer = "2"', "[extractors] unknown extractor 'nummer'; did you mean number? Known: antlr4"),
        ('number = "2.0"', "[extractors] number = '2.0'; expected a whole number"),
        ("number = 2", "[extractors] number = 2; expected a text in quotes"),
    ],
)
def test_a_patch_pins_what_there_is(small: Path, pins: str, says: str) -> None:
    patch = small.parent / "patch"
    patch.mkdir()
    (patch / "edition.toml").write_text(PATCH.format(pins))
    refused(patch, says)


def test_a_patch_names_the_file_that_names_no_parent(small: Path) -> None:
    patch = small.parent / "patch"
    patch.mkdir()
    text = PATCH.format('number = "2"')
    (patch / "edition.toml").write_text(text)
    assert editions.load(patch).extractors["number"] == "2", "a version that nanolm does not have yet"
    (patch / "edition.toml").write_text(text.replace("../small", "minni"))
    refused(patch, "inherits: unknown edition 'minni'; did you mean mini?")
    (patch / "edition.toml").write_text(text.replace('"small-1"', '"mini"'))
    refused(patch, "name = 'mini' is an edition that comes with nanolm")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "lacks the keys name, title, version"),
        (b"{}", "is not valid TOML: Invalid statement (at line 1, column 1): '{}'"),
        (b'\xef\xbb\xbfname = "x"', "begins with a byte order mark"),
        (b'name = "\xe9"', "is not UTF-8 text"),
        ('name = "x"'.encode("utf-16"), "is not UTF-8 text"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"name = 3", "lacks the keys title, version"),
    ],
)
def test_odd_bytes_are_named(small: Path, data: bytes, says: str) -> None:
    (small / "edition.toml").write_bytes(data)
    refused(small, says)


def test_line_ends_of_windows_change_nothing(small: Path) -> None:
    before = editions.load(small).digest
    path = small / "edition.toml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert editions.load(small).digest == before


def test_what_stands_in_the_place_of_the_file_is_named(small: Path) -> None:
    path = small / "edition.toml"
    text = path.read_text()
    with pytest.raises(EditionError, match=r"edition.toml is a file; an edition is the folder that holds"):
        editions.load(path)
    path.unlink()
    os.symlink(path, path)
    refused(small, "is a symbolic link that leads to no file")
    path.unlink()
    path.mkdir()
    refused(small, "is a folder; expected a TOML file")
    path.rmdir()
    path.write_text(text)
    (small / "exclusions.toml").mkdir()
    refused(small, "can't be read: Is a directory", file="exclusions.toml")
    with pytest.raises(EditionError, match="is not there; an edition is a folder with an"):
        editions.load("no/such/folder")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "exclusions.toml",
            "[rule.x]\nsays = 's'\nitems = '1'",
            "[rule.x] items = '1'; expected a whole number",
        ),
        ("exclusions.toml", "[option-order.tyo]\npinned = []", "unknown benchmark 'tyo'; did you mean toy"),
        (
            "exclusions.toml",
            "[rule.x]\nsays = 's'\nitems = 1\n[rule.x.excluded]\ntyo = ['1']",
            "unknown benchmark 'tyo'; did you mean toy",
        ),
        ("frozen.json", "{", " is not what `nanolm edition lock` writes"),
        (
            "sources.lock.toml",
            '[source.toy]\nkind = "folder"\n[[source.toy.file]]\npathh = "toy.jsonl"',
            "[source.toy.file number 1] unknown key 'pathh'; did you mean path?",
        ),
        (
            "sources.lock.toml",
            '[source.toy]\nkind = "folder"\n[[source.toy.file]]\npath = "toy.jsonl"\nbytes = -1',
            "[source.toy] file 'toy.jsonl': bytes = -1; expected at least 1",
        ),
        (
            "sources.lock.toml",
            '[source.toy]\nkind = "custom"\n[[source.toy.file]]\npath = "toy.jsonl"',
            "[source.toy] kind = 'custom' is what --items writes; expected 'folder'",
        ),
        (
            "sources.lock.toml",
            '[source.toy]\nkind = "folder"\n[[source.toy.file]]\npath = "a\\u0000b.jsonl"',
            "path = 'a\\x00b.jsonl'; expected a relative path",
        ),
        ("sources.lock.toml", "[[source]]\n", "source is a list; expected a table"),
    ],
)
def test_the_other_files_are_read_as_strictly(small: Path, file: str, text: str, says: str) -> None:
    (small / file).write_text(text)
    refused(small, says, file=file)


def test_what_was_frozen_must_be_of_this_edition(small: Path) -> None:
    lock(editions.load(small))
    change(small, '"toy-labels":', '"toy-lables":', "frozen.json")
    refused(small, "unknown benchmark 'toy-lables'; did you mean toy-labels", file="frozen.json")
    change(small, '"toy-lables":', '"toy-labels":', "frozen.json")
    change(small, '"chance": 0.6', '"chance": 1.6', "frozen.json")
    refused(small, "the chance level of toy is 1.6", file="frozen.json")
    (small / "frozen.digests.txt").write_bytes(b"\xff")
    with pytest.raises(EditionError, match=r"frozen.digests.txt is not UTF-8 text"):
        read_digests(small)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([{**row, "gold": "A"} for row in ROWS], "every answer is 'A'"),
        (
            [{**row, "options": ["a"], "gold": gold} for row, gold in zip(ROWS, "ABA", strict=True)],
            "one option",
        ),
    ],
)
def test_answers_that_need_no_skill_are_refused_when_items_are_built(
    small: Path, rows: list[dict[str, object]], why: str
) -> None:
    write_rows(small, rows)
    edition = editions.load(small)
    for limit in (None, 1):
        with pytest.raises(ItemError, match=rf"edition.toml: \[benchmark.toy\] has a .* 1, since .*{why}"):
            editions.load_items(edition, "toy", limit)
    report = lock(edition)
    assert "chance level of 1" in report.missing["toy"]
    assert "toy" not in report.frozen


def test_what_could_not_be_checked_says_why(small: Path) -> None:
    change(small, 'sources = ["toy"]\n\n', 'sources = ["more"]\n\n')
    lock_file = small / "sources.lock.toml"
    lock_file.write_text(
        lock_file.read_text() + '[source.more]\nkind = "folder"\n[[source.more.file]]\npath = "m.jsonl"\n'
    )
    write_rows(small, [{**row, "gold": "A"} for row in ROWS])
    lock(editions.load(small))
    absent: dict[str, str] = {}
    checked, drifts = check(editions.load(small), absent)
    assert (checked, drifts) == (("toy-tools",), ())
    assert set(absent) == {"toy", "toy-labels"}
    assert all("not frozen; `nanolm edition lock " in why for why in absent.values())
    (small / "toy.jsonl").unlink()
    check(editions.load(small), absent)
    assert "toy.jsonl is not there" in absent["toy-tools"]
    write_rows(small, ROWS[:2])
    checked, drifts = check(editions.load(small))
    assert checked == ()
    assert [(each.benchmark, "items = 3, but toy-tools has 2 items" in each.what) for each in drifts] == [
        ("toy-tools", True)
    ]


def test_a_part_may_hold_one_answer_when_the_whole_does_not(small: Path) -> None:
    found = editions.load_items(editions.load(small), "toy", 1)
    assert chance(found.items).value == 1


def test_an_own_copy_of_a_packaged_edition_needs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "own"
    shutil.copytree(EDITIONS / "mini", copy)
    refused(copy, "name = 'mini' is an edition that comes with nanolm")
    change(copy, 'name = "mini"', 'name = "own"')
    edition = editions.load(copy)
    checked, drifts = check(edition)
    assert (set(checked), drifts) == (set(edition.benchmarks), ())
