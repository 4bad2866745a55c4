"""Which engine runs which entry, and what can be said against it before anything is opened."""

from pathlib import Path

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.errors import EngineError, unknown
from nanolm.records import Record, is_recorded

NAMES = ("auto", "vllm", "transformers", "llamacpp", "replay")
"""What `--engine` takes. `auto`: the edition's, or what the entry's artefact calls for."""


def chosen(entry: Entry, edition: Edition, name: str) -> str:
    """The engine that `--engine=name` means for an entry: vllm, transformers, llamacpp, replay or synthetic.

    Raises `UsageError` for an unknown name, `EngineError` for an engine that can't run the entry.
    """
    if name not in NAMES:
        raise unknown("engine", name, NAMES)
    if name == "replay":
        return name
    if entry.artefact == "synthetic":
        if name != "auto":
            raise EngineError(f"{entry.name} is synthetic and needs no engine; leave out --engine={name}")
        return "synthetic"
    fits = "llamacpp" if entry.artefact == "gguf" else _of(edition)
    if name == "auto":
        return fits
    if (name == "llamacpp") != (entry.artefact == "gguf"):
        raise EngineError(
            f"{entry.name} is a {entry.artefact} artefact, which --engine={name} can't run;"
            f" use --engine={fits}"
        )
    return name


def check_options(
    entry: Entry,
    edition: Edition,
    *,
    name: str = "auto",
    recorded: Path | None,
    replay_from: Path | None = None,
    replicas: int = 1,
) -> None:
    """What is wrong with `--engine`, `--replay-from` and `--replicas`, before a folder or record is made.

    `replicas`: 1 at least. `recorded`: the folder whose record this run goes on with, None without one.
    Raises `UsageError` or `EngineError`. Whether the engine is installed is for `check_installed` to say.
    """
    engine = chosen(entry, edition, name)
    scored = all(spec.answer_type == "likeliest" for spec in edition.benchmarks.values())
    if engine == "llamacpp" and scored:
        raise EngineError(
            f"{entry.name} is a gguf artefact, and {edition.name} asks for log-likelihoods, which llama.cpp"
            " does not give here; take a model folder or hub repository"
        )
    if engine == "replay":
        _check_replayed(replay_from, recorded)
    elif engine == "vllm":
        from nanolm.engines.vllm import visible_devices

        visible_devices(replicas)


def check_installed(entry: Entry, edition: Edition, *, name: str = "auto") -> None:
    """Whether the engine that this entry needs is there; nothing of it is imported, no model is looked at.

    Raises `EngineError`, which says how to install it.
    """
    engine = chosen(entry, edition, name)
    if engine == "vllm":
        from nanolm.engines import vllm

        vllm.installed_version()
    elif engine == "transformers":
        from nanolm.engines import transformers

        transformers.installed_version()
    elif engine == "llamacpp":
        from nanolm.engines import llamacpp

        llamacpp.installed_version()


def _check_replayed(replay_from: Path | None, recorded: Path | None) -> None:
    """`EngineError` unless there are outputs to give back."""
    if replay_from is None and recorded is None:
        raise EngineError(
            "--engine=replay: this run has no record yet; name a folder that has one with --replay-from=DIR"
        )
    folder = replay_from or recorded
    assert folder is not None
    held = 0
    if is_recorded(folder):
        with Record(folder) as record:
            held = len(record)
    if not held:
        found = "holds no recorded outputs" if folder.is_dir() else "is no folder"
        raise EngineError(
            f"--engine=replay: {folder} {found}; name one with outputs.jsonl or outputs.jsonl.zst by"
            " --replay-from=DIR"
        )


def _of(edition: Edition) -> str:
    """The engine for a model folder or repository: the edition's own, where it is one of these."""
    return "transformers" if edition.engine == "transformers" else "vllm"
