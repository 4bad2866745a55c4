"""Decoding: the card's words, generation_config.json, greedy."""

import json
from pathlib import Path
from typing import Any

import pytest

from nanolm.entries import decoding
from nanolm.entries.artefacts import Folder
from nanolm.entries.entry import EntryDecoding
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError
from nanolm.schema import Decoding

from .conftest import write_weights


def _from(config: dict[str, Any]) -> EntryDecoding | None:
    return decoding.from_generation_config(config, "generation_config.json")


def test_the_librarys_defaults_fill_what_is_left_out() -> None:
    found = _from({"do_sample": True, "temperature": 0.8, "top_p": 0.8})
    assert found is not None
    assert found.values == Decoding(temperature=0.8, top_p=0.8, top_k=50)
    assert found.sources["top_k"] == "library default"
    assert found.sources["top_p"] == "generation_config.json"


def test_gemmas_temperature_is_the_librarys() -> None:
    found = _from({"do_sample": True, "top_k": 64, "top_p": 0.95})
    assert found is not None
    assert (found.values.temperature, found.sources["temperature"]) == (1.0, "library default")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"temperature": 0.6},
        {"do_sample": False, "temperature": 0.6},
        {"do_sample": None},
        {"do_sample": True, "temperature": 0},
    ],
)
def test_what_does_not_sample_is_greedy(config: dict[str, Any]) -> None:
    assert _from(config) is None


def test_a_null_is_left_out() -> None:
    found = _from({"do_sample": True, "temperature": None, "top_k": 7})
    assert found is not None
    assert (found.values.temperature, found.values.top_k) == (1.0, 7)


@pytest.mark.parametrize("value", ["0.7", True, -1, [0.7]])
def test_values_that_are_no_numbers(value: Any) -> None:
    with pytest.raises(EntryError, match="expected a number of at least 0"):
        _from({"do_sample": True, "temperature": value})


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("temperature", float("nan"), "a number of at least 0"),
        ("temperature", float("inf"), "a number of at least 0"),
        ("temperature", 10**400, "a number of at least 0"),
        ("top_p", 2, "a number above 0 and at most 1"),
        ("top_p", 0, "a number above 0 and at most 1"),
        ("top_k", 7.5, "a whole number of at least 0"),
        ("top_k", -1, "a whole number of at least 0"),
        ("min_p", 1.5, "a number from 0 to 1"),
        ("repetition_penalty", 0, "a number above 0"),
    ],
)
def test_values_out_of_range(field: str, value: float, expected: str) -> None:
    with pytest.raises(EntryError, match=f"{field} is {value!r}; expected {expected}"):
        _from({"do_sample": True, field: value})


@pytest.mark.parametrize("value", ["true", 1, "yes"])
def test_a_switch_that_is_neither_true_nor_false(value: Any) -> None:
    with pytest.raises(EntryError, match=r"do_sample is .*; expected true or false"):
        _from({"do_sample": value})


def _decide(folder: Path, config: dict[str, Any]) -> tuple[EntryDecoding, str, tuple[str, ...]]:
    (folder / "generation_config.json").write_text(json.dumps(config))
    return decoding.decide(Folder(folder))


def test_values_that_count_for_nothing_are_named(tmp_path: Path) -> None:
    found, why, _ = _decide(tmp_path, {"temperature": 0.6, "top_p": 0.9})
    assert found.values.greedy
    assert "its temperature 0.6, top_p 0.9 would only count with do_sample: true, ruling 70" in why
    _, why, _ = _decide(tmp_path, {"do_sample": True, "temperature": 0})
    assert why == "generation_config.json sets temperature 0, so decoding is greedy"


def test_settings_the_protocol_does_not_take_are_named(tmp_path: Path) -> None:
    idle = {"typical_p": 1.0, "num_beams": 1, "no_repeat_ngram_size": 0, "penalty_alpha": None}
    assert _decide(tmp_path, {"do_sample": True, **idle})[2] == ()
    (warning,) = _decide(tmp_path, {"do_sample": True, "typical_p": 0.9, "num_beams": 4})[2]
    assert warning == (
        "generation_config.json also states typical_p 0.9, num_beams 4; the protocol does not take it (§5)"
    )


def _card(quote: str, **values: Any) -> EntryDecoding:
    return EntryDecoding(
        values=Decoding(**values),
        source="model card",
        quote=quote,
        link="https://example.org",
        sources=dict.fromkeys(values, "card"),
    )


README = """# Model
For best results, use `Temperature=0.6`, **TopP=0.95** and
`MinP=0`.

```python
model.generate(temperature=0.2, top_p=0.9)
```
"""


def test_a_quote_is_found_across_lines_and_markdown() -> None:
    card = _card("use Temperature=0.6, TopP=0.95 and MinP=0", temperature=0.6, top_p=0.95, min_p=0.0)
    decoding.check_quote(README, card, "card")


def test_a_quote_that_is_only_in_a_code_block() -> None:
    with pytest.raises(EntryError, match="only in a code block"):
        decoding.check_quote(README, _card("temperature=0.2, top_p=0.9", temperature=0.2, top_p=0.9), "card")


def test_a_code_block_that_is_never_closed() -> None:
    readme = "```\ntemperature=0.2"
    with pytest.raises(EntryError, match="only in a code block"):
        decoding.check_quote(readme, _card("temperature=0.2", temperature=0.2), "card")


@pytest.mark.parametrize(
    "readme",
    [
        "1. Use it:\n\n    ```python\n    Use temperature=0.3\n    ```\n",
        "> ```\n> Use temperature=0.3\n> ```\n",
        "Call it so:\n\n    Use temperature=0.3\n    generate()\n",
        "Call it so:\n\n\tUse temperature=0.3\n",
        "<pre><code>\nUse temperature=0.3\n</code></pre>",
        "<!-- Use temperature=0.3 -->",
        "---\nlicense: mit\nwidget: Use temperature=0.3\n---\n# M\n",
    ],
)
def test_what_is_no_running_text(readme: str) -> None:
    card = _card("Use temperature=0.3", temperature=0.3)
    with pytest.raises(EntryError, match="only in a code block"):
        decoding.check_quote(readme, card, "README.md")
    decoding.check_quote(readme + "\n\nUse `temperature=0.3` for all tasks.", card, "README.md")


@pytest.mark.parametrize(
    "readme",
    [
        "- Chat:\n\n    Use temperature=0.3\n",
        "A paragraph\n    Use temperature=0.3\n",
        "| mode | settings |\n|---|---|\n| all | Use temperature=0.3 |\n",
        "> Use **temperature=0.3**\n",
        "---\nlicense: mit\n---\nUse [temperature=0.3](https://x.org/y)\n\n---\n",
        "```\ncode\n```\nUse `temperature=0.3`\n~~~\nmore\n~~~\n",
    ],
)
def test_what_is_running_text(readme: str) -> None:
    decoding.check_quote(readme, _card("Use temperature=0.3", temperature=0.3), "README.md")


def test_a_quote_that_is_not_there() -> None:
    with pytest.raises(EntryError, match=r"not in README\.md"):
        decoding.check_quote(README, _card("use Temperature=0.7", temperature=0.7), "card")


def test_a_value_that_the_quote_lacks() -> None:
    with pytest.raises(EntryError, match="top_k = 20 is said to be from the card, but the quote lacks it"):
        decoding.check_quote(README, _card("Temperature=0.6", temperature=0.6, top_k=20), "card")


def test_advice_on_the_card_is_pointed_out_and_an_example_is_not() -> None:
    assert "0.6" in decoding.card_advice(README)
    assert decoding.card_advice("```\nmodel.generate(temperature=0.2)\n```") == ""


def _folder(tmp_path: Path, **files: Any) -> Folder:
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / f"{stem}.{suffix}").write_text(text)
    return Folder(tmp_path)


def _tied(case: dict[str, Any], folder: Path) -> int:
    tensors = {name: tuple(shape) for name, shape in case["input"]["tensors"].items()}
    tensors = {"w": tensors.pop("w"), **tensors}  # the head last, so that its bytes can be made to differ
    (folder / "config.json").write_text(json.dumps({"tie_word_embeddings": True}))
    differ = b"\x01" if case["input"].get("equal") is False else b""
    write_weights(folder / "model.safetensors", tensors, fill=differ)
    return audit(Folder(folder)).parameters


@pytest.mark.shared_data
def test_the_parameter_and_decoding_cases(shared_cases: Path, tmp_path: Path) -> None:
    lines = shared_cases.read_text(encoding="utf-8").splitlines()
    cases = {case["id"]: case for case in map(json.loads, lines) if case["type"] == "other"}
    for name in ("other-001", "other-002", "other-004"):
        folder = tmp_path / name
        folder.mkdir()
        assert _tied(cases[name], folder) == cases[name]["expected"]["value"], name

    example = "```python\ngenerate(temperature=0.2)\n```"
    config = cases["other-019"]["input"]["generation_config"]
    found, _, advice = decoding.decide(_folder(tmp_path, generation_config_json=config, README_md=example))
    expected = cases["other-019"]["expected"]["value"]
    assert {field: getattr(found.values, field) for field in expected} == expected
    assert advice == ()

    config = cases["other-020"]["input"]["generation_config"]
    found, _, _ = decoding.decide(_folder(tmp_path, generation_config_json=config))
    assert (found.source, found.values.greedy) == ("greedy", True)
