"""A model card against its model: what holds, what differs, what is missing."""

import hashlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from nanolm.cli.card import command
from nanolm.cli.entry import command as entry_command
from nanolm.entries import derive
from nanolm.entries.artefacts import Folder
from nanolm.entries.card import benchmarks as card_benchmarks
from nanolm.entries.card import claims as card_claims
from nanolm.entries.card import counts as card_counts
from nanolm.entries.card import names as card_names
from nanolm.entries.card import sums as card_sums
from nanolm.entries.card import text as card_text
from nanolm.entries.card.check import check
from nanolm.entries.card.finding import Finding
from nanolm.entries.card.scores import Measured, Row, TextScore, check_model
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError
from nanolm.run.perplexity import Perplexity
from nanolm.schema import BenchmarkScore, EntryScore

CONFIG = {"num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 300, "num_attention_heads": 4,
          "num_key_value_heads": 2}  # fmt: skip
TWICE = {"model.embed_tokens.weight": (300, 8), "lm_head.weight": (300, 8), "model.rotary_emb.inv_freq": (4,)}
Model = Callable[..., Path]


def checked(
    folder: Path, raw: dict[str, float] | None = None, texts: tuple[TextScore, ...] = ()
) -> dict[str, list[Finding]]:
    source = Folder(folder)
    measured = Measured(rows={slug: Row(raw=value) for slug, value in (raw or {}).items()}, texts=texts)
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
    assert [int(one.stated.value) for one in card_counts.parameters(text)] == [value]


@pytest.mark.parametrize("text", ["2 parameters: name and size", "parameters of version 2", "tokens: 15,000"])
def test_what_is_no_count(text: str) -> None:
    assert card_counts.parameters(text) == []


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
    assert [(one.stated, one.line) for one in found["PIQA"]] == [("61.5", 21)]
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
    assert [one.text for one in card_benchmarks.benchmarks(card)] == seen


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
    found = card_benchmarks.benchmarks(TABLES)
    assert [(one.what, one.text, one.line) for one in found] == [
        ("ARC-Easy", "47.94", 4), ("HellaSwag", "31.5", 10), ("BoolQ", "52.5", 11),
    ]  # fmt: skip
    head = checked(model(readme="| Model | PIQA | SciQ |\n|---|---|---|\n| Llama-1B | 1.5 | 2.5 |\n"))
    (only,) = head["benchmark numbers"]
    assert (only.outcome, only.stated, only.line) == ("not checked", "PIQA, SciQ", 1)


OURS = {"piqa": 0.4, "piqa-norm": 0.6, "arc-easy-letter": 0.6, "arc-easy-text": 0.0,
        "arc-easy-text-norm": 0.2, "blimp": 0.8, "hellaswag": 0.3, "hellaswag-norm": 0.4}  # fmt: skip


@pytest.mark.parametrize(
    ("card", "outcome", "found"),
    [
        ("PIQA: 40.0% (zero-shot, acc)", "holds", "40.00 (piqa)"),
        ("PIQA: 60.0% (zero-shot, acc)", "differs", "40.00 (piqa)"),
        ("PIQA: 60.0% (zero-shot, no length normalisation)", "differs", "40.00 (piqa)"),
        ("PIQA: 60.0% (zero-shot, unnormalized)", "differs", "40.00 (piqa)"),
        ("PIQA: 40.0% (zero-shot, acc_norm)", "differs", "60.00 (piqa-norm)"),
        ("PIQA: 60.0% (zero-shot, length-normalised)", "holds", "60.00 (piqa-norm)"),
        ("## Zero-shot, normalized accuracy\n\nPIQA: 40.0", "differs", "60.00 (piqa-norm)"),
        ("ARC-Easy: 60.0 (zero-shot, by letter, acc)", "holds", "60.00 (arc-easy-letter)"),
        ("ARC-Easy: 60.0 (zero-shot, by text, acc)", "differs", "0.00 (arc-easy-text)"),
        ("ARC-Easy (letter): 0.0 (zero-shot, acc)", "differs", "60.00 (arc-easy-letter)"),
        ("ARC-Easy (text): 60.0 (zero-shot, acc)", "differs", "0.00 (arc-easy-text)"),
        ("arc-easy-text-norm: 0.0 (zero-shot)", "differs", "20.00 (arc-easy-text-norm)"),
        ("piqa-norm: 40.0 (zero-shot)", "differs", "60.00 (piqa-norm)"),
        ("PIQA: 60.0 (zero-shot, w/o length normalization)", "differs", "40.00 (piqa)"),
        ("## RMSNorm, layer normalization\n\nPIQA: 60.0", "holds", "60.00 (piqa-norm)"),
        ("arc_easy: 20.0 (zero-shot, acc_norm)", "holds", "20.00 (arc-easy-text-norm)"),
        ("PIQA: 0.40 (zero-shot, acc)", "holds", "40.00 (piqa)"),
        ("PIQA (0-shot, acc): 40.0", "holds", "40.00 (piqa)"),
        ("**PIQA** \u2192 40.0 %, zero-shot, acc", "holds", "40.00 (piqa)"),
        ("PIQA 40.0 \u00b1 1.2 (zero-shot, acc)", "holds", "40.00 (piqa)"),
        ("PIQA: 70.0% (5-shot, acc)", "not checked", ""),
        ("PIQA: 70.0% (few-shot prompt, acc)", "not checked", ""),
        ("BLiMP: 80.0 (zero-shot, acc_norm)", "not checked", ""),
        ("PIQA: 40.0 (zero-shot, by letter, acc)", "not checked", ""),
        ("HellaSwag: 130% (zero-shot, acc)", "differs", ""),
        ("HellaSwag: -3% (zero-shot, acc)", "differs", ""),
    ],
)
def test_a_number_is_held_against_the_row_of_its_convention(
    model: Model, card: str, outcome: str, found: str
) -> None:
    lines = checked(model(readme=card), OURS)
    names = ("piqa", "arc-easy", "arc_easy", "blimp", "hellaswag")
    (one,) = (each for what, found in lines.items() if what.lower() in names for each in found)
    assert (one.outcome, one.found) == (outcome, found)


def test_a_revision_is_no_sum(model: Model) -> None:
    card = f"# M\n\nMeasured at revision `{'d' * 64}` (a digest of its files).\n"
    assert [one.outcome for one in checked(model(readme=card))["SHA-256"]] == ["missing"]


def test_the_raw_column_is_read_of_a_table_that_nanolm_wrote(model: Model) -> None:
    """Skill, chance level, items, tokens and truncated shares are no accuracies."""
    card = """## SLM benchmark conventions: m

| Benchmark | Skill | Raw | Chance | Items | Mean output tokens | Truncated |
|---|---:|---:|---:|---:|---:|---:|
| ARC-Easy, by letter | 11.0 | 20.0 (18.1 to 22.0) | 26.6 | 2,376 | 1 | 0.0% |
| PIQA | 30.1 | 61.5 (59.0 to 63.9) | 50.5 | 1,838 | 1 | 0.0% |
"""
    found = {one.text: one.value for one in card_benchmarks.benchmarks(card)}
    assert {str(value) for value in found.values()} == {"20.0", "61.5"}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("trainable params: 8,192 || all params: 163,648", ["163648"]),
        ("Each layer has about 37K parameters", []),
        ("The embedding matrix alone has 44,800 parameters", []),
        ("<li>Context length: 2,048</li><li>Parameters: 163648</li>", ["163648"]),
        ("Layers 2<br>Parameters: 163648<br>Heads 4", ["163648"]),
    ],
)
def test_a_part_is_not_the_whole_and_list_items_are_apart(text: str, counts: list[str]) -> None:
    assert [str(one.stated.value) for one in card_counts.parameters(text) if not one.doubt] == counts


def test_what_one_row_or_line_says_of_itself_is_of_no_other() -> None:
    """Also a row of a benchmark that is not known here."""
    table = (
        "All evaluations are zero-shot unless stated otherwise.\n\n"
        "| Metrics | M |\n|:---|:---:|\n| HellaSwag | 40.0 |\n| GSM8K (5-shot) | 1.4 |\n| PIQA | 41.0 |\n"
    )
    assert {one.convention.shots for one in card_benchmarks.benchmarks(table, ("m",))} == {0}
    letter, normed = card_benchmarks.benchmarks("ARC-c: 20.0 (letter)\nHellaSwag (acc_norm): 40.00\n")
    assert (letter.convention.form, letter.convention.normalised) == ("letter", None)
    assert (normed.convention.form, normed.convention.normalised) == (None, True)


def test_what_the_card_does_not_say_is_said(model: Model) -> None:
    (one,) = checked(model(readme="ARC-Easy: 20.0 (zero-shot, acc_norm or acc)"), OURS)["ARC-Easy"]
    assert one.outcome == "holds"
    assert one.why == (
        "the nearest of arc-easy-letter, arc-easy-text, arc-easy-text-norm: the card does not say whether it "
        "is length-normalised and whether it is by letter or by text"
    )
    (one,) = checked(model("shots", readme="PIQA: 70.0% (5-shot, acc)"), OURS)["PIQA"]
    assert one.why == "not compared: 5-shot, ours is zero-shot"
    (one,) = checked(model("none", readme="BLiMP: 80.0 (zero-shot, acc_norm)"), OURS)["BLiMP"]
    assert one.why == "not compared: length-normalised; ours: blimp"
    (one,) = checked(model("high", readme="PIQA: 130% (zero-shot, acc)"), OURS)["PIQA"]
    assert one.why == "no accuracy is above 100%"
    assert checked(model("mmlu", readme="MMLU-Pro: 12 (acc, zero-shot)"), {"mmlu": 0.3})["benchmark numbers"]


def test_a_convention_in_a_cell_is_that_rows_alone(model: Model) -> None:
    card = "| Benchmark | Score |\n|---|---|\n| ARC-Easy | 43.1 |\n| HellaSwag (acc_norm, 0-shot) | 40.0 |\n"
    found = checked(model(readme=card), OURS)
    assert found["HellaSwag"][0].why == ""
    assert "does not say whether it is length-normalised" in found["ARC-Easy"][0].why
    both = "ARC-Easy 60.0 (by letter, zero-shot, acc) and 20.0 (by text, acc_norm)"
    found = checked(model("both", readme=both), OURS)
    assert [(one.stated, one.outcome, one.found) for one in found["ARC-Easy"]] == [
        ("60.0", "holds", "60.00 (arc-easy-letter)"), ("20.0", "holds", "20.00 (arc-easy-text-norm)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "card",
    [
        "PIQA has 1,838 items.",
        "PIQA results of 2024-05-03",
        "We do not report ARC-Easy. Weights are 0.6 MB.",
        "PIQA chance is 50.0%.",
        "PIQA improved from 20.0 to 40.0 (zero-shot, acc)",
        "Ranked 3 on HellaSwag",
        "PIQA is a 2-way choice",
        "PIQA: 12 tasks",
        "PIQA: 1 of 72",
        "ARC-Easy/ARC-Challenge: 40.0/20.0",
        "PIQA > 40.0",
        "PIQA: 40,0 %",
        "![PIQA: 40.0](a.png)",
        "~~PIQA: 40.0~~",
        "`nanolm run --piqa 40.0 PIQA: 40.0`",
        "[PIQA](https://a.b/40.0)",
    ],
)
def test_what_is_no_result(model: Model, card: str) -> None:
    assert card_benchmarks.benchmarks(card) == []
    assert {one.outcome for one in checked(model(readme=card), OURS)["benchmark numbers"]} <= {
        "not checked", "missing",
    }  # fmt: skip


@pytest.mark.parametrize(
    "card",
    [
        "PIQA: 40.0 (acc), 60.0 (acc_norm)",
        "PIQA 40.0% (acc) and 60.0% (acc_norm), zero-shot",
        "PIQA acc=0.400, acc_norm=0.600",
        "- **PIQA**: acc 40.0, acc_norm 60.0",
    ],
)
def test_two_numbers_of_one_benchmark(model: Model, card: str) -> None:
    found = checked(model(readme=card), OURS)["PIQA"]
    assert [(one.outcome, one.found) for one in found] == [
        ("holds", "40.00 (piqa)"), ("holds", "60.00 (piqa-norm)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "heads", "places"),
    [
        ("org/My-Model", ["my_model", "My-Model-2"], [0]),
        ("m", ["M (ours)", "N"], [0]),
        ("m", ["M base", "N"], [0]),
        ("m-base", ["M", "N"], [0]),
        ("smollm2-135m-instruct", ["SmolLM2-135M", "SmolLM2-135M-Instruct"], [1]),
        ("smollm2-135m-instruct", ["SmolLM2-135M", "Qwen"], []),
        ("llama-eos", ["Llama", "GPT-2"], []),
        ("m", ["This model", "GPT-2"], [0]),
    ],
)
def test_which_head_is_this_model(own: str, heads: list[str], places: list[int]) -> None:
    assert card_names.own_places(heads, card_names.of("", [own])) == places


def claims(card: str, *own: str) -> list[tuple[str, str]]:
    return [(one.what, one.text) for one in card_benchmarks.benchmarks(card, own) if not one.doubt]


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("| Benchmark | SmolLM2-135M | M |\n|---|---|---|\n| PIQA | 68.4 | 40.0 |", ["40.0"]),
        ("| Benchmark | **M** (ours) | SmolLM2-135M |\n|---|---|---|\n| PIQA | 40.0 | 68.4 |", ["40.0"]),
        ("| Benchmark | A | B |\n|---|---|---|\n| PIQA | 40.0 | 68.4 |", []),
        ("| Benchmark | SmolLM2-135M |\n|---|---|\n| PIQA | 68.4 |", []),
        ("| Benchmark | SmolLM2-135M (acc) |\n|---|---|\n| PIQA | 68.4 |", []),
        ("| Benchmark | org/lm |\n|---|---|\n| PIQA | 68.4 |", []),
        ("| Benchmark | Score | Chance |\n|---|---|---|\n| PIQA | 40.0 | 50.0 |", ["40.0"]),
        ("| Benchmark | acc | acc_norm |\n|---|---|---|\n| PIQA | 40.0 | 60.0 |", ["40.0", "60.0"]),
        ("| Model | PIQA |\n|---|---|\n| SmolLM2-135M | 68.4 |\n| M | 40.0 |", ["40.0"]),
        ("| Model | PIQA |\n|---|---|\n| SmolLM2-135M | 68.4 |\n| Llama-1B | 40.0 |", []),
        ("| Model | PIQA |\n|---|---|\n| A | 68.4 |\n| B | 40.0 |", []),
        ("# My_Model\n\n| Model | PIQA |\n|---|---|\n| my-model | 68.4 |\n| B | 40.0 |", ["68.4"]),
        ("# Model card for X: small\n\n| | X | Y |\n|---|---|---|\n| PIQA | 68.4 | 4.0 |", ["68.4"]),
        ("SmolLM2-135M has PIQA: 68.4. M has PIQA: 40.0", ["40.0"]),
        ("PIQA: 68.4 for SmolLM2-135M", []),
        (
            "<table><tr><th>Task</th><th>M</th><th>GPT-2</th></tr>\n"
            "<tr><td>PIQA</td><td>40.0</td><td>62.0</td></tr></table>",
            ["40.0"],
        ),
    ],
)
def test_the_numbers_of_other_models_are_none_of_this_ones(card: str, expected: list[str]) -> None:
    assert claims(card, "models/m") == [("PIQA", text) for text in expected]


def test_tables_of_lm_evaluation_harness(model: Model) -> None:
    card = (
        "|Tasks|Version|Filter|n-shot|Metric|   |Value|   |Stderr|\n|---|--:|---|--:|---|---|--:|---|--:|\n"
        "|piqa|1|none|0|acc|\u2191|0.4000|\u00b1|0.2|\n| | |none|0|acc_norm|\u2191|0.6000|\u00b1|0.2|\n"
        "|blimp|1|none|5|acc|\u2191|0.9|\u00b1|0.2|\n"
    )
    found = checked(model(readme=card), OURS)
    assert [(one.outcome, one.found) for one in found["piqa"]] == [
        ("holds", "40.00 (piqa)"), ("holds", "60.00 (piqa-norm)"),
    ]  # fmt: skip
    assert found["blimp"][0].why == "not compared: 5-shot, ours is zero-shot"


def score_of(
    folder: Path, to: Path, raw: dict[str, float], *, complete: bool = True, **model: object
) -> Path:
    """A score.json as a run of this folder writes it."""
    source = Folder(folder)
    count = audit(source)
    identity = {"repo": "", "revision": derive.content_of(source, count), "parameters": count.parameters}
    lines = {slug: BenchmarkScore(skill=0, raw=value, chance=0.5, chance_rule="constant", items=5)
             for slug, value in raw.items()}  # fmt: skip
    score = EntryScore(
        edition="slm-specs", edition_digest="0", entry="measured", mode="base", complete=complete,
        publishable=False, index=None, raw_index=None, categories={}, benchmarks=lines, decoding={},
        model={**identity, **model}, engine={}, samples=1,
    )  # fmt: skip
    to.write_bytes(msgspec.json.encode(score))
    return to


def told(folder: Path, *files: Path) -> tuple[int, str, list[dict[str, object]]]:
    options = [part for file in files for part in ("--scores", str(file))]
    done = CliRunner().invoke(command, ["check", str(folder), "--json", *options])
    return done.exit_code, str(done.exception or ""), json.loads(done.stdout or "[]")


def test_scores_of_the_model_itself_and_of_a_part(model: Model, tmp_path: Path) -> None:
    folder = model(config=CONFIG, readme="PIQA: 40.0 (zero-shot, acc)")
    part = score_of(folder, tmp_path / "part.json", {"piqa": 0.4}, complete=False)
    code, _, found = told(folder, part)
    (piqa,) = (one for one in found if one["what"] == "PIQA")
    assert (code, piqa["outcome"], piqa["why"]) == (0, "holds", "partial: 5 items")
    whole = score_of(folder, tmp_path / "whole.json", {"piqa": 0.3})
    for files in ((part, whole), (whole, part)):
        code, _, found = told(folder, *files)
        piqa = next(one for one in found if one["what"] == "PIQA")
        assert (code, piqa["found"], piqa["why"]) == (1, "30.00 (piqa)", "")
    code, _, found = told(model("five", config=CONFIG, readme="PIQA: 70.0 (5-shot, acc)"), whole)
    assert code == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"parameters": 99}, r"it measured measured \(99 parameters, this one has 2,408\)"),
        ({"revision": "0" * 64}, r"\(digest of its files 000000000000, this one's is"),
        ({"repo": "", "revision": "", "parameters": 0}, r"a synthetic entry, or one without a revision"),
    ],
)
def test_scores_of_another_model_are_refused(
    model: Model, tmp_path: Path, other: dict[str, object], message: str
) -> None:
    folder = model(config=CONFIG, readme="PIQA: 40.0 (zero-shot, acc)")
    code, error, found = told(folder, score_of(folder, tmp_path / "score.json", {"piqa": 0.4}, **other))
    assert code == 1
    assert found == []
    assert "score.json is of another model than" in error
    assert re.search(message, error)


@pytest.mark.parametrize(
    ("model", "repo", "revision", "why"),
    [
        ({"repo": "a/b", "revision": "1" * 40, "parameters": 5}, "c/d", "1" * 40, "of a/b"),
        ({"repo": "a/b", "revision": "1" * 40, "parameters": 5}, "A/B", "2" * 40, "commit 111111111111"),
        ({"repo": "a/b", "revision": "1" * 40, "parameters": 5}, "a/b", "1" * 40, ""),
        ({"repo": "a/b", "revision": "1" * 40, "parameters": 5}, "", "2" * 64, ""),
        ({"repo": "a/b", "revision": "1" * 40, "parameters": 6}, "", "2" * 64, "6 parameters"),
    ],
)
def test_whose_measurement_it_is(model: dict[str, object], repo: str, revision: str, why: str) -> None:
    """A download of a repository has no commit: its parameters decide."""
    asked = {"file": "f", "entry": "e", "repo": repo, "revision": revision, "parameters": 5}
    if not why:
        check_model("here", model, **asked)  # type: ignore[arg-type]
        return
    with pytest.raises(EntryError, match=re.escape(why)):
        check_model("here", model, **asked)  # type: ignore[arg-type]


TEXT = TextScore(text="wikitext-2", token_perplexity=20.14, byte_perplexity=2.371, bits_per_byte=1.2412,
                 context=2048, stride=512)  # fmt: skip


@pytest.mark.parametrize(
    ("card", "outcome", "said"),
    [
        ("WikiText-2 token perplexity: 20.1 (stride 512)", "holds", "20.1400 (token perplexity"),
        (
            "WikiText-2 byte-level perplexity 2.37 (stride 512)",
            "holds",
            "2.3710 (byte perplexity, wikitext-2)",
        ),
        ("WikiText2 token-level PPL: 20.3 (stride 512)", "differs", "20.1400 (token perplexity"),
        ("WikiText-2 perplexity (byte): 20.14 (stride 512)", "differs", "2.3710 (byte perplexity"),
        ("WikiText-2: 1.25 bits per byte (stride 512)", "differs", "1.2412 (bits per byte, wikitext-2)"),
        ("BPB on WikiText-2: 1.246 (stride 512)", "differs", "1.2412 (bits per byte, wikitext-2)"),
        ("BPB on WikiText-2: 1.24 (stride 512)", "holds", "1.2412 (bits per byte, wikitext-2)"),
        ("| Set | PPL |\n|---|---|\n| WikiText-2 | 20.1 |", "holds", "token perplexity"),
        ("WikiText-2 perplexity: 2.37 (stride 512)", "differs", "taken for token perplexity"),
        ("WikiText-2 perplexity per word: 30.1 (stride 512)", "not checked", "per word"),
        ("WikiText-2 token perplexity: 25.0 (context 1024)", "not checked", "context 1,024, ours is 2,048"),
        ("WikiText-2 token perplexity: 25.0 (stride 1024)", "not checked", "stride 1,024, ours is 512"),
        (
            "WikiText-103 token perplexity: 25.0 (stride 512)",
            "not checked",
            "of wikitext-103; ours: wikitext-2",
        ),
        ("token perplexity: 25.0 (stride 512)", "not checked", "does not say of which text"),
    ],
)
def test_perplexities_are_held_against_the_measured_text(
    model: Model, card: str, outcome: str, said: str
) -> None:
    found = checked(model(readme=card), texts=(TEXT,))
    names = ("perplexity", "ppl", "wikitext-2", "bpb")
    (one,) = (each for what, found in found.items() if what.lower() in names for each in found)
    assert said in f"{one.found}; {one.why}"
    assert one.outcome in (outcome, "missing" if outcome == "not checked" else outcome)


def test_a_partial_text_and_one_beside_a_score(model: Model, tmp_path: Path) -> None:
    folder = model(
        config=CONFIG,
        readme="PIQA: 40.0 (zero-shot, acc)\n\nWikiText-2 token perplexity: 20.1 (stride 512)",
    )
    score = score_of(folder, tmp_path / "score.json", {"piqa": 0.4})
    identity = json.loads(score.read_text())["model"]
    text = Perplexity(
        **msgspec.structs.asdict(msgspec.structs.replace(TEXT, partial=True, scored_tokens=1234)),
        sha256="", bytes=1, tokens=1, nats=1.0, bytes_per_token=1.0, convention="sliding", windows=1,
        opening="", lossless=True, round_trip="", entry="measured", entry_digest="", model=identity,
        engine={}, edition="slm-specs", seconds=0.0,
    )  # fmt: skip
    file = tmp_path / "perplexity-wikitext-2.json"
    file.write_bytes(msgspec.json.encode(text))
    code, _, found = told(folder, score, file)
    lines = {str(one["what"]): one for one in found}
    assert code == 0
    assert lines["PIQA"]["outcome"] == lines["perplexity"]["outcome"] == "holds"
    assert lines["perplexity"]["why"] == "partial: 1,234 tokens"
    identity["parameters"] = 7
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(text, model=identity)))
    assert "7 parameters" in told(folder, score, file)[1]


@pytest.mark.parametrize(
    ("card", "outcome"),
    [
        ("2,408 parameters", "holds"),
        ("2,409 parameters", "differs"),
        ("2.4k params", "holds"),
        ("2.5k params", "differs"),
        ("0.002M params", "holds"),
        ("0.003M params", "differs"),
        ("0.001M params", "differs"),
        ("2,000 parameters", "holds"),
        ("about 2,400 parameters", "holds"),
        ("approximately 2,400 parameters", "holds"),
        ("\u2248 2,400 parameters", "holds"),
        ("~2,500 parameters", "differs"),
        ("2,400 parameters", "differs"),
        ("about 2.4 thousand parameters", "holds"),
        ("Parameters:&nbsp;2,408", "holds"),
        ("Parameters: `2,408`", "holds"),
        ("M is a 135M model.", "differs"),
        ("A 0.1B model", "differs"),
        ("M is a 125M language model.", "differs"),
        ("**Model size:** 135M", "differs"),
        ("- **Size**: 135M params", "differs"),
    ],
)
def test_a_count_holds_when_the_true_one_rounds_to_it(model: Model, card: str, outcome: str) -> None:
    found = checked(model(config=CONFIG, readme=card))["parameters"]
    assert [one.outcome for one in found] == [outcome]


@pytest.mark.parametrize(
    "card",
    [
        "LoRA adapter with 1.2M trainable parameters.",
        "1.2M trainable parameters (LoRA)",
        "![135M parameters](a.png)",
        "~~Parameters: 999,999~~",
        "<del>Parameters: 999,999</del>",
        "Use `--params 999,999 parameters` here",
        "# M-135M\n\nM-135M model is small",
        "# M 135M\n\nThe M 135M model is small",
        "Distilled from a 1.7B model.",
        "smaller than a 1.7B model",
        "Vocab size: 32K",
        "Batch size: 0.5M",
        "Size: 0.6 MB",
        "Size: 2B tokens",
    ],
)
def test_what_is_no_count_of_this_model(model: Model, card: str) -> None:
    found = checked(model(config=CONFIG, readme=card))["parameters"]
    assert {one.outcome for one in found} <= {"missing", "not checked"}


def test_sums_of_data_and_shortened_ones(model: Model) -> None:
    folder = model(readme="")
    right = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    cards = {
        f"Dataset SHA256: {'e' * 64}": "not checked",
        f"Corpus sha256:\n\n{'e' * 64}": "not checked",
        f"Tokenizer: SHA-256 {'e' * 64}": "not checked",
        f"Trained on open data. Checkpoint SHA256: {'e' * 64}": "differs",
        f"SHA256: {right[:8]}": "holds",
        f"SHA256: `{right[:16]}`": "holds",
        f"SHA-256: {right[:12]}\u2026": "holds",
        f"sha256sum: {right[:12].upper()}...": "holds",
        f"| model.safetensors | {right[:10]}\u2026 |": "holds",
        "SHA256: 0123456789abcdef": "differs",
        "Commit 9ea2fc6b1b3a7f0d0f1a2c3d4e5f60718293a4b5": "missing",
        "SHA256 is given elsewhere; commit 9ea2fc6b1b3a7": "missing",
        "MD5: 0123456789abcdef0123456789abcdef": "missing",
    }
    for card, outcome in cards.items():
        (folder / "README.md").write_text(card)
        assert [one.outcome for one in checked(folder)["SHA-256"]][-1:] == [outcome], card


INDEX = """---
license: mit
model-index:
- name: tiny-chat
  results:
  - task: {type: text-generation}
    dataset: {name: PIQA, type: piqa}
    metrics:
    - {type: acc, value: 0.400, name: accuracy}
    - type: acc_norm
      value: 60.0
    - type: accuracy
      value: 60.0
    - type: f1
      value: 12.5
  - dataset: {name: AI2 (25-Shot), type: ai2_arc, config: ARC-Easy, args: {num_few_shot: 25}}
    metrics:
    - {type: acc_norm, value: 99.0}
  - dataset: {name: FooBench, type: foo}
    metrics: [{type: accuracy, value: 130.5}]
  - dataset: {name: WikiText-2, type: wikitext}
    metrics:
    - {type: byte_perplexity, value: 2.37}
    - {type: perplexity, value: "20.4"}
  - dataset: {name: HellaSwag, type: hellaswag}
    metrics:
    - {type: acc, value: 130.5}
    - {type: acc, value: unknown}
    - {type: acc_stderr, value: 0.02}
---
2,408 parameters
"""


def test_the_hubs_model_index_is_read(model: Model) -> None:
    found = checked(model(readme=INDEX), OURS, (TEXT,))
    assert [(one.outcome, one.stated, one.found, one.line) for one in found["PIQA"]] == [
        ("holds", "0.400", "40.00 (piqa)", 9),
        ("holds", "60.0", "60.00 (piqa-norm)", 11),
        ("holds", "60.0", "60.00 (piqa-norm)", 13),
        ("not checked", "f1 12.5", "", 15),
    ]
    assert "does not say whether it is length-normalised" in found["PIQA"][2].why
    assert found["PIQA"][3].why == "not compared: its metric is f1"
    assert found["ARC-Easy"][0].why.startswith("not compared: 25-shot, ours is zero-shot")
    (foo,) = found["FooBench"]
    assert (foo.outcome, foo.stated, foo.why, foo.line) == (
        "not checked", "accuracy 130.5", "not compared: no benchmark that we know", 20,
    )  # fmt: skip
    assert [(one.outcome, one.stated) for one in found["perplexity"]] == [
        ("holds", "2.37"),
        ("differs", "20.4"),
    ]
    assert "taken for token perplexity" in found["perplexity"][1].why
    assert [(one.outcome, one.why) for one in found["HellaSwag"]] == [
        ("differs", "no accuracy is above 100%"), ("not checked", "not compared: its value is no number"),
    ]  # fmt: skip
    assert "benchmark numbers" not in found


@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        ("model-index: [", "the YAML at the top can't be read"),
        ("model-index:\n" + "[" * 3000, "the YAML at the top can't be read"),
        ("model-index:\n# " + "x" * (300 << 10), "can't be read: 307,2"),
    ],
)
def test_a_model_index_that_cant_be_read_is_said(model: Model, yaml: str, why: str) -> None:
    (one,) = checked(model(readme=f"---\n{yaml}\n---\nText\n"))["model-index"]
    assert (one.outcome, one.line) == ("not checked", 2)
    assert why in one.why


@pytest.mark.parametrize(
    "index",
    [
        "",
        "3",
        "[3, x]",
        "{results: 3}",
        "[{results: [{metrics: 4}]}]",
        "[{results: {dataset: x, metrics: []}}]",
    ],
)
def test_a_model_index_without_metrics_states_nothing(model: Model, index: str) -> None:
    found = checked(model(readme=f"---\nmodel-index: {index}\n---\nText\n"))
    assert [one.outcome for one in found["benchmark numbers"]] == ["missing"]


def test_a_model_index_of_several_models(model: Model) -> None:
    metric = "results: [{dataset: {name: PIQA}, metrics: [{type: acc, value: 0.4}]}]"
    card = f"---\nmodel-index:\n- name: other\n  {metric}\n- name: Tiny Chat\n  {metric}\n---\n"
    found = checked(model(readme=card), OURS)["PIQA"]
    assert [(one.outcome, one.line) for one in found] == [("holds", 6), ("not checked", 4)]
    assert found[1].why == "it is said of other"


def test_a_comparing_tables_architecture_is_this_models(model: Model) -> None:
    card = (
        "| | Llama-3.2-1B | Tiny_Chat |\n|---|---|---|\n| Parameters | 1.24B | 2,408 |\n| Layers | 16 | 2 |\n"
    )
    found = checked(model(config=CONFIG, readme=card))
    assert [(one.outcome, one.line) for one in found["parameters"]] == [("holds", 3)]
    assert [(one.outcome, one.line) for one in found["layers"]] == [("holds", 4)]


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
     "## a\n", "layers ", "parameters ", "<tr>PIQA\n", "`", "```\n",
     "sha256 1a2b3c4d ", "![", "~~a ", "](", "a `` b ` ", "|a|b|\n|-|-|\n|PIQA|1.5|\n", "a 1M model ",
     "PIQA 12.3 and 360M parameters\n", "Llama (1B parameters) ", "context 9\n", "### a\ncontext 9 PIQA 2\n"],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        card = piece * (size // len(piece))
        start = time.process_time()
        card_text.seen.cache_clear()
        card_text.pieces.cache_clear()
        card_claims.sections.cache_clear()
        for one in card_benchmarks.benchmarks(card):
            card_benchmarks.conventions(one)
        card_counts.parameters(card)
        list(card_sums.sums(card))
        list(card_claims.architecture(card))
        card_claims.says(card, "token", "data")
        return time.process_time() - start

    def least(size: int) -> float:
        return min(seconds(size) for _ in range(3))  # a garbage collection may fall into one

    seconds(1000)
    assert least(200_000) < 20 * max(least(25_000), 0.01)  # 8 times the text; quadratic would be 64


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


def counted(card: str, *own: str) -> list[tuple[int, bool]]:
    """Value of each count, and whether it is taken for this model's."""
    return [(int(one.stated.value), not one.doubt) for one in card_counts.parameters(card, own)]


@pytest.mark.parametrize(
    ("card", "values"),
    [
        ("A 360M-parameter model.", [360_000_000]),
        ("A 64-million-parameter model.", [64_000_000]),
        ("A 135M-parameter student of a 1.7B teacher.", [135_000_000]),
        (
            "A 135M-parameter model. About 0.135B parameters; 134.5 M params; 134515008 params.",
            [135_000_000, 135_000_000, 134_500_000, 134_515_008],
        ),
        ("Its parameters are few, after 2,000,000 steps", []),
        ("| Parameters | 135M |\n| Total: 2,400 parameters |", [135_000_000, 2400]),
        ("<table><tr><td>Parameters</td><td>135M</td></tr></table>", [135_000_000]),
        ("A llama-style decoder with RoPE, SwiGLU (135M parameters)", [135_000_000]),
        ("Teacher: Llama. 135M parameters", [135_000_000]),
        ("# SmolLM2-135M\n\nSmolLM2-135M (135M parameters) is small.", [135_000_000]),
    ],
)
def test_a_count_is_the_number_at_the_word(card: str, values: list[int]) -> None:
    assert counted(card) == [(value, True) for value in values]


@pytest.mark.parametrize(
    "card",
    [
        "Compared with Llama-3.2-1B (1.24B parameters) it is small.",
        "Compared with [Llama 3.2 1B](https://a.b/c) (about 1.24B parameters) it is small.",
        "Pythia, a 1.24B-parameter model",
        "| Llama-3.2-1B | 16 | 1.24B parameters |",
        "the 1.24B-parameter Llama",
        "The teacher has 1.24B parameters.",
        "| Parameters | 1.24B | 360M |",
        "Non-embedding parameters: 1.24B",
        "A family of 135M, 360M, and 1.24B parameters.",
    ],
)
def test_a_count_of_another_model_is_not_held_against_this_one(model: Model, card: str) -> None:
    assert counted(card, "ours-135m") == [(1_240_000_000, False)]
    found = checked(model(config=CONFIG, readme=card))["parameters"]
    assert [one.outcome for one in found] == ["missing", "not checked"]
    assert found[1].why


@pytest.mark.parametrize(
    ("card", "stated"),
    [
        ("WikiText-2: token-level perplexity 20.1 (stride 512, context 1024)", None),
        ("Perplexity of 20.1:\n- stride 512\n- context 1024", None),
        ("## Evaluation\n\nAll runs use context 1024.", None),
        ("5-shot, context 1024. Its context is 8192.", "8192"),
        ("## Architecture\n\ncontext 8192\n\n## Evaluation\n\ncontext 1024", "8192"),
    ],
)
def test_the_context_of_an_evaluation_is_not_the_models(card: str, stated: str | None) -> None:
    found = [str(one.value) for one in card_claims.architecture(card) if one.what == "context"]
    assert found == ([stated] if stated else [])


def test_a_sum_is_compared_with_the_file_it_names(model: Model) -> None:
    folder = model(readme="")
    (folder / "tokenizer.json").write_text("{}")
    right = hashlib.sha256(b"{}").hexdigest()
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "README.md").write_text(
        f"| tokenizer.json | {right} |\n| `tokenizer.json` | {'a' * 64} |\n| vocab.txt | {'b' * 64} |\n"
        f"| model.safetensors | {weights} |\n| model.safetensors | {'c' * 64} |\n\n"
        f"vocab.txt:\n\n{'d' * 64}\n\n```\n{'e' * 64}  tokenizer.json\n```\n"
    )
    found = checked(folder)["SHA-256"]
    outcomes = ["holds", "differs", "not checked", "holds", "differs", "not checked", "differs"]
    assert [one.outcome for one in found] == outcomes
    assert found[1].found == f"tokenizer.json {right[:12]}…"
    assert found[2].why == "it is said of vocab.txt, which is not read here"
    (folder / "README.md").write_text(f"tokenizer.json {right}")
    assert [one.outcome for one in checked(folder)["SHA-256"]] == ["missing", "holds"]


def test_what_is_said_of_a_cards_bytes(model: Model) -> None:
    folder = model(readme="")
    (folder / "README.md").write_bytes(b"# A\n2,408 \0parameters\0\n")
    with pytest.raises(EntryError, match=r"holds NUL bytes \(2, the first in line 2\).*save it without"):
        checked(folder)
    (folder / "README.md").write_bytes("# A\nParamètres: 2,408 parameters\n".encode("latin-1"))
    (said,) = checked(folder)["encoding"]
    assert (said.outcome, said.line) == ("not checked", 2)
    assert said.why.startswith("README.md is not valid UTF-8 (byte 0xE8 at 9)")
    (folder / "README.md").write_text("Paramètres: 2,408 parameters\n", encoding="utf-8")
    assert "encoding" not in checked(folder)


def test_equal_claims_stand_once_with_their_number(model: Model) -> None:
    folder = model(readme="PIQA 12.3 and 360M parameters\n" * 60_000)
    begun = time.process_time()
    found = checked(folder)
    assert [(one.stated, one.line, one.times) for one in found["PIQA"]] == [("12.3", 1, 60_000)]
    assert [(one.outcome, one.times) for one in found["parameters"]] == [("differs", 60_000)]
    assert time.process_time() - begun < 60
    (folder / "README.md").write_text("".join(f"PIQA {number / 10}\n" for number in range(300)))
    done = CliRunner().invoke(command, ["check", str(folder)])
    assert "PIQA: 260 more (0 differ); --json has all" in done.output
    assert len(done.output.splitlines()) < 150
    done = CliRunner().invoke(command, ["check", str(folder), "--json"])
    assert sum(one["what"] == "PIQA" for one in json.loads(done.stdout)) == 300


PERPLEXITY = "WikiText-2 perplexity: 22.5"
ALL_MISSING = ["token or byte level", "stride or context"]


@pytest.mark.parametrize(
    ("card", "absent"),
    [
        (PERPLEXITY, ALL_MISSING),
        (f"# M\n\n### Parts\n\ncontext 8192\n\n### Data\n\n2T tokens\n\n### LM\n\n{PERPLEXITY}", ALL_MISSING),
        (f"# M\n\ncontext 8192, 2T tokens\n\n## LM\n\n{PERPLEXITY}", ALL_MISSING),
        (f"**Architecture**\n\ncontext 8192, by byte\n\n**LM**\n\n{PERPLEXITY}", ALL_MISSING),
        (f"Architecture\n---\ncontext 8192, by byte\n\nLM\n---\n{PERPLEXITY}", ALL_MISSING),
        (f"context 8192, per byte\n\n{PERPLEXITY}\n\nstride 1", ALL_MISSING),
        (f"Trained on 2T tokens\n{PERPLEXITY}, stride 512", ALL_MISSING[:1]),
        (f"{PERPLEXITY} token-level, stride 512", []),
        (f"token-level, stride 512:\n\n{PERPLEXITY}", []),
        ("Token-level, stride 512\n\n| Set | PPL |\n|---|---|\n| WikiText-2 | 22.5 |", []),
        (f"# M\n\n## Evaluation\n\nper token, stride 512\n\n### LM\n\n{PERPLEXITY}", []),
    ],
)  # fmt: skip
def test_a_convention_stands_where_its_number_stands(card: str, absent: list[str]) -> None:
    (first, *_) = card_benchmarks.benchmarks(card)
    assert card_benchmarks.conventions(first) == absent


def test_a_tied_embedding_counted_twice_is_named_when_it_is_stored_once(model: Model) -> None:
    config = {**CONFIG, "tie_word_embeddings": True}
    once = {name: shape for name, shape in TWICE.items() if name != "lm_head.weight"}
    found = checked(model(config=config, weights=once, readme="4,800 parameters\n\n4,000 parameters"))
    first, second = found["parameters"]
    assert (first.outcome, second.outcome, second.why) == ("differs", "differs", "")
    assert first.why == (
        "it counts the tied embedding twice: 2,400 of it are model.embed_tokens.weight once more"
    )


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
