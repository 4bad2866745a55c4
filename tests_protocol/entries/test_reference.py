"""What a person types, and the entry it means."""

from pathlib import Path

import pytest

from nanolm.entries import names, resolve, seed
from nanolm.errors import EntryError, UsageError

PROTOCOL = {
    "qwen3-0.6b-think": (596_049_920, 40_960),
    "qwen3-0.6b-no-think": (596_049_920, 40_960),
    "falcon-h1-0.5b-instruct": (521_411_104, 16_384),
    "minicpm4-0.5b": (433_873_920, 32_768),
    "qwen2.5-0.5b-instruct": (494_032_768, 32_768),
    "granite-4.0-h-350m": (340_332_224, 32_768),
    "granite-4.0-350m": (352_379_904, 32_768),
    "ernie-4.5-0.3b-pt": (360_748_032, 131_072),
    "lfm2.5-350m": (354_483_968, 128_000),
    "lfm2-350m": (354_483_968, 128_000),
    "baguettotron-think": (320_956_992, 4_096),
    "smollm2-360m-instruct": (361_821_120, 8_192),
    "gemma-3-270m-it": (268_098_176, 32_768),
}
"""Protocol §11: parameters and context."""


@pytest.mark.parametrize("name", PROTOCOL)
def test_the_entries_are_the_protocols(name: str) -> None:
    entry = resolve(name, None)
    assert (entry.parameters, entry.context) == PROTOCOL[name]
    assert entry.official
    assert entry.not_publishable_because, "nothing was checked on the hub yet"
    assert entry.samples == (1 if entry.decoding.values.temperature == 0 else 4)


def test_all_names_are_known() -> None:
    assert set(PROTOCOL) < set(names(None))


def test_digests_differ_between_modes() -> None:
    assert resolve("qwen3-0.6b-think", None).digest != resolve("qwen3-0.6b-no-think", None).digest


@pytest.mark.parametrize("name", ["oracle", "constant", "random"])
def test_synthetic_names(name: str) -> None:
    entry = resolve(name, None)
    assert (entry.name, entry.artefact, entry.samples) == (name, "synthetic", 1)


def test_the_demo_is_unofficial_and_says_why() -> None:
    entry = resolve("smollm2-135m-instruct-q4", None)
    assert not entry.official
    assert "quantised" in entry.not_publishable_because[0]
    assert entry.stop_ids == (2,)
    assert entry.weights is not None


def test_a_typo_names_the_close_match() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*lfm2-350m"):
        resolve("lmf2-350m", None)


def test_a_missing_path_says_so() -> None:
    with pytest.raises(EntryError, match="there is no file or folder"):
        resolve("./no-such-model", None)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    with pytest.raises(EntryError, match="no entry TOML and no"):
        resolve(str(file), None)


def test_seeds_are_frozen() -> None:
    """Records carry them: these three must never change."""
    seeds = [seed("gsm8k-platinum", "0007", sample) for sample in range(3)]
    assert seeds == [
        1859326881,
        1667329306,
        537995439,
    ]


def test_seeds_fill_31_bits_and_differ() -> None:
    seeds = {seed("b", str(item), sample) for item in range(500) for sample in range(4)}
    assert len(seeds) == 2000
    assert 0 <= min(seeds) < max(seeds) < 2**31


def test_an_address_is_no_reference_and_names_the_one_that_is() -> None:
    with pytest.raises(UsageError, match=r"is an address; name the repository itself: Qwen/Qwen3-0\.6B$"):
        resolve("https://huggingface.co/Qwen/Qwen3-0.6B/tree/main", None)


def test_a_revision_that_was_left_empty() -> None:
    with pytest.raises(UsageError, match="names no revision behind the @"):
        resolve("org/name@", None)


def test_an_absolute_path_with_an_at_sign() -> None:
    with pytest.raises(EntryError, match="there is no file or folder /nowhere/model@x"):
        resolve("/nowhere/model@x", None)
