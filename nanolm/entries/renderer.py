"""From a user message to the token ids that an engine gets (protocol §4, §5).

The official template is rendered with one user message, the text is tokenised without adding special
tokens, and BOS is put in front once where the entry says so. Nothing else touches a prompt. In the mode
`base` there is no template: the message itself is tokenised, behind what the tokenizer's own rule puts in
front of a text (BOS, for most that have one).
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from nanolm.entries import gguf, weights
from nanolm.entries.entry import Entry
from nanolm.entries.template import ChatTemplate
from nanolm.errors import EntryError

Tokenize = Callable[[str], Sequence[int]]
"""Text to token ids: special tokens in the text are read as such, none are added."""


class Rendered(msgspec.Struct, frozen=True):
    """A prompt as an engine gets it."""

    text: str
    """The rendered template, or the bare text; empty for synthetic entries."""
    ids: tuple[int, ...]
    """Token ids, BOS included; empty for synthetic entries."""


class Renderer(Protocol):
    """Renders user messages of one entry."""

    def encode(self, user_message: str) -> Rendered:
        """One prompt."""
        ...

    def encode_all(self, user_messages: Iterable[str]) -> list[Rendered]:
        """Many prompts, in order, as fast as the tokenizer's batches allow."""
        ...


def renderer(entry: Entry, tokenize: Tokenize | None = None) -> Renderer:
    """The entry's renderer.

    `tokenize` is needed for GGUF artefacts only: llama.cpp's own tokenizer, from the engine. Raises
    `EntryError` when the artefacts are missing or are not the pinned ones.
    """
    if entry.artefact == "synthetic":
        return _Silent()
    if entry.artefact == "gguf":
        if tokenize is None:
            raise EntryError(f"{entry.name}: a GGUF file is tokenised by its engine; none was given")
        return _gguf(entry, tokenize)
    from nanolm.entries import tokens

    return tokens.renderer(entry)


class _Silent:
    """Synthetic entries see no prompt."""

    def encode(self, user_message: str) -> Rendered:
        return Rendered("", ())

    def encode_all(self, user_messages: Iterable[str]) -> list[Rendered]:
        return [self.encode(message) for message in user_messages]


class TemplateRenderer:
    """A template, a tokenizer, and BOS by the entry's rule."""

    def __init__(
        self,
        entry: Entry,
        template: ChatTemplate,
        tokenize_all: Callable[[list[str]], list[Sequence[int]]],
        bos: int | None,
    ) -> None:
        check_template(entry, template)
        self._entry, self._template, self._tokenize_all = entry, template, tokenize_all
        if entry.add_bos and bos is None:
            raise EntryError(f"{entry.name}: add_bos is set, but its tokenizer names no BOS token")
        self._bos = bos if entry.add_bos else None

    def encode(self, user_message: str) -> Rendered:
        return self.encode_all([user_message])[0]

    def encode_all(self, user_messages: Iterable[str]) -> list[Rendered]:
        arguments = self._entry.template_arguments
        texts = [self._template.user(message, arguments) for message in user_messages]
        batch = self._tokenize_all(texts) if texts else []
        return [Rendered(text, with_bos(ids, self._bos)) for text, ids in zip(texts, batch, strict=True)]


class BareRenderer:
    """The text itself, behind the tokenizer's own special tokens."""

    def __init__(
        self, tokenize_all: Callable[[list[str]], list[Sequence[int]]], prefix: tuple[int, ...]
    ) -> None:
        self._tokenize_all, self._prefix = tokenize_all, prefix

    def encode(self, user_message: str) -> Rendered:
        return self.encode_all([user_message])[0]

    def encode_all(self, user_messages: Iterable[str]) -> list[Rendered]:
        texts = list(user_messages)
        batch = self._tokenize_all(texts) if texts else []
        return [Rendered(text, (*self._prefix, *ids)) for text, ids in zip(texts, batch, strict=True)]


def with_bos(ids: Sequence[int], bos: int | None) -> tuple[int, ...]:
    """BOS in front, once: not when it is None or already the first id (ruling 67).

    Ids are compared, never texts. A template that doubles BOS itself is kept as official.
    """
    if bos is None or (ids and ids[0] == bos):
        return tuple(ids)
    return (bos, *ids)


def check_template(entry: Entry, template: ChatTemplate) -> None:
    """Raise `EntryError` when the template is not the one the entry pins; an unpinned one passes."""
    if entry.template_sha256 and entry.template_sha256 != template.sha256:
        raise EntryError(
            f"{entry.name}: the chat template of {template.where} has SHA-256 {template.sha256}, expected "
            f"{entry.template_sha256}; take the model at the entry's revision, or add the new one as an "
            "entry of its own (nanolm entry add)"
        )


def _gguf(entry: Entry, tokenize: Tokenize) -> Renderer:
    path = weights.local(entry)
    file = gguf.read(path)
    bos = file.token_id("bos")

    def tokenize_all(texts: list[str]) -> list[Sequence[int]]:
        return [tokenize(text) for text in texts]

    if entry.mode == "base":
        return BareRenderer(tokenize_all, (bos,) if file.adds_bos and bos is not None else ())
    return TemplateRenderer(entry, gguf_template(file, path), tokenize_all, bos)


def gguf_template(file: gguf.GGUF, path: Path) -> ChatTemplate:
    """The chat template in a GGUF file. Raises `EntryError` for a base model, which has none."""
    if file.template is None:
        raise EntryError(
            f"{path} holds no chat template (tokenizer.chat_template): a base model can't follow the "
            "protocol (§2); take the model's chat or instruct variant"
        )
    return ChatTemplate(file.template, file.special_tokens(), str(path))
