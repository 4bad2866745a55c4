"""A model folder with random weights and a byte-level tokenizer: 2 layers, 260 tokens, a few kilobytes."""

import json
from pathlib import Path

import numpy as np

VOCABULARY, WIDTH, INNER, LAYERS, HEADS = 260, 128, 256, 2, 2


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    """All tensors of a Llama with tied embeddings, float32."""
    generator = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return (generator.standard_normal(shape) * 0.2).astype(np.float32)

    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY, WIDTH)}
    for layer in range(LAYERS):
        place = f"model.layers.{layer}"
        for name in "qkvo":
            tensors[f"{place}.self_attn.{name}_proj.weight"] = matrix(WIDTH, WIDTH)
        tensors[f"{place}.mlp.gate_proj.weight"] = matrix(INNER, WIDTH)
        tensors[f"{place}.mlp.up_proj.weight"] = matrix(INNER, WIDTH)
        tensors[f"{place}.mlp.down_proj.weight"] = matrix(WIDTH, INNER)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{place}.{name}.weight"] = np.ones(WIDTH, np.float32)
    tensors["model.norm.weight"] = np.ones(WIDTH, np.float32)
    return tensors


CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": WIDTH // HEADS,
    "hidden_act": "silu",
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "vocab_size": VOCABULARY,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "attention_bias": False,
    "mlp_bias": False,
    "dtype": "float32",
}


TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}\n"


def write(folder: Path, *, positions: int = 512, greedy: bool = False) -> Path:
    """Write the model folder and return it. Its files say to sample, unless `greedy`."""
    from safetensors.numpy import save_file
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights(), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG | {"max_position_embeddings": positions}))
    # A generation_config that must not be applied: the entry's own values are sent.
    bad = {"do_sample": not greedy, "temperature": 2.0, "eos_token_id": 257}
    (folder / "generation_config.json").write_text(json.dumps(bad))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={text: i for i, text in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<bos>", "<eos>", "<think>", "</think>"]
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names])
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"}
    described["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    return folder
