"""Perplexity: windows, sums, resuming, and what is said of a text that the tokenizer does not give back."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.engines import Generation
from nanolm.engines.transformers import TransformersEngine
from nanolm.entries import Entry
from nanolm.errors import EngineError, UsageError
from nanolm.run import perplexity
from nanolm.run.windows import windows
from nanolm.schema import Request
from tests_protocol.engines import reading

WHO = Entry(name="tiny", title="tiny", artefact="transformers", mode="base", context=64, digest="d0")


class Bytes:
    """A tokenizer of bytes; `lost` are bytes that it does not know."""

    unk_token_id = 255

    def __init__(self, lost: bytes = b"") -> None:
        self.lost = lost

    def ids(self, text: str) -> list[int]:
        return [255 if byte in self.lost else byte for byte in text.encode()]

    def decode(self, ids: list[int], **_: Any) -> str:
        return b"".join(b"<unk>" if one == 255 else bytes([one]) for one in ids).decode("utf-8", "replace")


def read(text: str, tokenizer: Bytes | None = None) -> perplexity.Text:
    tokenizer = tokenizer or Bytes()
    return perplexity.read_text("t", text, tokenizer, tokenizer.ids(text))


def measured(
    text: perplexity.Text,
    log: Path,
    engine: Any = None,
    context: int = 8,
    stride: int = 8,
    opening: int | None = 256,
) -> tuple[perplexity.Perplexity, int]:
    engine = engine or TransformersEngine("none", context=64, reader=reading.Reader())
    under = perplexity.conditions(text, WHO, engine, opening, context, stride)
    sums, resumed = perplexity.measure(text, under, engine, log, lambda done, total: None)
    found = perplexity.result(
        text, under, sums, resumed=resumed, entry=WHO, engine=engine, edition="e", opening="<b>", seconds=1.0
    )
    return found, resumed


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 20), st.booleans())
def test_every_token_is_scored_once_in_order(count: int, context: int, stride: int, opened: bool) -> None:
    stride = min(stride, context)
    ids = list(range(100, 100 + count))
    made = list(windows(ids, 7 if opened else None, context, stride))
    assert [token for one in made for token in one.ids[one.start :]] == (ids if opened else ids[1:])
    whole = [7, *ids] if opened else ids
    at = 1
    for one in made:
        assert one.start >= 1
        assert len(one.ids) - 1 <= context
        assert whole[at - one.start : at - one.start + len(one.ids)] == list(one.ids)
        at += len(one.ids) - one.start
    for one in made[1:-1]:
        assert len(one.ids) - one.start == stride
        assert len(one.ids) - 1 == context


def test_a_stride_of_the_context_is_the_harnesses_rolling_log_likelihood() -> None:
    """Worked out by hand from its documentation: 5 tokens, windows of 2 with a context of 1, P before all."""
    made = [(one.ids[: one.start], one.ids[one.start :]) for one in windows([1, 2, 3, 4, 5], 0, 2, 2)]
    assert made == [((0,), (1, 2)), ((2,), (3, 4)), ((3, 4), (5,))]


def test_the_figures(tmp_path: Path) -> None:
    text = read("Perplexität eines Textes, Fenster für Fenster.")
    found, resumed = measured(text, tmp_path / "log.jsonl")
    whole = (256, *text.ids)
    nats = -sum(reading.log_likelihood(one.ids, one.start) for one in windows(text.ids, 256, 8, 8))
    assert resumed == 0
    assert (found.bytes, found.tokens, found.scored_tokens) == (48, 48, len(whole) - 1)
    assert found.nats == pytest.approx(nats)
    assert found.token_perplexity == pytest.approx(math.exp(nats / 48))
    assert found.byte_perplexity == pytest.approx(math.exp(nats / 48))
    assert found.bits_per_byte == pytest.approx(nats / 48 / math.log(2))
    assert (found.convention, found.lossless, found.partial) == ("rolling", True, False)
    sliding, _ = measured(text, tmp_path / "log2.jsonl", stride=3)
    assert (sliding.convention, sliding.windows) == ("sliding", 1 + math.ceil((48 - 8) / 3))


def test_bytes_per_token_are_of_the_raw_text(tmp_path: Path) -> None:
    """Of a tokenizer with two bytes to the token, byte perplexity is the root of the token perplexity."""

    class Pairs(Bytes):
        def ids(self, text: str) -> list[int]:
            raw = text.encode()
            return [raw[at] for at in range(0, len(raw), 2)]

        def decode(self, ids: list[int], **_: Any) -> str:
            return "abcdefghij"

    found, _ = measured(read("abcdefghij", Pairs()), tmp_path / "log.jsonl")
    assert (found.bytes_per_token, found.tokens, found.lossless) == (2.0, 5, True)
    assert found.byte_perplexity == pytest.approx(found.token_perplexity**0.5)


def test_without_an_opening_token_the_first_is_not_scored(tmp_path: Path) -> None:
    found, _ = measured(read("abcdefghij"), tmp_path / "log.jsonl", opening=None)
    assert (found.tokens, found.scored_tokens) == (10, 9)


def test_a_text_that_does_not_come_back_is_said() -> None:
    text = read("a é b", Bytes(lost="é".encode()))
    assert not text.lossless
    assert "first difference at character 2: 'é b' became '<unk><unk> b'" in text.round_trip
    assert "2 tokens are the unknown token" in text.round_trip
    assert read("a é b").lossless


class Dying:
    """Scores so many windows, then is gone."""

    name, version = "transformers", "0"

    def __init__(self, windows: int) -> None:
        self.left = windows
        self.asked = 0

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked += 1
        return reading.log_likelihood((*prompt_ids, *continuation_ids), len(prompt_ids))

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        yield from ()

    def close(self) -> None: ...


def test_what_was_cut_short_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perplexity, "_AT_ONCE", 1)
    text = read("A text of some length that takes a number of windows.")
    log = tmp_path / "log.jsonl"
    with pytest.raises(KeyboardInterrupt):
        measured(text, log, Dying(3))
    with log.open("ab") as file:
        file.write(b"-12.3")  # torn in the middle of a line
    rest = Dying(100)
    found, resumed = measured(text, log, rest)
    assert resumed == 3
    assert rest.asked == found.windows - 3
    assert found.nats == pytest.approx(measured(text, tmp_path / "other.jsonl")[0].nats)


def test_other_conditions_begin_anew_and_keep_the_old_file(tmp_path: Path) -> None:
    text = read("A text of some length.")
    log = tmp_path / "log.jsonl"
    measured(text, log)
    _, resumed = measured(text, log, context=4, stride=4)
    assert resumed == 0
    assert len(list(tmp_path.glob("log.*.jsonl"))) == 1
    kept = next(tmp_path.glob("log.*.jsonl")).read_text().splitlines()
    assert json.loads(kept[0])["context"] == 8


@pytest.mark.parametrize(("context", "stride"), [(65, 8), (0, 1), (8, 9), (8, 0)])
def test_windows_that_make_no_sense_are_refused(context: int, stride: int) -> None:
    engine = TransformersEngine("none", context=64, reader=reading.Reader())
    with pytest.raises(UsageError, match=r"--(context|stride)="):
        perplexity.conditions(read("a text"), WHO, engine, 256, context, stride)


def test_a_measurement_that_gives_nothing_leaves_the_files_as_they_were(tmp_path: Path) -> None:
    """It fails before its first window: nothing is renamed, nothing begun."""
    text = read("A text of some length.")
    log = tmp_path / "log.jsonl"
    with pytest.raises(KeyboardInterrupt):
        measured(text, log, Dying(0))
    assert not list(tmp_path.iterdir())
    measured(text, log)
    before = log.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        measured(text, log, Dying(0), context=4, stride=4)
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    assert log.read_bytes() == before


def test_a_log_without_windows_is_not_kept(tmp_path: Path) -> None:
    text = read("A text of some length.")
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'{"text":"of other conditions"}\n-12.')  # the first window is torn
    found, _ = measured(text, log)
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    assert len(log.read_bytes().splitlines()) == 1 + found.windows


def test_two_logs_of_one_second_are_both_kept(tmp_path: Path) -> None:
    text = read("A text of some length.")
    log = tmp_path / "log.jsonl"
    for stride in (8, 4, 2):
        measured(text, log, stride=stride)
        os.utime(log, (1e9, 1e9))
    kept = [path.read_text().splitlines()[0] for path in sorted(tmp_path.glob("log.*.jsonl"))]
    assert sorted(json.loads(head)["stride"] for head in kept) == [4, 8]


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_model_that_gives_no_number_is_told_and_not_recorded(tmp_path: Path, value: float) -> None:
    class Odd(Dying):
        def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
            return value

    log = tmp_path / "log.jsonl"
    with pytest.raises(EngineError, match=f"log-likelihood of {value} for tokens 0 and on; expected finite"):
        measured(read("a text"), log, Odd(1))
    assert not log.exists()


def test_a_text_that_the_model_cannot_read_is_one_line() -> None:
    class Small(reading.Reader):
        def read(self, rows: Sequence[Any]) -> list[list[tuple[float, bool]]]:
            raise IndexError("index out of range in self")

    engine = TransformersEngine("m", context=64, reader=Small())
    with pytest.raises(EngineError, match="m can't read this text: a token id outside the model's vocab"):
        engine.score([1], [2])


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(UsageError, match="gives no token"):
        read("")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--stride=0", "--stride=0: expected 1 to --context"),
        ("--stride=-3", "--stride=-3: expected 1 to --context"),
        ("--context=0", "--context=0: expected 1 to the model's context"),
        ("--context=8 --stride=9", "--stride=9: expected 1 to 8"),
        ("--limit-bytes=0", "--limit-bytes=0: expected 1 or more"),
        ("--limit-bytes=1", "--limit-bytes=1: the text's first character has 2 bytes"),
        ("--engine=llamacpp", "unknown engine for a perplexity 'llamacpp'"),
        ("--text=empty", "empty is empty; expected some text"),
        ("--text=latin", "latin is not UTF-8"),
        ("--text=nowhere", "nowhere can't be read: No such file or directory"),
        ("--text=.", ". can't be read: Is a directory"),
    ],
)
def test_what_cannot_be_measured_is_told_before_the_model_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    """There is no such model, and nothing is written."""
    from click.testing import CliRunner

    from nanolm.cli import cli

    monkeypatch.chdir(tmp_path)
    for name, held in (("text", "étude".encode()), ("empty", b""), ("latin", b"caf\xe9")):
        Path(name).write_bytes(held)
    done = CliRunner().invoke(cli, ["perplexity", "./no-model", "--text=text", *options.split()])
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "latin", "text"]


@pytest.mark.parametrize("options", [["--context=513"], ["--stride=513"]])
def test_windows_wider_than_the_models_context_are_told_before_an_engine_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    from click.testing import CliRunner

    from nanolm.cli import cli
    from tests_protocol.engines import tiny_model

    monkeypatch.chdir(tmp_path)
    tiny_model.write(Path("tiny"))
    Path("text").write_text("some text")
    monkeypatch.setattr("nanolm.engines.open_engine", None)
    done = CliRunner().invoke(cli, ["perplexity", "./tiny", "--text=text", *options])
    assert isinstance(done.exception, UsageError)
    assert f"{options[0]}: expected 1 to 512" in str(done.exception)
    assert not Path("reports").exists()


def test_the_help_says_what_context_and_stride_may_be() -> None:
    from click.testing import CliRunner

    from nanolm.cli import cli

    shown = " ".join(CliRunner().invoke(cli, ["perplexity", "--help"]).output.split())
    assert "1 to the model's context. [default: 2048, or the model's context when that is shorter]" in shown
    assert "1 to --context. [default: --context]" in shown


def test_the_command_writes_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tiny model folder and a stand-in for the model itself."""
    from click.testing import CliRunner

    from nanolm.cli import cli
    from tests_protocol.engines import tiny_model

    folder = tiny_model.write(tmp_path / "tiny")
    text = tmp_path / "Held out.txt"
    text.write_bytes("A held-out text.\r\nSecond líne.\n".encode() * 4)

    def opened(entry: Entry, edition: object, **_: object) -> TransformersEngine:
        return TransformersEngine("none", context=entry.context, reader=reading.Reader())

    monkeypatch.setattr("nanolm.engines.open_engine", opened)
    monkeypatch.setattr("nanolm.engines.check_installed", lambda *_, **__: None)
    arguments = [
        "perplexity",
        str(folder),
        "--text",
        str(text),
        "--context",
        "16",
        "--reports-dir",
        str(tmp_path),
    ]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "lossless: the tokens give the text back" in done.output
    found = json.loads((tmp_path / "slm-specs" / "tiny" / "perplexity-held-out.json").read_text())
    assert (found["bytes"], found["tokens"], found["opening"]) == (len(text.read_bytes()),) * 2 + ("<bos>",)
    assert (found["stride"], found["partial"]) == (16, False)
    assert msgspec.convert(found, perplexity.Perplexity).bits_per_byte == found["bits_per_byte"]

    part = CliRunner().invoke(cli, [*arguments, "--limit-bytes", "30", "--json"], catch_exceptions=False)
    assert part.exit_code == 0, part.output
    shown = json.loads(part.stdout)
    assert (shown["partial"], shown["bytes"]) == (True, 30)
    results = tmp_path / "slm-specs" / "tiny"
    assert (results / "perplexity-held-out-partial.json").exists()

    other = CliRunner().invoke(cli, [*arguments, "--stride", "8", "--json"], catch_exceptions=False)
    again = CliRunner().invoke(cli, [*arguments, "--stride", "8", "--json"], catch_exceptions=False)
    assert json.loads(other.stdout)["nats"] == json.loads(again.stdout)["nats"]
    (aside,) = results.glob("perplexity-held-out.2*.json")
    assert json.loads(aside.read_text()) == found, "a result of other windows is kept"

    for name, written in (("wikitext-2", "wikitext-2-text"), ("Held out-partial", "held-out-partial-text")):
        arguments[3] = str(text.rename(tmp_path / f"{name}.txt"))
        text = Path(arguments[3])
        assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
        assert (results / f"perplexity-{written}.json").exists()


def test_a_model_of_characters_is_measured_on_its_own_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No chat template, no BOS, no end of sequence, a vocabulary of a few characters."""
    from click.testing import CliRunner
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    from nanolm.cli import cli
    from tests_protocol.engines import tiny_model

    folder = tiny_model.write(tmp_path / "chars")
    vocabulary = {char: number for number, char in enumerate("?abcdefgh \n")}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    del config["eos_token_id"], config["bos_token_id"]
    (folder / "config.json").write_text(json.dumps(config))

    def opened(entry: Entry, edition: object, **_: object) -> TransformersEngine:
        return TransformersEngine("none", context=entry.context, reader=reading.Reader())

    monkeypatch.setattr("nanolm.engines.open_engine", opened)
    monkeypatch.setattr("nanolm.engines.check_installed", lambda *_, **__: None)
    for text, lossless in (("a bad cafe\nfaced a cab", True), ("a bad café", False)):
        file = tmp_path / f"text-{lossless}.txt"
        file.write_text(text)
        arguments = ["perplexity", str(folder), "--text", str(file), "--json", "--reports-dir", str(tmp_path)]
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["lossless"] is lossless, found["round_trip"]
        assert (found["tokens"], found["scored_tokens"]) == (len(text), len(text) - 1)
        assert (found["opening"], found["bytes"]) == ("", len(text.encode()))
        if not lossless:
            assert "'é' became '?'; 1 token is the unknown token" in found["round_trip"]
