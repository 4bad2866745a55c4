"""The versions that decide a verdict: those an edition pins, and those that are installed (ruling 40)."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata

from nanolm import rules
from nanolm.errors import EditionError, NanoLMError


@lru_cache(maxsize=64)
def installed(package: str) -> str:
    """The installed version of a distribution, `none` when it is not there. Imports nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def mismatches(extractors: Mapping[str, str]) -> list[str]:
    """What is here in another version than the edition pins, one line each; empty when all fits.

    Of the project's own rules (`rules.VERSIONS`) an edition that names none expects the first (§10).
    """
    return other_rules(extractors) + _packages(extractors)


def other_rules(extractors: Mapping[str, str]) -> list[str]:
    """The same of the project's own rules alone: they decide what is read from an output."""
    return [
        f"{name} rules: found version {found}, expected {extractors.get(name, rules.FIRST)}"
        for name, found in rules.VERSIONS.items()
        if found != extractors.get(name, rules.FIRST)
    ]


def _packages(extractors: Mapping[str, str]) -> list[str]:
    return [
        f"{package}: found {installed(package)}, expected {version}"
        for package, version in extractors.items()
        if package not in rules.VERSIONS and installed(package) != version
    ]


def check(extractors: Mapping[str, str], edition: str = "the edition") -> None:
    """Raises `EditionError` when the rules or packages here are not those that the edition pins."""
    other, wrong = other_rules(extractors), _packages(extractors)
    if other:
        raise EditionError(
            f"verdicts of {edition} depend on versions of nanolm's own rules ([extractors] in its "
            f"edition.toml); {'; '.join(other)}. Use the nanolm that has them, or a patch edition that "
            "names these (docs/editions.md)"
        )
    if wrong:
        pins = " ".join(
            f"{package}=={version}"
            for package, version in extractors.items()
            if package not in rules.VERSIONS
        )
        raise EditionError(
            f"math verdicts of {edition} depend on pinned versions ([extractors] in its edition.toml); "
            f"{'; '.join(wrong)}. Run: pip install {pins}"
        )


def require(packages: Iterable[str]) -> None:
    """Raises `NanoLMError` when one of them is not installed at all: nothing could be judged.

    What an edition pins of the project's own rules is no package and passed over.
    """
    wanted = (package for package in packages if package not in rules.VERSIONS)
    absent = [package for package in wanted if installed(package) == "none"]
    if absent:
        raise NanoLMError(
            f"judging math answers needs {', '.join(absent)}, not installed here; "
            "run: pip install 'nanolm[math]'"
        )


def key(packages: tuple[str, ...]) -> str:
    """The installed versions of these packages as one text, part of a cached verdict's key."""
    return " ".join(f"{package}={installed(package)}" for package in packages)
