"""Who answers: a model at a revision in a mode, decided by its own artefacts (protocol §2, §5).

resolve(reference, edition) -> Entry      a name, a TOML, a folder, a .gguf, hub/repo@revision
names(edition) -> tuple[str, ...]         the entries an edition has
renderer(entry, tokenize=None) -> Renderer    user message -> text and token ids
seed(benchmark, item, sample) -> int
budget(entry, edition_budget, prompt_tokens) -> int
weights.local(entry) -> Path              weights on this machine, fetched when a package holds them
"""

from nanolm.entries.budget import budget
from nanolm.entries.entry import Entry
from nanolm.entries.reference import names, resolve
from nanolm.entries.renderer import Rendered, Renderer, renderer
from nanolm.entries.seeds import seed

__all__ = ["Entry", "Rendered", "Renderer", "budget", "names", "renderer", "resolve", "seed"]
