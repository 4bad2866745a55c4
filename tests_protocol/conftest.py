"""Shared by all protocol tests: hypothesis profiles and the folder of official source data."""

import os
from pathlib import Path

import pytest

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:

    def pytest_configure(config: pytest.Config) -> None:
        """One line, and no test. But pytest reads this file for a path that does not exist, too, and then has
        to say so itself."""
        here = Path(__file__).resolve().parent
        asked = [Path(each.partition("::")[0]).resolve() for each in config.args]
        if any(each.exists() and (each in here.parents or here in (each, *each.parents)) for each in asked):
            raise pytest.UsageError(
                f"the tests in {here.name} need hypothesis, which is not installed here: run `make test`, or "
                "pip install -e '.[test]'"
            )

else:
    _QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile("default", max_examples=100, deadline=None, suppress_health_check=_QUIET)
    settings.register_profile("ci", max_examples=2_000, deadline=None, suppress_health_check=_QUIET)
    settings.register_profile("thorough", max_examples=50_000, deadline=None, suppress_health_check=_QUIET)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def _found_or_missing(folder: Path, what: str) -> Path:
    if folder.exists():
        return folder
    message = f"{what} is not at {folder}; set NANOLM_SHARED_DATA to the folder of official source files"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of official source files; tests skip without it, and fail without it in CI."""
    return _found_or_missing(Path(os.environ.get("NANOLM_SHARED_DATA", _BESIDE)), "the official source data")


@pytest.fixture(scope="session")
def shared_cases(shared_data: Path) -> Path:
    """The extraction cases that stand beside the official source data (`cases/extraction.jsonl`)."""
    return _found_or_missing(
        shared_data.parent / "cases" / "extraction.jsonl", "the file of extraction cases"
    )
