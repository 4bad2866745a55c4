"""The pytest plugin's door: options, and nothing else until a benchmark test is asked for.

Every pytest run with nanolm installed imports this module, so it imports nothing but the standard
library; `nanolm.plugin.session` is loaded when `--entry` is given.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

FOLDER = "tests_benchmarks"
SESSION = "nanolm-session"


_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--entry", {"metavar": "NAME", "help": "who answers: an entry of the edition, an entry TOML, a model "
     "folder, a .gguf file, hub/repo@revision, or oracle, constant, random"}),
    ("--edition", {"metavar": "NAME", "default": "mini", "help": "which standard: a name or a folder "
     "(default: mini)"}),
    ("--items", {"metavar": "FILE", "help": "ask another file's items as the edition asks its own (editions "
     "that read one file); such a score can't be published"}),
    ("--engine", {"metavar": "NAME", "default": "auto", "help": "auto, vllm, transformers, llamacpp or "
     "replay"}),
    ("--record-mode", {"metavar": "MODE", "default": "missing", "help": "missing: generate what the record "
     "lacks (default); none: generate nothing; all: generate anew and keep the old record"}),
    ("--limit", {"metavar": "N", "type": int, "help": "only the first N items of each benchmark; such a "
     "score can't be published"}),
    ("--reports-dir", {"metavar": "DIR", "default": "reports", "help": "where records and reports go"}),
    ("--gate", {"metavar": "FILE|EXPR", "help": "what the score must meet, e.g. 'index >= 12.5', or a file "
     "with one condition a line"}),
    ("--replay-from", {"metavar": "DIR", "help": "whose record --engine=replay gives back"}),
    ("--replicas", {"metavar": "N", "type": int, "default": 1, "help": "vLLM engines, one a GPU"}),
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nanolm", "nanolm: the Nano LM Index")
    for name, keywords in _OPTIONS:
        group.addoption(name, **keywords)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--entry", None) or (hasattr(config, "workerinput") and _is_asked(config)):
        _load(config)
    elif _is_asked(config) and not _only_informs(config):
        if config.getoption("collectonly", False):
            _load(config)
        else:
            _say_how(config)


def pytest_generate_tests(metafunc: Any) -> None:
    """A benchmark test that was reached in another way than by its folder's name."""
    if "recorded" in metafunc.fixturenames and not metafunc.config.pluginmanager.has_plugin(SESSION):
        import pytest

        pytest.exit(
            f"{metafunc.function.__name__} needs an entry: pytest {FOLDER} --entry=NAME", returncode=4
        )


def _is_asked(config: pytest.Config) -> bool:
    return any(FOLDER in arg.partition("::")[0].replace("\\", "/").split("/") for arg in config.args)


def _only_informs(config: pytest.Config) -> bool:
    return any(config.getoption(name, False) for name in ("help", "version", "showfixtures", "markers"))


def _load(config: pytest.Config) -> None:
    import pytest

    from nanolm.errors import NanoLMError
    from nanolm.plugin import fixtures
    from nanolm.plugin.collecting import Collecting
    from nanolm.plugin.outcomes import Outcomes
    from nanolm.plugin.session import BenchmarkSession

    try:
        plugin = BenchmarkSession(config)
    except NanoLMError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(plugin, SESSION)
    collecting = Collecting(plugin.suite, plugin.collected, plugin.worker or {})
    config.pluginmanager.register(collecting, "nanolm-collecting")
    outcomes = Outcomes(config, plugin.collected, is_worker=plugin.worker is not None)
    config.pluginmanager.register(outcomes, "nanolm-outcomes")
    if plugin.controller:
        from nanolm.plugin.controller import Controller

        config.pluginmanager.register(Controller(plugin), "nanolm-controller")
    config.pluginmanager.register(fixtures, "nanolm-fixtures")


def _say_how(config: pytest.Config) -> None:
    import pytest

    from nanolm import editions, entries
    from nanolm.errors import NanoLMError

    name = config.getoption("--edition")
    try:
        edition = editions.load(name)
        known = entries.names(edition)
    except NanoLMError as error:
        raise pytest.UsageError(str(error)) from None
    command = f"{'pytest' if 'pytest' in sys.argv[0] else 'python -m pytest'} {FOLDER}"
    raise pytest.UsageError(
        f"which entry? Choose one with --entry=NAME. Edition {edition.name} has:\n"
        f"    {', '.join(known) or 'no entries of its own'}\n"
        "  checks of the scoring, which need no model: oracle, constant, random\n"
        "  your own: a model folder, a .gguf file, hub/repo@revision, or an entry TOML\n"
        f"For example: {command} --entry=oracle"
        + ("" if name != "mini" else f"\nThe whole index: {command} --edition=nano-lm-v1 --entry=NAME")
    )
