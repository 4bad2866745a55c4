"""A model folder's tokenizer: ids, BOS, stop ids, and whether two readings of it agree (protocol §5)."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nanolm.entries.entry import Entry
from nanolm.entries.renderer import TemplateRenderer
from nanolm.entries.template import ChatTemplate
from nanolm.errors import EntryError

PROBE_TEXT = (
    "Line one\nLine two\n\n  two leading spaces, 3 tabs:\t\t\t.\n"
    "Digits 1234567890 and 12 + 345 = 357.\n"
    "Příliš žluťoučký kůň. Доброе утро. 你好，世界。 こんにちは。 مرحبا بالعالم. नमस्ते 🙂\n"
    "def f(x):\n    return x  # end"
)
"""Newlines, digits, leading spaces and non-Latin scripts: where rebuilt tokenizers have gone wrong."""


def load(reference: str, revision: str | None = None) -> Any:
    """transformers' tokenizer of a folder or hub repository; remote code is never run.

    Raises `EntryError` when transformers is not installed or can't read the tokenizer.
    """
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise EntryError(
            "reading a model's tokenizer needs transformers: pip install 'nanolm[entries]'"
        ) from error
    where = reference if revision is None else f"{reference}@{revision}"
    try:
        return AutoTokenizer.from_pretrained(reference, revision=revision, trust_remote_code=False)
    except Exception as error:  # transformers raises whatever its parts raise
        raise EntryError(f"transformers can't read the tokenizer of {where}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip()
    return f"{type(error).__name__}: {text[:300]}"


def ids(tokenizer: Any, texts: list[str]) -> list[Sequence[int]]:
    """Token ids of texts, special tokens read as such, none added."""
    encoded: list[Sequence[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return encoded


def adds_bos(tokenizer: Any) -> bool:
    """True when the tokenizer's own post-processor puts BOS in front (ruling 67).

    Another token in front (Baguettotron's post-processor prepends its end-of-text) is no BOS.
    """
    bos = tokenizer.bos_token_id
    if bos is None:
        return False
    plain, special = (tokenizer("nanolm", add_special_tokens=flag)["input_ids"] for flag in (False, True))
    return bool(special) and special[0] == bos and list(special[:1]) != list(plain[:1])


def special_tokens(tokenizer: Any) -> dict[str, str]:
    """What a template may call `bos_token`, `eos_token`, …"""
    found: Mapping[str, Any] = tokenizer.special_tokens_map
    return {name: str(token) for name, token in found.items() if isinstance(token, str)}


def renderer(entry: Entry) -> TemplateRenderer:
    """The renderer of an entry whose artefact is a transformers folder or hub repository."""
    from nanolm.entries import artefacts

    source = artefacts.of(entry)
    tokenizer = load(source.reference, source.revision)
    template = ChatTemplate(artefacts.template_text(source).text, special_tokens(tokenizer), source.where)
    return TemplateRenderer(entry, template, lambda texts: ids(tokenizer, texts), tokenizer.bos_token_id)


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """Text of ids with special tokens kept (§6.1 works on them) and no space put between or cleaned up."""
    text: str = tokenizer.decode(
        list(token_ids),
        skip_special_tokens=False,
        clean_up_tokenization_spaces=False,
    )
    return text
