"""Who writes outputs: requests in, outputs out as they finish."""

from collections.abc import Callable, Sequence
from pathlib import Path

from nanolm.editions.edition import Edition
from nanolm.engines.engine import Engine, Generation
from nanolm.entries.entry import Entry
from nanolm.errors import EngineError, unknown
from nanolm.schema import Item

NAMES = ("auto", "vllm", "transformers", "llamacpp", "replay")
"""What `--engine` takes. `auto`: the edition's, or what the entry's artefact calls for."""


def open_engine(
    entry: Entry,
    edition: Edition,
    *,
    name: str = "auto",
    folder: Path,
    items_of: Callable[[str], Sequence[Item]],
    replay_from: Path | None = None,
    replicas: int = 1,
) -> Engine:
    """The engine that writes this entry's outputs; its log goes into `folder`.

    Raises `UsageError` for an unknown name, `EngineError` when it is not installed or can't run the
    entry. Nothing heavy is imported for an engine that is not chosen.
    """
    if name not in NAMES:
        raise unknown("engine", name, NAMES)
    if name == "replay":
        from nanolm.engines.replay import ReplayEngine

        return ReplayEngine(replay_from or folder)
    if entry.artefact == "synthetic":
        if name != "auto":
            raise EngineError(f"{entry.name} is synthetic and needs no engine; leave out --engine={name}")
        from nanolm.engines.synthetic import SyntheticEngine

        return SyntheticEngine(entry.name, items_of)  # type: ignore[arg-type]
    if name == "auto":
        name = "llamacpp" if entry.artefact == "gguf" else _of(edition)
    if (name == "llamacpp") != (entry.artefact == "gguf"):
        fits = "llamacpp" if entry.artefact == "gguf" else _of(edition)
        raise EngineError(
            f"{entry.name} is a {entry.artefact} artefact, which --engine={name} can't run;"
            f" use --engine={fits}"
        )
    from nanolm.entries import weights

    if name == "llamacpp":
        from nanolm.engines.llamacpp import LlamaCppEngine

        return LlamaCppEngine(weights.local(entry), log=folder / "engine.log")
    here = entry.path or entry.weights  # else the engine fetches the pinned revision from the hub
    model = str(weights.local(entry)) if here else entry.repo
    revision = None if here else entry.revision or None
    if name == "transformers":
        from nanolm.engines.transformers import TransformersEngine

        return TransformersEngine(model, revision=revision, dtype=edition.dtype, context=entry.context)
    from nanolm.engines.vllm import VLLMEngine

    return VLLMEngine(
        model,
        revision=revision,
        max_model_len=entry.context,
        dtype=edition.dtype,
        replicas=replicas,
        log=folder / "engine.log",
    )


def _of(edition: Edition) -> str:
    """The engine for a model folder or repository: the edition's own, where it is one of these."""
    return "transformers" if edition.engine == "transformers" else "vllm"


__all__ = ["NAMES", "Engine", "Generation", "open_engine"]
