"""Small model folders, written by the tests: a real tokenizer, own templates, weights of zeros."""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
"""Ids 0 to 5."""

Shapes = Mapping[str, tuple[int, ...]]


def header(shapes: Shapes, dtype: str = "BF16", size: int = 2, shared: str = "") -> tuple[bytes, int]:
    """A safetensors header and the bytes of data behind it; `shared` names a tensor stored at offset 0."""
    table: dict[str, Any] = {"__metadata__": {"format": "pt", "total": "999"}}
    at = 0
    for name, shape in shapes.items():
        length = size
        for count in shape:
            length *= count
        start = 0 if name == shared else at
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, start + length]}
        at = max(at, start + length)
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text, at


def write_weights(path: Path, shapes: Shapes, *, shared: str = "", fill: bytes = b"") -> None:
    """A sparse safetensors file: its header, then zeros, then `fill` at the very end."""
    head, length = header(shapes, shared=shared)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + length)
        if fill:
            file.seek(-len(fill), 2)
            file.write(fill)


def write_tokenizer(folder: Path, *, adds_bos: bool = False, special: tuple[str, ...] = SPECIAL) -> None:
    """A byte-level tokenizer; `adds_bos` gives it a post-processor that prepends `<s>`."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {text: number for number, text in enumerate([*special, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    if adds_bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", vocabulary["<s>"])]
        )
    tokenizer.save(str(folder / "tokenizer.json"))


Write = Callable[..., Path]


@pytest.fixture
def model(tmp_path: Path) -> Write:
    """Writes a model folder; keyword arguments replace its parts, None leaves one out."""

    def write(
        name: str = "tiny-chat",
        *,
        template: str | None = CHATML,
        template_file: str = "chat_template.jinja",
        config: dict[str, Any] | None = None,
        generation: dict[str, Any] | None = None,
        tokenizer: dict[str, Any] | None = None,
        weights: Shapes | None = None,
        adds_bos: bool = False,
        special: tuple[str, ...] = SPECIAL,
        readme: str | None = None,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        plain = {"model_type": "llama", "max_position_embeddings": 4096, "tie_word_embeddings": True}
        tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
        generating = {"eos_token_id": 1} if generation is None else generation
        files = {
            "config.json": plain | (config or {}),
            "generation_config.json": generating,
            "tokenizer_config.json": tokens | (tokenizer or {}),
        }
        for file, table in files.items():
            stated = {key: value for key, value in table.items() if value is not None}
            (folder / file).write_text(json.dumps(stated))
        if template is not None and template_file.endswith(".json"):
            (folder / template_file).write_text(json.dumps({"chat_template": template}))
        elif template is not None:
            (folder / template_file).write_text(template)
        write_tokenizer(folder, adds_bos=adds_bos, special=special)
        shapes = {"model.embed_tokens.weight": (300, 8), "model.norm.weight": (8,)}
        write_weights(folder / "model.safetensors", shapes if weights is None else weights)
        if readme is not None:
            (folder / "README.md").write_text(readme)
        return folder

    return write
