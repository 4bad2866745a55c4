"""How model cards call what is checked: parts of the architecture and benchmarks."""

import re

import msgspec


class Part(msgspec.Struct, frozen=True):
    """A part of the architecture: how cards call it (a regular expression), and config.json's keys."""

    words: str
    keys: tuple[str, ...]


ARCHITECTURE = {
    "layers": Part(
        r"(?:hidden |transformer )?layers|n_layers?|num_hidden_layers|blocks",
        ("num_hidden_layers", "n_layer"),
    ),
    "width": Part(
        r"d_model|hidden[ _]size|embedding (?:dim\w*|size)|n_embd|width", ("hidden_size", "n_embd")
    ),
    "heads": Part(r"(?:attention )?heads|n_heads?|num_attention_heads", ("num_attention_heads", "n_head")),
    "kv heads": Part(
        r"(?:kv|key[- ]value)[ _-]heads|num_key_value_heads|n_kv_heads?", ("num_key_value_heads",)
    ),
    "feed-forward": Part(
        r"(?:ffn|mlp|feed[- ]forward|intermediate)[ _]?(?:size|dim\w*|width)?",
        ("intermediate_size", "n_inner"),
    ),
    "vocabulary": Part(r"vocab(?:ulary)?[ _]?(?:size)?", ("vocab_size",)),
    "context": Part(
        r"context[ _]?(?:length|window|size)?|ctx|block_size|max_position_embeddings|sequence length",
        ("max_position_embeddings", "n_positions"),
    ),
}

BENCHMARKS = (
    "BLiMP", "ARC-Easy", "ARC-Challenge", "ARC-E", "ARC-C", "PIQA", "HellaSwag", "SciQ", "WinoGrande", "MMLU",
    "WikiText-2", "WikiText-103", "WikiText", "LAMBADA", "OpenBookQA", "BoolQ", "perplexity", "PPL",
    "byte_ppl", "BPB", "bits per byte",
)  # fmt: skip


def _name(name: str) -> str:
    spelt = "".join("[-_ ]?" if character in "-_ " else re.escape(character) for character in name)
    return rf"(?<!\w){spelt}(?!\w)(?![-_ ](?:pro|redux|plus|hard|cf|x)\b)"


NAMES = re.compile("|".join(map(_name, BENCHMARKS)), re.I)
PERPLEXITY = re.compile(r"wikitext|perplexity|\bppl|byte_ppl|\bbpb\b|bits[ -]per[ -]byte", re.I)
"""A benchmark's name whose number is no accuracy."""
PROPERTY = re.compile(
    "|".join(
        [
            NAMES.pattern,
            r"\bparam(?:eter)?s?\b",
            *(rf"\b(?:{part.words})\b" for part in ARCHITECTURE.values()),
        ]
    ),
    re.I,
)
_SHORT = {"arc-e": "arc-easy", "arc-c": "arc-challenge"}


def slug(name: str) -> str:
    """A benchmark's name as editions write it."""
    plain = re.sub(r"[_ ]", "-", name.casefold())
    plain = re.sub(r"^arc-?(?=[ec])", "arc-", plain)
    return _SHORT.get(plain, plain)
