"""Unofficial entries, tried as a new user would: ordinary folders, odd folders, GGUF files."""

import json
import struct
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanolm import editions
from nanolm.entries import Entry, derive, gguf, names, renderer, resolve, tokens
from nanolm.entries.artefacts import Folder
from nanolm.errors import EntryError, NanoLMError, UsageError

from .conftest import CHATML, SPECIAL, Write, write_weights

THINKS = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
HYBRID = CHATML.replace(
    "assistant\n{% endif %}",
    "assistant\n{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}",
)


def test_an_ordinary_folder(model: Write) -> None:
    entry = resolve(str(model()), None)
    assert (entry.name, entry.mode, entry.samples, entry.official) == ("tiny-chat", "no-think", 1, False)
    assert (entry.parameters, entry.context) == (2408, 4096)
    assert entry.stop_ids == (1, 3), "</s> by the files, <|im_end|> by the template"
    assert entry.end_markers == ("<|im_end|>", "</s>")
    assert not entry.add_bos
    assert "end of turn in the template" in entry.reasons["stop_ids"]
    assert "unofficial" in entry.not_publishable_because[0]


def test_its_renderer_gives_text_and_ids(model: Write) -> None:
    prompts = renderer(resolve(str(model()), None))
    one = prompts.encode("Hi <|im_end|>")
    assert one.text == "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    assert (one.ids[0], one.ids.count(3)) == (2, 2)
    assert prompts.encode_all(["a", "b"]) == [prompts.encode("a"), prompts.encode("b")]
    assert prompts.encode_all([]) == []


def test_decoding_keeps_special_tokens(model: Write) -> None:
    tokenizer = tokens.load(Folder(model()))
    ids = [4, *tokens.ids(tokenizer, ["a  b\n"])[0], 5, 3]
    assert tokens.decode(tokenizer, ids) == "<think>a  b\n</think><|im_end|>"


def test_bos_is_added_once_where_the_tokenizer_adds_it_and_the_template_omits_it(model: Write) -> None:
    entry = resolve(str(model(adds_bos=True)), None)
    assert entry.add_bos
    assert renderer(entry).encode("x").ids[:2] == (0, 2)


def test_bos_in_the_template_is_not_doubled(model: Write) -> None:
    entry = resolve(str(model(adds_bos=True, template="{{ bos_token }}" + CHATML)), None)
    assert not entry.add_bos
    assert renderer(entry).encode("x").ids.count(0) == 1


def test_a_post_processor_that_prepends_another_token_is_no_bos(model: Write) -> None:
    """Baguettotron's prepends its end of text, and names no BOS."""
    entry = resolve(str(model(adds_bos=True, tokenizer={"bos_token": None})), None)
    assert not entry.add_bos


def test_the_legacy_template_file_is_read(model: Write) -> None:
    entry = resolve(str(model(template_file="chat_template.json", template=THINKS)), None)
    assert (entry.mode, entry.reasons["template_sha256"]) == ("think", "from chat_template.json")
    assert entry.reasoning is not None
    assert entry.reasoning.opened_by_template
    assert renderer(entry).encode("x").text.endswith("<think>\n")


def test_an_end_of_turn_spelled_otherwise(model: Write) -> None:
    """Baguettotron's trap: the template writes <|im_end|>, the token is <|im_end>."""
    special = ("<s>", "</s>", "<|im_start|>", "<|im_end>", "<think>", "</think>")
    entry = resolve(str(model(special=special)), None)
    assert entry.stop_ids == (1, 3)
    assert entry.end_markers[:1] == ("<|im_end|>",)
    assert "no token of its own" in entry.warnings[0]


def test_a_hybrid_gives_two_entries(model: Write) -> None:
    folder = str(model(template=HYBRID))
    default, think, no_think = (resolve(folder + mode, None) for mode in ("", "#think", "#no-think"))
    assert default == think or default.digest == think.digest
    assert (think.name, no_think.name) == ("tiny-chat-think", "tiny-chat-no-think")
    assert no_think.template_arguments == {"enable_thinking": False}
    assert think.digest != no_think.digest
    assert renderer(no_think).encode("x").text.endswith("<think>\n\n</think>\n\n")


def test_a_mode_that_the_model_lacks(model: Write) -> None:
    with pytest.raises(EntryError, match="has no think mode: it is non-reasoning"):
        resolve(f"{model()}#think", None)


def test_a_mode_that_does_not_exist(model: Write) -> None:
    with pytest.raises(UsageError, match="expected #think or #no-think"):
        resolve(f"{model()}#fast", None)


def test_sampling_from_generation_config(model: Write) -> None:
    entry = resolve(str(model(generation={"do_sample": True, "temperature": 0.7})), None)
    assert (entry.samples, entry.decoding.values.top_k) == (4, 50)


def test_the_digest_follows_what_decides_outputs_and_nothing_else(model: Write) -> None:
    plain = resolve(str(model()), None)
    elsewhere = resolve(str(model("another-name", readme="# changed")), None)
    other_template = resolve(str(model("third", template=CHATML + " ")), None)
    assert plain.digest == elsewhere.digest
    assert plain.digest != other_template.digest


def test_a_tokenizer_that_disagrees_with_its_file_is_reported(model: Write) -> None:
    folder = model()
    tokenizer = tokens.load(Folder(folder))
    table = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    table["pre_tokenizer"]["add_prefix_space"] = True
    (folder / "tokenizer.json").write_text(json.dumps(table))
    assert tokens.disagreement(tokenizer, Folder(model("same"))) == ""
    assert "first difference at 0" in tokens.disagreement(tokenizer, Folder(folder))


def test_a_pinned_template_that_changed(model: Write) -> None:
    folder = model()
    entry = resolve(str(folder), None)
    (folder / "chat_template.jinja").write_text(CHATML + "x")
    tokens._load.cache_clear()
    with pytest.raises(EntryError, match=r"the chat template of .* has SHA-256"):
        renderer(entry)


def _fails(folder: Path, match: str) -> None:
    with pytest.raises(EntryError, match=match) as caught:
        resolve(str(folder), None)
    assert "\n" not in str(caught.value)


def test_a_folder_without_template(model: Write) -> None:
    _fails(model(template=None), "a base model can't follow the protocol")


def test_an_adapter_folder(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    _fails(tmp_path, "is an adapter")


def test_an_empty_folder(tmp_path: Path) -> None:
    _fails(tmp_path, "holds no files")


def test_a_config_without_context(model: Write) -> None:
    _fails(model(config={"max_position_embeddings": None}), "names no context window")


def test_a_recurrent_model_needs_no_context(model: Write) -> None:
    found = resolve(str(model(config={"max_position_embeddings": None, "model_type": "mamba2"})), None)
    assert found.context == 1 << 20
    assert "a mamba2 reads any length" in found.reasons["context"]


def test_no_end_of_sequence_at_all(model: Write) -> None:
    folder = model(
        generation={}, tokenizer={"eos_token": None}, template="{{ messages[0].content }}", special=("<s>",)
    )
    _fails(folder, "nothing would stop the model")


def test_a_config_that_is_no_json(model: Write) -> None:
    folder = model()
    (folder / "config.json").write_text("{oops")
    _fails(folder, r"config\.json of .* is not valid JSON")


def test_a_broken_template(model: Write) -> None:
    _fails(model(template="{% for %}"), "not a valid jinja2 template")


def test_a_folder_without_safetensors(model: Write) -> None:
    folder = model()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    _fails(folder, "but no safetensors")


def test_a_tokenizer_that_cannot_be_read(model: Write) -> None:
    folder = model()
    (folder / "tokenizer.json").write_text("{}")
    _fails(folder, "transformers can't read the tokenizer")


def test_an_over_large_model_is_never_publishable(model: Write) -> None:
    edition = msgspec.structs.replace(editions.load("mini"), parameter_limit=2000)
    entry = derive.from_folder(model(), None, edition)
    assert "2,408 parameters, at most 2,000" in entry.not_publishable_because[1]


# GGUF

_TYPES = {bool: 7, int: 4, str: 8, list: 9}


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<?", value)
    if isinstance(value, int):
        return struct.pack("<I", value)
    if isinstance(value, str):
        return struct.pack("<Q", len(value.encode())) + value.encode()
    inner = _TYPES[type(value[0])]
    return struct.pack("<IQ", inner, len(value)) + b"".join(map(_value, value))


def write_gguf(path: Path, **changes: Any) -> Path:
    metadata = {
        "general.architecture": "llama",
        "general.file_type": 3,
        "llama.context_length": 2048,
        "tokenizer.ggml.tokens": [*SPECIAL, "a", "b"],
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1, 1],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": CHATML,
    } | {key.replace("__", "."): value for key, value in changes.items()}
    metadata = {key: value for key, value in metadata.items() if value is not None}
    tensors = {"token_embd.weight": (8, 4), "rope_freqs.weight": (16,)}
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        data += _value(key) + struct.pack("<I", _TYPES[type(value)]) + _value(value)
    for name, shape in tensors.items():
        data += _value(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 3, 0)
    path.write_bytes(data)
    return path


def test_a_gguf_file(tmp_path: Path) -> None:
    entry = resolve(str(write_gguf(tmp_path / "Tiny.gguf")), None)
    assert (entry.artefact, entry.parameters, entry.context) == ("gguf", 32, 2048)
    assert (entry.stop_ids, entry.add_bos, entry.samples) == ((1, 3), True, 1)
    assert any("quantised" in why for why in entry.not_publishable_because)
    rendered = renderer(entry, lambda text: [ord(char) for char in text]).encode("Q")
    assert rendered.ids[0] == 0
    assert rendered.text == "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"


def test_a_gguf_needs_its_engines_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(EntryError, match="tokenised by its engine"):
        renderer(resolve(str(write_gguf(tmp_path / "m.gguf")), None))


def test_a_gguf_of_a_base_model(tmp_path: Path) -> None:
    _fails(write_gguf(tmp_path / "m.gguf", tokenizer__chat_template=None), "holds no chat template")


def test_a_gguf_without_context(tmp_path: Path) -> None:
    _fails(write_gguf(tmp_path / "m.gguf", llama__context_length=None), "names no context length")


@pytest.mark.parametrize("data", [b"", b"GGUF", b"PK\x03\x04" + b"\0" * 40, b"GGUF\x03" + b"\xff" * 40])
def test_a_gguf_that_is_none(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    _fails(tmp_path / "m.gguf", "is no readable GGUF file")


@given(data=st.data())
def test_a_damaged_gguf_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = write_gguf(tmp_path_factory.mktemp("gguf") / "m.gguf")
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    message = "read"
    try:
        file = gguf.read(path)
        assert file.parameters >= 0
        file.special_tokens()
        file.added_tokens()
    except NanoLMError as error:
        message = str(error)
    assert message == "read" or "m.gguf" in message


def test_names_of_folders_are_no_names_of_entries(model: Write) -> None:
    assert model().name not in names(None)


def test_weights_of_zero_bytes(tmp_path: Path, model: Write) -> None:
    folder = model()
    write_weights(folder / "model.safetensors", {})
    _fails(folder, "hold no tensor")


def test_a_tokenizer_file_that_asks_for_truncation_is_not_obeyed(model: Write) -> None:
    """A prompt is never cut."""
    folder = model()
    table = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    table["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(table))
    assert len(renderer(resolve(str(folder), None)).encode("x" * 100).ids) > 100


def test_of_several_named_templates_the_default_one_is_official(model: Write) -> None:
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]
    folder = model(template=None, tokenizer={"chat_template": named})
    entry = resolve(str(folder), None)
    assert entry.reasons["template_sha256"] == "from tokenizer_config.json"
    assert renderer(entry).encode("Q").text.startswith("<|im_start|>user\nQ")


def test_of_several_named_templates_one_must_be_the_default(model: Write) -> None:
    named = [{"name": "chatty", "template": CHATML}, {"name": "tool_use", "template": "x"}]
    folder = model(template=None, tokenizer={"chat_template": named})
    _fails(folder, r"named chatty \(tokenizer_config\.json\), tool_use .*, but none named default")


@pytest.mark.parametrize("value", ["8192", 0, -1, True, 1.5])
def test_a_context_that_is_no_number_of_tokens(value: Any, model: Write) -> None:
    folder = model(config={"max_position_embeddings": value})
    _fails(folder, f"max_position_embeddings is {value!r}; expected a number of tokens above 0")


def test_a_context_in_the_text_config(model: Write) -> None:
    folder = model(config={"max_position_embeddings": None, "text_config": {"max_position_embeddings": 2048}})
    entry = resolve(str(folder), None)
    assert entry.context == 2048
    assert entry.reasons["context"] == "text_config.max_position_embeddings in config.json"


def test_a_rope_scaling_is_named_and_not_counted(model: Write) -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    entry = resolve(str(model(config={"rope_scaling": scaling})), None)
    assert entry.context == 4096
    assert entry.reasons["context"].endswith("taken as stated, its yarn rope scaling by 4 aside")


def test_an_end_of_sequence_that_is_no_id_is_named(model: Write) -> None:
    entry = resolve(str(model(generation={"eos_token_id": ["<|im_end|>", 1]})), None)
    assert set(entry.stop_ids) == {1, 3}
    (warning,) = entry.warnings
    assert warning == (
        "generation_config.json names '<|im_end|>' as end of sequence, which is no token id; left out"
    )


def test_a_template_with_a_clock_says_where_it_stands(model: Write) -> None:
    folder = model(template="{{ strftime_now('%Y') }}" + CHATML)
    entry = resolve(str(folder), None)
    assert "its clock stands at 2026-01-01" in entry.warnings[0]
    assert renderer(entry).encode("Q").text.startswith("2026<|im_start|>")


def test_code_of_the_models_own_is_named_and_never_run(model: Write) -> None:
    folder = model(config={"auto_map": {"AutoModelForCausalLM": "modeling_x.X"}})
    (folder / "modeling_x.py").write_text("raise SystemExit('this must not run')")
    assert "code of the model's own (auto_map)" in resolve(str(folder), None).warnings[0]


def test_a_folder_of_gguf_files(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    _fails(tmp_path, r"holds GGUF files only; give the \.gguf file itself")


def test_a_folder_without_config_or_tokenizer(model: Write) -> None:
    folder = model()
    (folder / "tokenizer.json").unlink()
    _fails(folder, r"holds no tokenizer; expected tokenizer\.json")
    (folder / "config.json").unlink()
    _fails(folder, r"holds no config\.json")


def test_buffers_decide_about_the_limit(model: Write) -> None:
    """Ruling 68: the tensors decide, buffers included."""
    shapes = {"embed_tokens.weight": (599_999, 1000), "rotary_emb.inv_freq": (2_000,)}
    entry = resolve(str(model(weights=shapes)), None)
    assert entry.parameters == 599_999_000
    assert entry.not_publishable_because[1].startswith(
        "600,001,000 parameters with buffers, at most 600,000,000"
    )


def test_odd_names_and_links_of_folders(model: Write, tmp_path: Path) -> None:
    folder = model("a model é 模型")
    (tmp_path / "link").symlink_to(folder)
    straight, linked = (resolve(str(path), None) for path in (folder, tmp_path / "link"))
    assert straight.name == linked.name == "a-model"
    assert straight.digest == linked.digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DECIDING = {
    "config.json": (
        *("max_position_embeddings", "text_config", "rope_scaling", "rope_parameters", "eos_token_id"),
        *("tie_word_embeddings", "model_type", "quantization_config", "auto_map"),
    ),
    "generation_config.json": (
        *("do_sample", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "eos_token_id"),
        *("typical_p", "num_beams", "bad_words_ids"),
    ),
    "tokenizer_config.json": ("chat_template",),
    "model.safetensors.index.json": ("weight_map",),
}


@given(data=st.data())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_values_in_a_models_files_give_an_entry_or_one_clear_line(
    data: st.DataObject, model: Write
) -> None:
    """The tokenizer is read before: what transformers says to odd files is one line of its own."""
    file = data.draw(st.sampled_from(sorted(DECIDING)))
    values = data.draw(st.dictionaries(st.sampled_from(DECIDING[file]), JSON, min_size=1))
    if file == "generation_config.json":
        values = {"do_sample": True} | values
    folder = model(f"m{uuid.uuid4().hex}", template=None if file == "tokenizer_config.json" else CHATML)
    loaded = tokens.load(Folder(folder))
    kept = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps(kept | values))
    if file.endswith(".index.json"):
        (folder / "model.safetensors").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "load", lambda _: loaded)
        found = _entry_or_line(folder)
    if isinstance(found, str):
        assert folder.name in found
        assert "\n" not in found
    else:
        assert found.context > 0
        assert found.stop_ids
        assert 0 <= found.decoding.values.temperature < 1e9


def _entry_or_line(folder: Path) -> Entry | str:
    """Any other exception fails the test."""
    try:
        return resolve(str(folder), None)
    except NanoLMError as error:
        return str(error)
