"""The evaluators over the mini edition's own-written tasks."""

import os
from collections.abc import Iterator

import pytest

from nanolm.editions.read import load
from nanolm.errors import SandboxError
from nanolm.sandbox import Evaluators, environment, of_edition
from nanolm.sources import cache_folder

LARGEST = "Mbpp/10004"
"""`largest(numbers)`: 3 and 2 inputs, so that what blocks a module ends after 5 and 4 seconds."""
RIGHT = "def largest(numbers):\n    return max(numbers)\n"


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips where the evaluators are not installed; fails there in CI."""
    try:
        for suite in environment.LOCKS:
            environment.require(suite, cache_folder())
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def evaluators(installed: None) -> Iterator[Evaluators]:
    """Two workers over the mini edition's data sets."""
    with Evaluators(of_edition(load("mini")), cache_folder(), workers=2) as opened:
        yield opened
