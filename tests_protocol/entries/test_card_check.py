"""A model card against its model: what holds, what differs, what is missing."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nanolm.cli.card import command
from nanolm.cli.entry import command as entry_command
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
    with pytest.raises(EntryError, match=r"has no file README.md: there is no card to check"):
        checked(model())


HIDDEN = """# A model

2,408 parameters; ARC-Easy 47.94 (zero-shot, acc).

```python
model = load("x")  # 9,999 parameters, PIQA 12.5
```

- in a list:
  ~~~text
  step 100: PIQA 13.5, 8888 parameters
  ~~~

<!-- 7,777 parameters, PIQA 14.5
```
PIQA 15.5 -->
    hidden_size 16, PIQA 16.5

<pre>
PIQA 17.5
</pre> and PIQA 61.5 <!-- PIQA 18.5 --> ```PIQA 19.5```
"""


def test_code_and_comments_are_no_claims(model: Model) -> None:
    found = checked(model(config=CONFIG, readme=HIDDEN))
    assert [(one.stated, one.line) for one in found["parameters"]] == [("2,408 parameters", 3)]
    assert [(one.stated, one.line) for one in found["PIQA"]] == [("61.5", 21), ("19.5", 21)]
    assert found["width"][0].outcome == "missing"
    assert found["ARC-Easy"][0].line == 3


@pytest.mark.parametrize(
    ("card", "seen"),
    [
        ("<!-- never closed\nPIQA 1.5", []),
        ("text <!-- never closed\nPIQA 1.5", ["1.5"]),
        ("`<!--` begins a comment\nPIQA 1.5\n-->", ["1.5"]),
        ("```\n<!-- in code\n```\nPIQA 1.5 -->", ["1.5"]),
        ("```never closed\nPIQA 1.5", []),
        ("---\nPIQA 1.5\n", ["1.5"]),
        ("\u0130\u0130 <!-- x\n--> PIQA 1.5", ["1.5"]),
        ("<script>PIQA 2.5</SCRIPT >PIQA 1.5", ["1.5"]),
    ],
)
def test_what_is_hidden(card: str, seen: list[str]) -> None:
    assert [one.text for one in card_claims.benchmarks(card)] == seen


def test_a_convention_may_stand_in_a_command_and_a_sum_in_code(model: Model) -> None:
    folder = model(readme="")
    sum_ = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "README.md").write_text(
        "## Scores\n\nPIQA 61.5\n\n```sh\nlm_eval --tasks piqa  # acc_norm\nsha256sum *\n"
        f"{sum_} m\n{'0' * 64} x\n```\n"
    )
    found = checked(folder)
    assert found["PIQA"][0].why == "no measurement of ours to compare with (--scores)"
    assert [one.outcome for one in found["SHA-256"]] == ["holds"]


TABLES = """
| Task | ours | base |
|:--|--:|
| ARC-Easy | 47.94 | 40.1 | extra | cells |
| PIQA |
| | 3.5 |
|WinoGrande|–|
| **SciQ** | |

<table><tr><td rowspan="2" class="w3">HellaSwag</td><td colspan=4><b>31.5</b></td></tr>
<tr>
<td>BoolQ</td>
<td align="right">52.5</td>
</tr>
<tr><td>MMLU
"""


def test_tables_with_odd_cells(model: Model) -> None:
    found = card_claims.benchmarks(TABLES)
    assert [(one.what, one.text, one.line) for one in found] == [
        ("ARC-Easy", "47.94", 4), ("HellaSwag", "31.5", 10), ("BoolQ", "52.5", 11),
    ]  # fmt: skip
    head = checked(model(readme="| Model | PIQA | SciQ |\n|---|---|---|\n| ours | 1.5 | 2.5 |\n"))
    (only,) = head["benchmark numbers"]
    assert (only.outcome, only.stated, only.line) == ("not checked", "PIQA, SciQ", 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "README.md of .* is empty: there is no card"),
        (b" \n\t\n", "is empty"),
        ("PIQA 61.5".encode("utf-16"), "is no text in UTF-8"),
    ],
)
def test_files_that_are_no_card(model: Model, content: bytes, message: str) -> None:
    folder = model(readme="")
    (folder / "README.md").write_bytes(content)
    with pytest.raises(EntryError, match=message):
        checked(folder)


def test_a_card_in_another_encoding_is_read_as_far_as_it_goes(model: Model) -> None:
    folder = model(readme="")
    (folder / "README.md").write_bytes("Paramètres: 2,408 parameters\n".encode("latin-1"))
    assert [one.outcome for one in checked(folder)["parameters"]] == ["holds"]


def test_a_folder_or_another_name_in_the_cards_place(model: Model) -> None:
    folder = model()
    (folder / "readme.md").write_text("PIQA 61.5")
    with pytest.raises(EntryError, match=r"no file README\.md: .*found readme\.md"):
        checked(folder)
    (folder / "README.md").mkdir()
    with pytest.raises(EntryError, match=r"no file README\.md"):
        checked(folder)


def test_a_huge_card_is_refused_by_its_size(model: Model) -> None:
    folder = model(readme="")
    with (folder / "README.md").open("r+b") as file:
        file.truncate(50_000_000)
    with pytest.raises(EntryError, match=r"50,000,000 bytes; expected a model card of at most 4,194,304"):
        checked(folder)


@pytest.mark.parametrize(
    "piece",
    ["<!-- ", "x <!-- ", "<pre>", "1", "123 ", "data ", "PIQA ", "PIQA 1.5 ", "PIQA 1.5\n", "<", "| ",
     "## a\n", "layers ", "parameters ", "<tr>PIQA\n", "`", "```\n"],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        card = piece * (size // len(piece))
        start = time.process_time()
        card_claims.body.cache_clear()
        for one in card_claims.benchmarks(card):
            card_claims.conventions(one)
        card_claims.parameters(card)
        card_claims.sums(card)
        list(card_claims.architecture(card))
        card_claims.says(card, "token", "data")
        return time.process_time() - start

    seconds(1000)
    assert seconds(200_000) < 20 * max(seconds(25_000), 0.01)  # 8 times the text; quadratic would be 64


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


def test_a_gguf_entry_is_told_of_its_card_and_an_audit_of_an_audit(tmp_path: Path) -> None:
    """Parameters are counted from safetensors; neither command has them of such an entry."""
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF")
    for target in ("smollm2-135m-instruct-q4", str(file), "oracle"):
        card = str(CliRunner().invoke(command, ["check", target, "--edition=mini"]).exception)
        audited = str(CliRunner().invoke(entry_command, ["audit", target, "--edition=mini"]).exception)
        assert target in card
        assert "card" in card
        assert "audit" not in card
        assert "audit" in audited
        assert "card" not in audited
        assert ("the model's own repository" in card) == (target != "oracle")
