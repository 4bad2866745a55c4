"""The weights audit, on header files built from the models' configurations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.entries.artefacts import Folder
from nanolm.entries.headers import header as read_header
from nanolm.entries.parameters import Audit, audit
from nanolm.errors import EntryError, NanoLMError

from .conftest import Write, write_weights

Shapes = dict[str, tuple[int, ...]]


def _attention(at: str, hidden: int, heads: int, pairs: int, size: int, out: str = "o_proj") -> Shapes:
    return {
        f"{at}.q_proj.weight": (heads * size, hidden),
        f"{at}.k_proj.weight": (pairs * size, hidden),
        f"{at}.v_proj.weight": (pairs * size, hidden),
        f"{at}.{out}.weight": (hidden, heads * size),
    }


def _gated(at: str, hidden: int, inner: int, names: tuple[str, str, str]) -> Shapes:
    gate, up, down = names
    return {
        f"{at}.{gate}.weight": (inner, hidden),
        f"{at}.{up}.weight": (inner, hidden),
        f"{at}.{down}.weight": (hidden, inner),
    }


_LLAMA_MLP = ("gate_proj", "up_proj", "down_proj")


def _llama_like(
    c: dict[str, Any], *, extra: Callable[[str], Shapes] = lambda at: {}, norms: int = 2
) -> Shapes:
    hidden, heads, pairs = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    size = c.get("head_dim", hidden // heads)
    shapes: Shapes = {"model.embed_tokens.weight": (c["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes |= _attention(f"{at}.self_attn", hidden, heads, pairs, size)
        shapes |= _gated(f"{at}.mlp", hidden, c["intermediate_size"], _LLAMA_MLP)
        shapes |= {f"{at}.norm_{number}.weight": (hidden,) for number in range(norms)}
        shapes |= extra(f"{at}.self_attn")
    return shapes


def _qwen3(c: dict[str, Any]) -> Shapes:
    size = c["head_dim"]
    shapes = _llama_like(c, extra=lambda at: {f"{at}.q_norm.weight": (size,), f"{at}.k_norm.weight": (size,)})
    return shapes | {"lm_head.weight": (c["vocab_size"], c["hidden_size"])}


def _qwen2(c: dict[str, Any]) -> Shapes:
    size = c["hidden_size"] // c["num_attention_heads"]
    q, kv = c["num_attention_heads"] * size, c["num_key_value_heads"] * size
    return _llama_like(
        c, extra=lambda at: {f"{at}.q.bias": (q,), f"{at}.k.bias": (kv,), f"{at}.v.bias": (kv,)}
    )


def _gemma3(c: dict[str, Any]) -> Shapes:
    size = c["head_dim"]
    norms = {"q_norm": size, "k_norm": size}
    return _llama_like(
        c, extra=lambda at: {f"{at}.{name}.weight": (width,) for name, width in norms.items()}, norms=4
    )


def _mamba(at: str, hidden: int, inner: int, heads: int, states: int, conv: int) -> Shapes:
    """A Mamba 2 block with one group and a convolution bias."""
    channels = inner + 2 * states
    return {
        f"{at}.in_proj.weight": (inner + channels + heads, hidden),
        f"{at}.conv1d.weight": (channels, 1, conv),
        f"{at}.conv1d.bias": (channels,),
        f"{at}.dt_bias": (heads,),
        f"{at}.A_log": (heads,),
        f"{at}.D": (heads,),
        f"{at}.out_proj.weight": (hidden, inner),
    }


def _falcon_h1(c: dict[str, Any]) -> Shapes:
    hidden = c["hidden_size"]
    shapes = _llama_like(c)
    shapes["lm_head.weight"] = (c["vocab_size"], hidden)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}.mamba"
        shapes |= _mamba(
            at, hidden, c["mamba_d_ssm"], c["mamba_n_heads"], c["mamba_d_state"], c["mamba_d_conv"]
        )
    return shapes


def _granite(c: dict[str, Any]) -> Shapes:
    hidden, inner = c["hidden_size"], c["shared_intermediate_size"]
    heads, pairs = c["num_attention_heads"], c["num_key_value_heads"]
    shapes: Shapes = {"model.embed_tokens.weight": (c["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    attention = {10, 13, 17, 27} if "mamba_n_heads" in c else set(range(c["num_hidden_layers"]))
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes[f"{at}.shared_mlp.input_linear.weight"] = (2 * inner, hidden)
        shapes[f"{at}.shared_mlp.output_linear.weight"] = (hidden, inner)
        shapes |= {f"{at}.norm_{number}.weight": (hidden,) for number in range(2)}
        if layer in attention:
            shapes |= _attention(f"{at}.self_attn", hidden, heads, pairs, hidden // heads)
            continue
        width = c["mamba_n_heads"] * c["mamba_d_head"]
        shapes |= _mamba(
            f"{at}.mamba", hidden, width, c["mamba_n_heads"], c["mamba_d_state"], c["mamba_d_conv"]
        )
        shapes[f"{at}.mamba.norm.weight"] = (width,)
    return shapes


def _lfm2(c: dict[str, Any]) -> Shapes:
    hidden, heads, pairs = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    size = hidden // heads
    shapes: Shapes = {
        "model.embed_tokens.weight": (c["vocab_size"], hidden),
        "model.embedding_norm.weight": (hidden,),
    }
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes |= _gated(f"{at}.feed_forward", hidden, c["effective_ff_dim"], ("w1", "w3", "w2"))
        shapes |= {f"{at}.norm_{number}.weight": (hidden,) for number in range(2)}
        if layer in c["attention_layers"]:
            shapes |= _attention(f"{at}.self_attn", hidden, heads, pairs, size, "out_proj")
            shapes |= {f"{at}.self_attn.{name}_layernorm.weight": (size,) for name in ("q", "k")}
        else:
            shapes[f"{at}.conv.conv.weight"] = (hidden, 1, c["conv_L_cache"])
            shapes[f"{at}.conv.in_proj.weight"] = (3 * hidden, hidden)
            shapes[f"{at}.conv.out_proj.weight"] = (hidden, hidden)
    return shapes


_ARCHITECTURES: dict[str, Callable[[dict[str, Any]], Shapes]] = {
    "qwen3": _qwen3,
    "qwen2": _qwen2,
    "gemma3_text": _gemma3,
    "falcon_h1": _falcon_h1,
    "granitemoehybrid": _granite,
    "lfm2": _lfm2,
    **dict.fromkeys(("llama", "minicpm4", "ernie4_5"), _llama_like),
}

_SMALL = {"num_attention_heads": 16, "num_key_value_heads": 2}
CONFIGS: dict[str, tuple[int, dict[str, Any]]] = {
    "Qwen3-0.6B": (
        596_049_920,
        {
            "model_type": "qwen3",
            "vocab_size": 151936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "tie_word_embeddings": True,
        },
    ),
    "Falcon-H1-0.5B-Instruct": (
        521_411_104,
        {
            "model_type": "falcon_h1",
            "vocab_size": 32784,
            "hidden_size": 1024,
            "intermediate_size": 2048,
            "num_hidden_layers": 36,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "head_dim": 64,
            "mamba_d_ssm": 1536,
            "mamba_n_heads": 24,
            "mamba_d_state": 128,
            "mamba_d_conv": 4,
            "tie_word_embeddings": False,
        },
    ),
    "MiniCPM4-0.5B": (
        433_873_920,
        {
            "model_type": "minicpm4",
            "vocab_size": 73448,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "tie_word_embeddings": True,
            **_SMALL,
        },
    ),
    "Qwen2.5-0.5B-Instruct": (
        494_032_768,
        {
            "model_type": "qwen2",
            "vocab_size": 151936,
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "tie_word_embeddings": True,
        },
    ),
    "Granite-4.0-H-350M": (
        340_332_224,
        {
            "model_type": "granitemoehybrid",
            "vocab_size": 100352,
            "hidden_size": 768,
            "num_hidden_layers": 32,
            "num_attention_heads": 12,
            "num_key_value_heads": 4,
            "shared_intermediate_size": 2048,
            "mamba_n_heads": 48,
            "mamba_d_head": 32,
            "mamba_d_state": 128,
            "mamba_d_conv": 4,
            "tie_word_embeddings": True,
        },
    ),
    "Granite-4.0-350M": (
        352_379_904,
        {
            "model_type": "granitemoehybrid",
            "vocab_size": 100352,
            "hidden_size": 1024,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "shared_intermediate_size": 2048,
            "tie_word_embeddings": True,
        },
    ),
    "ERNIE-4.5-0.3B-PT": (
        360_748_032,
        {
            "model_type": "ernie4_5",
            "vocab_size": 103424,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 18,
            "head_dim": 128,
            "tie_word_embeddings": True,
            **_SMALL,
        },
    ),
    "LFM2-350M and LFM2.5-350M": (
        354_483_968,
        {
            "model_type": "lfm2",
            "vocab_size": 65536,
            "hidden_size": 1024,
            "effective_ff_dim": 4608,
            "num_hidden_layers": 16,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "conv_L_cache": 3,
            "attention_layers": [2, 5, 8, 10, 12, 14],
            "tie_word_embeddings": True,
        },
    ),
    "Baguettotron": (
        320_956_992,
        {
            "model_type": "llama",
            "vocab_size": 65536,
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 80,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "tie_word_embeddings": True,
        },
    ),
    "SmolLM2-360M-Instruct": (
        361_821_120,
        {
            "model_type": "llama",
            "vocab_size": 49152,
            "hidden_size": 960,
            "intermediate_size": 2560,
            "num_hidden_layers": 32,
            "num_attention_heads": 15,
            "num_key_value_heads": 5,
            "tie_word_embeddings": True,
        },
    ),
    "SmolLM2-135M-Instruct": (
        134_515_008,
        {
            "model_type": "llama",
            "vocab_size": 49152,
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "tie_word_embeddings": True,
        },
    ),
    "Gemma 3 270M (it)": (
        268_098_176,
        {
            "model_type": "gemma3_text",
            "vocab_size": 262144,
            "hidden_size": 640,
            "intermediate_size": 2048,
            "num_hidden_layers": 18,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 256,
            "tie_word_embeddings": True,
        },
    ),
}
"""Protocol §11's counts and the demo's, and what of each configuration decides the shapes.

LFM2-350M and LFM2.5-350M share one.
"""


@pytest.mark.parametrize("name", CONFIGS)
def test_the_protocols_counts(name: str, tmp_path: Path) -> None:
    expected, config = CONFIGS[name]
    (tmp_path / "config.json").write_text(json.dumps(config))
    write_weights(tmp_path / "model.safetensors", _ARCHITECTURES[config["model_type"]](config))
    found = audit(Folder(tmp_path), hashes=False)
    assert found.parameters == found.with_buffers == expected
    assert found.fits(600_000_000)


def _audit(folder: Path, shapes: Shapes, *, tie: bool | None = True, **how: Any) -> Audit:
    config = {} if tie is None else {"tie_word_embeddings": tie}
    (folder / "config.json").write_text(json.dumps(config))
    write_weights(folder / "model.safetensors", shapes, **how)
    return audit(Folder(folder))


EMBED, HEAD, W = (100, 8), (100, 8), (8, 8)


def test_qwen3_counts_its_stored_head_once(tmp_path: Path) -> None:
    found = _audit(tmp_path, {"embed": EMBED, "lm_head": HEAD, "w": W})
    assert (found.header_total, found.parameters, found.tied) == (1664, 864, "bytes agree")
    assert [item.name for item in found.left_out] == ["lm_head"]


def test_tied_and_stored_once(tmp_path: Path) -> None:
    assert _audit(tmp_path, {"embed": EMBED, "w": W}).parameters == 864


def test_untied_counts_twice_even_when_all_bytes_are_zero(tmp_path: Path) -> None:
    """Zeros equal zeros: only the config makes two tensors one."""
    assert _audit(tmp_path, {"embed": EMBED, "lm_head": HEAD, "w": W}, tie=False).parameters == 1664


def test_a_config_that_lies_about_tying(tmp_path: Path) -> None:
    found = _audit(tmp_path, {"w": W, "embed": EMBED, "lm_head": HEAD}, fill=b"\x01")
    assert (found.parameters, found.tied) == (1664, "bytes differ")
    assert "both count (ruling 68)" in found.notes[0]


def test_shared_storage(tmp_path: Path) -> None:
    shapes = {"embed": EMBED, "lm_head": HEAD}
    assert _audit(tmp_path, shapes, shared="lm_head").tied == "shared storage"


def test_a_config_that_says_nothing_ties_nothing(tmp_path: Path) -> None:
    assert _audit(tmp_path, {"embed": EMBED, "lm_head": HEAD}, tie=None).parameters == 1600


def test_an_untied_config_without_a_head_is_noted(tmp_path: Path) -> None:
    found = _audit(tmp_path, {"embed": EMBED}, tie=False)
    assert "no output head" in found.notes[0]


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.rotary_emb.cos_cached",
        "freqs_cis",
        "layers.1.core_attention._extra_state",
        "embeddings.position_ids",
    ],
)
def test_buffers_are_listed_and_left_out(name: str, tmp_path: Path) -> None:
    found = _audit(tmp_path, {"embed": EMBED, name: (1, 32)})
    assert (found.parameters, found.with_buffers) == (800, 832)
    assert found.left_out[0].why.startswith("buffer")


def test_a_square_mask_is_a_buffer_and_a_bias_is_not(tmp_path: Path) -> None:
    shapes = {"h.0.attn.bias": (1, 1, 16, 16), "h.1.attn.bias": (16,), "embed": EMBED}
    assert _audit(tmp_path, shapes).parameters == 816


def test_hashes_of_local_files(tmp_path: Path) -> None:
    found = _audit(tmp_path, {"embed": EMBED})
    assert len(found.files[0].sha256) == 64


def test_shards(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"tie_word_embeddings": true}')
    write_weights(tmp_path / "model-00001-of-00002.safetensors", {"embed": EMBED})
    write_weights(tmp_path / "model-00002-of-00002.safetensors", {"lm_head": HEAD, "w": W})
    index = {
        "weight_map": {
            "embed": "model-00001-of-00002.safetensors",
            "lm_head": "model-00002-of-00002.safetensors",
            "w": "model-00002-of-00002.safetensors",
        }
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    found = audit(Folder(tmp_path))
    assert (found.parameters, len(found.files)) == (864, 2)


def _fails(folder: Path, match: str) -> None:
    with pytest.raises(EntryError, match=match) as caught:
        audit(Folder(folder))
    assert "\n" not in str(caught.value)


def test_a_missing_shard(tmp_path: Path) -> None:
    write_weights(tmp_path / "model-00001-of-00003.safetensors", {"embed": EMBED})
    _fails(tmp_path, "lacks 2 of its 3 shards: model-00002-of-00003")


def test_an_index_that_names_what_no_shard_stores(tmp_path: Path) -> None:
    write_weights(tmp_path / "a.safetensors", {"embed": EMBED})
    index = {"weight_map": {"embed": "a.safetensors", "w": "a.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    _fails(tmp_path, r"names 1 tensor\(s\) that no shard stores, e\.g\. w")


def test_only_bin_files(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    _fails(tmp_path, r"holds pytorch_model\.bin but no safetensors")


def test_no_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    _fails(tmp_path, "holds no safetensors file")


def test_a_gguf_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    _fails(tmp_path, r"give the \.gguf file itself")


def test_an_adapter(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    _fails(tmp_path, "is an adapter")


def test_a_header_larger_than_the_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes((10**9).to_bytes(8, "little") + b"{}")
    _fails(tmp_path, "says its header holds 1,000,000,000 bytes, but the file holds 10")


def test_a_corrupt_header(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes((5).to_bytes(8, "little") + b"{nope")
    _fails(tmp_path, "has a corrupt header")


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_weights(file, {"embed": EMBED})
    with file.open("r+b") as handle:
        handle.truncate(file.stat().st_size - 10)
    _fails(tmp_path, "is cut off")


@pytest.mark.parametrize(
    ("places", "match"),
    [
        ({"a": (0, 16), "b": (8, 24)}, "'b' at byte 8 overlaps the tensor before it, which ends at 16"),
        ({"a": (0, 16), "b": (20, 36)}, "'b' at byte 20 leaves bytes without a tensor"),
        ({"a": (4, 20), "b": (20, 36)}, "'a' at byte 4 leaves bytes without a tensor"),
    ],
)
def test_tensors_that_overlap_or_leave_a_gap(
    places: dict[str, tuple[int, int]], match: str, tmp_path: Path
) -> None:
    table = {name: {"dtype": "F32", "shape": [4], "data_offsets": place} for name, place in places.items()}
    text = json.dumps(table).encode()
    end = max(last for _, last in places.values())
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(end))
    _fails(tmp_path, match)


def test_a_name_that_stands_twice_in_a_header(tmp_path: Path) -> None:
    """JSON keeps the last of two; the bytes of the first are then nobody's."""
    inner = '"a": {"dtype": "F32", "shape": [4], "data_offsets": [%d, %d]}'
    text = ("{" + inner % (0, 16) + ", " + inner % (16, 32) + "}").encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(32))
    _fails(tmp_path, "leaves bytes without a tensor")


def test_a_git_lfs_pointer(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 269060552\n"
    (tmp_path / "model.safetensors").write_text(pointer)
    _fails(tmp_path, "is a Git LFS pointer, not the weights; get them with `git lfs pull`")


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    for part in (1, 2):
        write_weights(tmp_path / f"model-0000{part}-of-00002.safetensors", {"embed": EMBED})
    _fails(tmp_path, r"stores embed twice, in model-00001-of-00002\.safetensors and model-00002-of-00002")


def test_a_folder_without_config(tmp_path: Path) -> None:
    write_weights(tmp_path / "model.safetensors", {"embed": EMBED})
    _fails(tmp_path, r"holds no config\.json; expected a whole transformers model folder")


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("Tiny-0.1B-Base", "look"), ("tiny-pretrained", "look"), ("ERNIE-4.5-0.3B-PT", "holds")],
)
def test_a_template_in_a_model_that_calls_itself_a_base_model(name: str, outcome: str, model: Write) -> None:
    from nanolm.entries import eligibility

    source = Folder(model(name))
    rules = {rule.name: rule for rule in eligibility.check(source, audit(source), 600_000_000).rules}
    assert rules["chat template"].outcome == outcome


def test_a_template_that_does_not_parse_is_not_eligible(model: Write) -> None:
    from nanolm.entries import eligibility

    source = Folder(model(template="{{ messages | frobnicate }}"))
    found = eligibility.check(source, audit(source), 600_000_000)
    assert found.verdict == "not eligible"
    assert "No filter named 'frobnicate'" in found.line


def test_a_card_that_is_no_utf8_is_read(model: Write) -> None:
    from nanolm.entries import eligibility

    folder = model()
    (folder / "README.md").write_bytes(b"---\nlicense: mit\n---\nna\xefve\n")
    assert eligibility.licence(Folder(folder)) == "mit"


def test_quantised_weights_are_not_counted_as_parameters(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"quantization_config": {"bits": 4}}')
    write_weights(tmp_path / "model.safetensors", {"embed": EMBED})
    found = audit(Folder(tmp_path))
    assert found.packed
    assert not found.fits(600_000_000)


def _said(folder: Path) -> str:
    """The file each tensor names, or the error; any other exception fails the test."""
    try:
        tensors = read_header(Folder(folder), "model.safetensors")
    except NanoLMError as error:
        return str(error)
    return "model.safetensors" if all(t.file == "model.safetensors" for t in tensors) else "another file"


@given(st.binary(max_size=200))
def test_any_bytes_give_tensors_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    for content in (data, len(data).to_bytes(8, "little") + data):
        (folder / "model.safetensors").write_bytes(content)
        assert "model.safetensors" in _said(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
TENSOR = st.fixed_dictionaries({"dtype": JSON | st.just("BF16"), "shape": JSON, "data_offsets": JSON})


@given(st.dictionaries(st.text(max_size=6), TENSOR | JSON, max_size=3))
def test_any_json_header_gives_tensors_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    text = json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    assert "model.safetensors" in _said(folder)


def test_an_over_large_model_is_not_eligible(model: Write) -> None:
    from nanolm.entries import eligibility

    folder = model(weights={"embed": (700_000, 1000)}, readme="---\nlicense: mit\n---\n")
    source = Folder(folder)
    found = eligibility.check(source, audit(source, hashes=False), 600_000_000)
    assert found.verdict == "not eligible"
    assert "700,000,000 of at most 600,000,000" in found.line
