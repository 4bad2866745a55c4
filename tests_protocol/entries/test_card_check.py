"""A model card against its model: what holds, what differs, what is missing."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli.card import command
from nanolm.entries import card_claims
from nanolm.entries.artefacts import Folder
from nanolm.entries.card_check import Finding, check
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError

CONFIG = {"num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 300, "num_attention_heads": 4,
          "num_key_value_heads": 2}  # fmt: skip
TWICE = {"model.embed_tokens.weight": (300, 8), "lm_head.weight": (300, 8), "model.rotary_emb.inv_freq": (4,)}
Model = Callable[..., Path]


def checked(folder: Path, measured: dict[str, float] | None = None) -> dict[str, list[Finding]]:
    source = Folder(folder)
    found: dict[str, list[Finding]] = {}
    for one in check(source, audit(source), measured):
        found.setdefault(one.what, []).append(one)
    return found


def test_the_headers_total_is_told_from_the_unique_count(model: Model) -> None:
    card = "This model has 4,804 parameters.\n\nUnique: 2,400 parameters.\n\n2.4k params\n"
    found = checked(model(config=CONFIG, weights=TWICE, readme=card))["parameters"]
    assert [one.outcome for one in found] == ["differs", "holds", "holds"]
    assert found[0].why == "it is the header's total, 4,804: 2,404 of it are no parameters of their own"
    assert [one.line for one in found] == [1, 3, 5]


def test_tied_embeddings_and_buffers_must_be_stated(model: Model) -> None:
    silent = checked(model(config=CONFIG, weights=TWICE, readme="2,400 parameters"))
    assert silent["tied embeddings"][0].outcome == "missing"
    assert silent["buffers left out"][0].outcome == "missing"
    told = "2,400 unique parameters: embeddings are tied, rope buffers left out"
    said = checked(model("told", config=CONFIG, weights=TWICE, readme=told))
    assert said["tied embeddings"][0].outcome == said["buffers left out"][0].outcome == "holds"


def test_architecture_sum_and_what_is_missing(model: Model) -> None:
    card = "| Layers | 2 |\n| d_model | 16 |\n| heads | 4 (2 KV heads) |\nSHA256: {}\n"
    folder = model(config=CONFIG, readme="")
    sum_ = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "README.md").write_text(card.format(sum_) + f"old: {'0' * 64}\n")
    found = checked(folder)
    assert found["layers"][0].outcome == "holds"
    assert (found["width"][0].outcome, found["width"][0].found) == ("differs", "8")
    assert found["heads"][0].outcome == found["kv heads"][0].outcome == "holds"
    assert found["vocabulary"][0].outcome == "missing"
    assert [one.outcome for one in found["SHA-256"]] == ["holds", "differs"]
    for what in ("parameters", "training data", "limitations", "benchmark numbers"):
        assert found[what][0].outcome == "missing", what


BENCHMARKS = """
## Results (zero-shot, bare prompt, acc by log-likelihood)

| ARC-Easy | 47.94 | PIQA | 61% |

## Language modelling

WikiText-2 perplexity: 17.3
WikiText-2 PPL 2.37 per byte, context 1024, stride 512
"""


def test_benchmark_numbers_and_their_conventions(model: Model) -> None:
    found = checked(model(readme=BENCHMARKS), {"arc-easy-text": 0.4794, "piqa": 0.6149})
    assert (found["ARC-Easy"][0].outcome, found["ARC-Easy"][0].found) == ("holds", "47.94 (arc-easy-text)")
    assert found["PIQA"][0].outcome == "holds"  # 61.49 rounds to 61
    alone = model("alone", readme="## Results\n\nARC-Easy 47.94\n")
    assert checked(alone)["ARC-Easy"][0].why == "its convention is not stated: prompt format, normalisation"
    assert checked(alone, {"arc-easy": 0.4794})["ARC-Easy"][0].outcome == "holds"
    assert checked(alone, {"arc-easy": 0.48})["ARC-Easy"][0].outcome == "differs"
    bare = model("bare", readme="## LM\n\nWikiText-2: 17.3\n")
    assert checked(bare)["WikiText-2"][0].why.endswith("token or byte level, stride or context")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("135M parameters", 135_000_000),
        ("Parameters: 134,515,008", 134_515_008),
        ("| **Parameters** | 1.2B |", 1_200_000_000),
        ("a 64 million parameter model", 64_000_000),
    ],
)
def test_counts_as_cards_write_them(text: str, value: int) -> None:
    assert [int(one.value) for one in card_claims.parameters(text)] == [value]


@pytest.mark.parametrize("text", ["2 parameters: name and size", "parameters of version 2", "tokens: 15,000"])
def test_what_is_no_count(text: str) -> None:
    assert card_claims.parameters(text) == []


def test_the_yaml_at_the_top_is_not_the_card(model: Model) -> None:
    found = checked(model(readme="---\nparameters: 9999999\n---\n2,408 parameters"))
    assert [one.outcome for one in found["parameters"]] == ["holds"]


def test_without_a_card_it_says_so(model: Model) -> None:
    with pytest.raises(EntryError, match=r"has no README.md: there is no card to check"):
        checked(model())


def test_the_command(model: Model, tmp_path: Path) -> None:
    folder = model(config=CONFIG, readme="9,999 parameters")
    done = CliRunner().invoke(command, ["check", str(folder)])
    assert done.exit_code == 1
    assert "1 differs" in done.output
    done = CliRunner().invoke(command, ["check", str(folder), "--json"])
    outcomes = {one["what"]: one["outcome"] for one in json.loads(done.stdout)}
    assert outcomes["parameters"] == "differs"
    (folder / "README.md").write_text("2,408 parameters")
    assert CliRunner().invoke(command, ["check", str(folder)]).exit_code == 0
