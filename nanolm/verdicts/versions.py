"""The versions that decide a verdict: those an edition pins, and those that are installed (ruling 40)."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata

from nanolm.errors import EditionError, NanoLMError


@lru_cache(maxsize=64)
def installed(package: str) -> str:
    """The installed version of a distribution, `none` when it is not there. Imports nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def mismatches(extractors: Mapping[str, str]) -> list[str]:
    """What is installed in another version than the edition pins, one line each; empty when all fits."""
    return [
        f"{package}: found {installed(package)}, expected {version}"
        for package, version in extractors.items()
        if installed(package) != version
    ]


def check(extractors: Mapping[str, str], edition: str = "the edition") -> None:
    """Raises `EditionError` when the installed extractors are not those that the edition pins."""
    wrong = mismatches(extractors)
    if wrong:
        pins = " ".join(f"{package}=={version}" for package, version in extractors.items())
        raise EditionError(
            f"math verdicts of {edition} depend on pinned versions ([extractors] in its edition.toml); "
            f"{'; '.join(wrong)}. Run: pip install {pins}"
        )


def require(packages: Iterable[str]) -> None:
    """Raises `NanoLMError` when one of them is not installed at all: nothing could be judged."""
    absent = [package for package in packages if installed(package) == "none"]
    if absent:
        raise NanoLMError(
            f"judging math answers needs {', '.join(absent)}, not installed here; "
            "run: pip install 'nanolm[math]'"
        )


def key(packages: tuple[str, ...]) -> str:
    """The installed versions of these packages as one text, part of a cached verdict's key."""
    return " ".join(f"{package}={installed(package)}" for package in packages)
