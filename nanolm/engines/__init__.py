"""Who writes outputs: requests in, outputs out as they finish."""

from collections.abc import Callable, Sequence
from pathlib import Path

from nanolm.editions.edition import Edition
from nanolm.engines.choice import NAMES, check_installed, check_options, chosen
from nanolm.engines.engine import Engine, Generation
from nanolm.entries.entry import Entry
from nanolm.schema import Item


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
    name = chosen(entry, edition, name)
    if name == "replay":
        from nanolm.engines.replay import ReplayEngine

        return ReplayEngine(replay_from or folder)
    if name == "synthetic":
        from nanolm.engines.synthetic import SyntheticEngine

        return SyntheticEngine(entry.name, items_of)  # type: ignore[arg-type]
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


__all__ = ["NAMES", "Engine", "Generation", "check_installed", "check_options", "open_engine"]
