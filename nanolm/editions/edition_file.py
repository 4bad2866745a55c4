"""`edition.toml` as it is written, in its three kinds: a whole edition, a patch, another file's items."""

from typing import Any

import msgspec

from nanolm.editions.edition import INDEX_TITLE, Headline, Prompting
from nanolm.schema import AnswerType

PATCH_KEYS = {"name", "title", "version", "summary", "inherits", "extractors"}
"""§10: a patch edition fixes extraction or scoring; its items, prompts and budget are its parent's."""
DEFAULTS = {"base_models": False, "prompting": "chat"}
"""Left out of the digest, so that a key that says what holds anyway changes nothing."""
FOR_READERS = ("title", "summary", "principles", "index_title", "headline", "details")
"""Keys that change how a number is shown and not the number: no part of the digest."""


class Samples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sampled: int
    greedy: int


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    version: str
    dtype: str


class DecodingTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    temperature: float
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0


class EditionFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    title: str
    version: str
    summary: str
    budget: int
    prompt_limit: int
    parameter_limit: int
    samples: Samples
    engine: Engine
    extractors: dict[str, str]
    categories: dict[str, str]
    instructions: dict[AnswerType, str]
    benchmark: dict[str, dict[str, Any]]
    corpus: dict[str, dict[str, Any]] = {}
    decoding: DecodingTable | None = None
    base_models: bool = False
    prompting: Prompting = "chat"
    index_title: str = INDEX_TITLE
    headline: Headline = "skill"
    details: bool = False
    principles: tuple[str, ...] = ()


class PatchFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    title: str
    version: str
    summary: str
    inherits: str
    extractors: dict[str, str] = {}


class CustomFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another file's items asked as an edition asks its own (`nanolm.editions.custom` writes it)."""

    name: str
    title: str
    version: str
    summary: str
    custom_of: str
    """The edition, by name or folder."""
    items: dict[str, int]
    """How many items of each benchmark the file has."""
