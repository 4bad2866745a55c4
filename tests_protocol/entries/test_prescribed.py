"""What an edition prescribes for every entry: its decoding, base models, bare prompts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanolm import editions
from nanolm.editions import Edition
from nanolm.entries import add, eligibility, entry_file, lock, renderer, resolve
from nanolm.entries.artefacts import Folder
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError, UsageError
from nanolm.schema import Decoding

from .conftest import CHATML, Write
from .test_derive import write_gguf

GREEDY = Decoding(temperature=0.0, top_k=1)


@pytest.fixture
def edition() -> Callable[..., Edition]:
    def of(**changes: Any) -> Edition:
        return msgspec.structs.replace(editions.load("mini"), **changes)

    return of


def test_the_editions_decoding_stands_before_all_others(
    model: Write, edition: Callable[..., Edition]
) -> None:
    folder = str(model(generation={"do_sample": True, "temperature": 0.7, "eos_token_id": 1}))
    own, prescribed = resolve(folder, edition()), resolve(folder, edition(decoding=GREEDY))
    assert (own.samples, own.decoding.source) == (4, "generation_config.json")
    assert (prescribed.samples, prescribed.decoding.source) == (1, "edition")
    assert prescribed.decoding.values == GREEDY
    assert set(prescribed.decoding.sources.values()) == {"edition"}
    assert "prescribes" in prescribed.reasons["decoding"]
    assert own.digest != prescribed.digest, "other outputs"


def test_it_holds_for_entry_files_with_quotes_from_cards_and_for_other_editions_entries(
    edition: Callable[..., Edition],
) -> None:
    entry = resolve("lfm2-350m", edition(decoding=Decoding(temperature=0.5)))
    assert (entry.decoding.source, entry.decoding.quote, entry.samples) == ("edition", "", 4)
    assert resolve("lfm2-350m", edition()).decoding.source == "model card"


def test_an_entry_file_keeps_the_models_own_settings(
    model: Write, edition: Callable[..., Edition], tmp_path: Path
) -> None:
    folder = str(model(generation={"do_sample": True, "temperature": 0.7, "eos_token_id": 1}))
    (path,) = add.add(folder, edition(decoding=GREEDY), tmp_path / "entries")
    assert entry_file.read(path).decoding.source == "generation_config.json"
    locked = lock.lock(entry_file.read(path), Folder(Path(folder)), edition(decoding=GREEDY), card_read=True)
    assert {one.field: one.outcome for one in locked.findings}["decoding"] == "confirmed"
    path.write_text(path.read_text().replace('source = "generation_config.json"', 'source = "edition"'))
    with pytest.raises(EntryError, match="an entry's file holds the model's own settings"):
        entry_file.read(path)


@pytest.mark.parametrize(("adds_bos", "front"), [(True, (0,)), (False, ())])
def test_a_base_model_is_asked_with_the_bare_text(
    model: Write, edition: Callable[..., Edition], adds_bos: bool, front: tuple[int, ...]
) -> None:
    folder = str(model(template=None, adds_bos=adds_bos))
    entry = resolve(folder, edition(base_models=True))
    assert (entry.mode, entry.name, entry.template_sha256, entry.reasoning) == ("base", "tiny-chat", "", None)
    assert (entry.stop_ids, entry.end_markers) == ((1,), ("</s>",)), "no template, no end of turn"
    rendered = renderer(entry).encode("Answer:")
    assert rendered.text == "Answer:"
    plain = renderer(resolve(str(model("other")), None)).encode("Answer:").ids
    assert rendered.ids[: len(front)] == front
    text = rendered.ids[len(front) :]
    assert any(plain[at : at + len(text)] == text for at in range(len(plain)))
    assert ("rule puts <s> in front" in entry.reasons["add_bos"]) == adds_bos
    assert renderer(entry).encode_all([]) == []


def test_an_end_of_sequence_behind_a_text_is_left_out(model: Write, edition: Callable[..., Edition]) -> None:
    """Such a rule is for whole texts; a prompt is there to be continued."""
    from tokenizers import Tokenizer, processors

    folder = model(template=None)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> <|im_start|> $A </s>", special_tokens=[("<s>", 0), ("<|im_start|>", 2), ("</s>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = renderer(resolve(str(folder), edition(base_models=True))).encode("a</s>").ids
    assert (ids[:2], ids[-1], ids.count(1)) == ((0, 2), 1, 1), "only the one in the text itself"


def test_a_base_model_is_refused_where_the_edition_takes_none(
    model: Write, edition: Callable[..., Edition], tmp_path: Path
) -> None:
    folder = model(template=None)
    for each in (None, edition(), edition(prompting="bare"), editions.load("nano-lm-v1")):
        with pytest.raises(EntryError, match="a base model can't follow the protocol"):
            resolve(str(folder), each)
    (path,) = add.add(str(folder), edition(base_models=True), tmp_path / "entries")
    assert resolve(str(path), edition(base_models=True)).mode == "base"
    with pytest.raises(EntryError, match="which can't be an entry of nano-lm-v1"):
        resolve(str(path), editions.load("nano-lm-v1"))


def test_a_chat_model_keeps_its_template_and_modes(model: Write, edition: Callable[..., Edition]) -> None:
    takes = edition(base_models=True)
    folder = str(model())
    chat = resolve(folder, takes)
    assert (chat.mode, chat.digest) == ("no-think", resolve(folder, edition()).digest)
    asked = resolve(f"{folder}#base", takes)
    assert (asked.mode, asked.name) == ("base", "tiny-chat-base")
    assert renderer(asked).encode("x").text == "x"
    assert asked.reasons["mode"].startswith("base: as asked")
    with pytest.raises(EntryError, match="has no base mode: it is non-reasoning"):
        resolve(f"{folder}#base", edition())
    with pytest.raises(EntryError, match="has no think mode: it is base"):
        resolve(f"{model('b', template=None)}#think", takes)


def test_bare_prompting_leaves_every_template_out(model: Write, edition: Callable[..., Edition]) -> None:
    bare = edition(prompting="bare")
    opens = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
    entry = resolve(str(model(template=opens, adds_bos=True)), bare)
    assert (entry.mode, entry.name, entry.reasoning, entry.template_sha256) == ("base", "tiny-chat", None, "")
    rendered = renderer(entry).encode("a b")
    assert (rendered.text, rendered.ids[0]) == ("a b", 0)
    official = resolve("qwen3-0.6b-no-think", bare)
    assert (official.mode, official.template_arguments, official.reasoning) == ("base", {}, None)
    assert "every model" in official.reasons["mode"]


def test_a_gguf_of_a_base_model(tmp_path: Path, edition: Callable[..., Edition]) -> None:
    takes = edition(base_models=True, decoding=GREEDY)

    def ids(path: Path, reference: str = "") -> tuple[int, ...]:
        entry = resolve(f"{path}{reference}", takes)
        assert (entry.mode, entry.stop_ids, entry.samples) == ("base", (1,), 1)
        return renderer(entry, lambda text: [ord(char) for char in text]).encode("Q").ids

    assert ids(write_gguf(tmp_path / "a.gguf", tokenizer__chat_template=None)) == (0, 81)
    silent = write_gguf(
        tmp_path / "b.gguf", tokenizer__chat_template=None, tokenizer__ggml__add_bos_token=False
    )
    assert ids(silent) == (81,)
    assert ids(write_gguf(tmp_path / "c.gguf"), "#base") == (0, 81)
    assert resolve(str(tmp_path / "c.gguf"), takes).mode == "no-think"
    assert resolve(str(tmp_path / "c.gguf"), edition(prompting="bare")).mode == "base"


def test_the_rules_of_eligibility(model: Write) -> None:
    source = Folder(model(template=None))
    count = audit(source, hashes=False)
    rules = {rule.name: rule for rule in eligibility.check(source, count, 600_000_000, True).rules}
    assert (rules["chat template"].outcome, "base model" in rules["chat template"].found) == ("holds", True)
    rules = {rule.name: rule for rule in eligibility.check(source, count, 600_000_000).rules}
    assert rules["chat template"].outcome == "fails"


def test_a_mode_that_does_not_exist(model: Write) -> None:
    with pytest.raises(UsageError, match="or #base for the bare text"):
        resolve(f"{model()}#bare", None)
