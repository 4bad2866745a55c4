"""A model folder's tokenizer: ids, BOS, special tokens, and whether two readings agree (protocol §5)."""

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from nanolm.entries import artefacts
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.entry import Entry
from nanolm.entries.mode import PROBE
from nanolm.entries.renderer import BareRenderer, Renderer, TemplateRenderer
from nanolm.entries.template import ChatTemplate
from nanolm.errors import EntryError

PROBE_TEXT = (
    "Line one\nLine two\n\n  two leading spaces, 3 tabs:\t\t\t.\n"
    "Digits 1234567890 and 12 + 345 = 357.\n"
    "Příliš žluťoučký kůň. Доброе утро. 你好，世界。 こんにちは。 مرحبا بالعالم. नमस्ते 🙂\n"
    "def f(x):\n    return x  # end"
)
"""Newlines, digits, leading spaces and non-Latin scripts: where rebuilt tokenizers have gone wrong."""

_BATCH = 4096
"""Prompts tokenised at once: bounds the memory for encodings."""


def load(source: Artefacts) -> Any:
    """transformers' tokenizer of a folder or hub repository; remote code is never run.

    Raises `EntryError` when transformers is not installed or can't read the tokenizer.
    """
    return _load(str(source.small_files()), source.where)


@functools.lru_cache(maxsize=2)
def _load(folder: str, where: str) -> Any:
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from transformers import AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise EntryError(
            "reading a model's tokenizer needs transformers: pip install 'nanolm[entries]'"
        ) from error
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # transformers raises whatever its parts raise
        raise EntryError(f"transformers can't read the tokenizer of {where}: {_line(error)}") from error


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"


def ids(tokenizer: Any, texts: list[str]) -> list[Sequence[int]]:
    """Token ids of texts, special tokens read as such, none added; never cut, never padded."""
    if not getattr(tokenizer, "is_fast", False):
        encoded: list[Sequence[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
        return encoded
    # The same ids as the call above without an object per prompt: half the time for a whole edition.
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()  # a tokenizer.json may ask for it
    backend.no_padding()
    found: list[Sequence[int]] = []
    for start in range(0, len(texts), _BATCH):
        batch = backend.encode_batch_fast(texts[start : start + _BATCH], add_special_tokens=False)
        found += [encoding.ids for encoding in batch]
    return found


def adds_bos(tokenizer: Any) -> bool:
    """True when the tokenizer's own post-processor puts BOS in front (ruling 67).

    Another token in front (Baguettotron's post-processor prepends its end-of-text) is no BOS.
    """
    bos = tokenizer.bos_token_id
    if bos is None:
        return False
    plain, special = (
        list(tokenizer("nanolm", add_special_tokens=flag)["input_ids"]) for flag in (False, True)
    )
    return special[:1] == [bos] and plain[:1] != [bos]


def prefix(tokenizer: Any) -> tuple[int, ...]:
    """The special tokens that the tokenizer's own post-processor puts in front of a text: what comes
    before a bare prompt.

    What it puts behind one (an end of sequence) is left out: a prompt is there to be continued.
    """
    plain, special = (
        list(tokenizer("nanolm", add_special_tokens=flag)["input_ids"]) for flag in (False, True)
    )
    for at in range(len(special) - len(plain) + 1):
        if special[at : at + len(plain)] == plain:
            return tuple(special[:at])
    return ()


def special_tokens(tokenizer: Any) -> dict[str, str]:
    """What a template may call `bos_token`, `eos_token`, …"""
    found: Mapping[str, Any] = tokenizer.special_tokens_map
    return {name: str(token) for name, token in found.items() if isinstance(token, str)}


def added_tokens(tokenizer: Any) -> dict[str, int]:
    """Special and added tokens: text to id."""
    return {str(text): int(token) for text, token in tokenizer.get_added_vocab().items()}


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """Text of ids with special tokens kept (§6.1 works on them), nothing put between or cleaned up."""
    text: str = tokenizer.decode(
        list(token_ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return text


def disagreement(tokenizer: Any, source: Artefacts) -> str:
    """How transformers' tokenizer and `tokenizer.json` differ on `PROBE_TEXT`; empty when they agree.

    Versions of transformers rebuild some tokenizers from other files, and then read other ids.
    """
    import tokenizers

    if "tokenizer.json" not in source.names():
        return ""
    text = artefacts.text(source, "tokenizer.json") or ""
    try:
        plain = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exceptions
        raise EntryError(f"tokenizer.json of {source.where} can't be read: {_line(error)}") from error
    expected = list(plain.encode(PROBE_TEXT, add_special_tokens=False).ids)
    found = list(ids(tokenizer, [PROBE_TEXT])[0])
    if found == expected:
        return ""
    at = 0
    while at < min(len(found), len(expected)) and found[at] == expected[at]:
        at += 1
    return (
        f"transformers' {type(tokenizer).__name__} and tokenizer.json disagree on a text with newlines, "
        f"digits, leading spaces and non-Latin scripts: {len(found)} and {len(expected)} ids, first "
        f"difference at {at} ({found[at : at + 3]} and {expected[at : at + 3]}); the engine reads as "
        "transformers does"
    )


def template(source: Artefacts, tokenizer: Any) -> ChatTemplate:
    """The official chat template with the tokenizer's special tokens."""
    return ChatTemplate(artefacts.template_text(source).text, special_tokens(tokenizer), source.where)


def renderer(entry: Entry) -> Renderer:
    """The renderer of an entry whose artefact is a transformers folder or hub repository.

    Raises `EntryError` when the template is not the pinned one, or when transformers' own
    `apply_chat_template` renders a message otherwise.
    """
    source = artefacts.of(entry)
    tokenizer = load(source)
    if entry.mode == "base":
        return BareRenderer(lambda texts: ids(tokenizer, texts), prefix(tokenizer))
    chat = template(source, tokenizer)
    _check_rendering(entry, chat, tokenizer)
    return TemplateRenderer(entry, chat, lambda texts: ids(tokenizer, texts), tokenizer.bos_token_id)


def _check_rendering(entry: Entry, chat: ChatTemplate, tokenizer: Any) -> None:
    if "strftime_now" in chat.source:
        return  # transformers' clock runs, ours stands still
    ours = chat.user(PROBE, entry.template_arguments)
    theirs = tokenizer.apply_chat_template(
        [{"role": "user", "content": PROBE}],
        chat_template=chat.source,
        tokenize=False,
        add_generation_prompt=True,
        **entry.template_arguments,
    )
    if ours != theirs:
        raise EntryError(
            f"{entry.name}: transformers renders the chat template of {chat.where} otherwise: {theirs!r}, "
            f"here {ours!r}; please report this template"
        )
