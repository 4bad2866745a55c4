"""What an edition is: the suite, its prompts, its budget and its pins, read from a folder of TOML."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nanolm.schema import AnswerType, Decoding, Normalisation

INDEX_TITLE = "Nano LM Index"
Headline = Literal["skill", "raw"]
"""What a run's table leads with: skill and the index, or raw accuracies with intervals and no mean."""
Prompting = Literal["chat", "bare"]
"""How a prompt reaches a model: as a user turn in the model's own chat template, or as bare text."""


class Category(msgspec.Struct, frozen=True, kw_only=True):
    """A sixth of the index (§3)."""

    slug: str
    title: str


class BenchmarkSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[benchmark.<slug>]` table of `edition.toml`: one line of the suite table (§3)."""

    slug: str
    title: str
    category: str
    module: str
    """The module of `nanolm.benchmarks` that makes its items, and the `test_<module>` that tests them."""
    answer_type: AnswerType
    items: int
    """How many items there must be."""
    metric: str
    split: str
    """Source and split, in the protocol's words."""
    licence: str
    """As the protocol states it (ruling 80)."""
    sources: tuple[str, ...]
    """Names in `sources.lock.toml`."""
    published_chance: float | None = None
    """The protocol's chance level (§8), for comparison; ours is in `frozen.json`."""
    layout: str = ""
    """How its prompt is put together, as text with places (`nanolm.editions.prompt`); empty: the plain
    layout of its answer type."""
    stem: str = ""
    """One fixed line before the question (§4: HellaSwag-Pro, Global PIQA)."""
    instruction: str = ""
    """label: the one instruction line before the text (§4)."""
    instruction_addition: str = ""
    """A sentence added to the answer type's instruction (§4: CLINC150's `oos`)."""
    continuation: str = ""
    """likeliest: the text that is scored, with the places of a layout; `layout` is its context, which may be
    empty. Both take their text as it stands, line breaks included."""
    normalisation: Normalisation = "none"
    """likeliest: what a log-likelihood is divided by before options are compared."""
    clip: int | None = None
    """likeliest: the context keeps its last so many tokens."""
    redistribute: bool = True
    """False: its items are never put into a page or file meant for publishing (§3, HellaSwag-Pro)."""
    data_verified: bool = True
    """False: the data could not be checked against the official source yet; not publishable."""


class Corpus(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[corpus.<slug>]` table of `edition.toml`: a text whose perplexity is measured."""

    slug: str
    title: str
    source: str
    """Name in `sources.lock.toml`."""
    field: str
    """The column that holds the text. In the mirror form `lines` a row is a line of the file."""
    join: str
    """What stands between rows; a row that is blank counts as empty. The whole is stripped."""
    bytes: int
    """How many UTF-8 bytes that must give."""
    licence: str


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen standard (§10). Numbers are comparable only within one edition."""

    name: str
    title: str
    version: str
    summary: str
    categories: tuple[Category, ...]
    """In the order of the protocol's table."""
    benchmarks: Mapping[str, BenchmarkSpec]
    """By slug, in the order of the protocol's table."""
    instructions: Mapping[str, str]
    """The instruction text of each answer type (§4), with `{name}` for code's function."""
    budget: int
    """New tokens at most (§5)."""
    prompt_limit: int
    """Prompt tokens at most for a benchmark to be admitted (§10)."""
    parameter_limit: int
    """§2."""
    samples_sampled: int
    """Samples per item when the decoding samples (§5)."""
    samples_greedy: int
    engine: str
    engine_version: str
    dtype: str
    extractors: Mapping[str, str]
    """Versions that decide a verdict: math-verify and what it stands on (ruling 40), and of the project's
    own rules those that are not the first (`nanolm.rules`)."""
    folder: Path
    digest: str
    """SHA-256 over the edition's frozen parts, the first 16 hex digits."""
    decoding: Decoding | None = None
    """What the edition prescribes for every entry, whatever a card or generation_config.json says; None:
    each entry's own (§5)."""
    base_models: bool = False
    """True: models without a chat template are eligible; their prompt is the bare text (mode `base`)."""
    prompting: Prompting = "chat"
    """`bare`: no entry gets a template, chat models neither (mode `base` for all)."""
    corpora: Mapping[str, Corpus] = {}
    """By slug; for `nanolm perplexity`."""
    index_title: str = INDEX_TITLE
    """What its index is called."""
    headline: Headline = "skill"
    details: bool = False
    """True: a run also writes `details.json`, and `summary.csv` and `summary.json` over all entries."""
    custom_of: str | None = None
    """The edition that asks these items, when they are a file of somebody's own: never publishable."""
    inherits: str | None = None
    """A patch edition's parent: same items, prompts and budget (§10)."""
    ancestors: tuple[str, ...] = ()
    """A patch edition's: the names of its parent, its parent's parent, and so on; their records are its own
    to judge."""
    suite_folder: Path | None = None
    """A patch edition's: the ancestor's folder with the suite, its sources and frozen items."""
    principles: tuple[str, ...] = ()
    """The protocol's principles (§1), for readers."""
