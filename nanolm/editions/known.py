"""What an edition may name: engines, number formats, metrics, extractors, benchmark modules.

An edition that names anything else is refused when it is read. What lies in rooms below this one stands
here as a closed set, and a test holds it equal to what is there.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import nanolm.benchmarks
from nanolm import rules
from nanolm.answers import math_expression
from nanolm.errors import UsageError, unknown

ENGINES = ("vllm", "transformers", "llamacpp")
"""The engines that `[engine]` may name."""

DTYPES = ("bfloat16", "float16", "float32")
"""The number formats that every engine which takes one knows."""

METRICS: Mapping[str, str] = {
    "letter": "accuracy",
    "label": "accuracy",
    "number": "accuracy",
    "math_expression": "accuracy (equivalence)",
    "code": "pass@1",
    "tool_calls": "exact match per case",
    "featherweight_letter": "accuracy",
    "likeliest": "accuracy",
}
"""What the answers of each type are measured by (§3): the answer type decides it, the edition says it."""

NORMALISED = "accuracy, length-normalised"
"""Of `likeliest` with a `normalisation`."""

EXTRACTORS = (*rules.VERSIONS, *math_expression.PACKAGES)
"""What `[extractors]` may pin a version of: the project's own rules and packages that decide a verdict."""

_PACKAGE = nanolm.benchmarks.__name__


def metric(answer_type: str, normalisation: str) -> str:
    """The metric of a benchmark's answers."""
    return METRICS[answer_type] if normalisation == "none" else NORMALISED


def module(name: str) -> Any:
    """The module of `nanolm.benchmarks` with this name; `UsageError` for a name that makes no items."""
    found = _imported(name) if name.isidentifier() else None
    if not hasattr(found, "items"):
        raise _no_module(name)
    return found


def answer_type(name: str) -> str | None:
    """Of what type a module's items are, None for one that does not say. Errors as in `module`."""
    found: str | None = getattr(module(name), "ANSWER_TYPE", None)
    return found


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(f"{_PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{_PACKAGE}.{name}":
            raise
        return None


def _no_module(name: str) -> UsageError:
    every = (each.name for each in pkgutil.iter_modules(nanolm.benchmarks.__path__))
    return unknown("module", name, [each for each in every if hasattr(_imported(each), "items")])
