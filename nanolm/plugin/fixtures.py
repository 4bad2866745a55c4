"""What a benchmark test may ask for."""

from typing import Any

import pytest

from nanolm.editions import Edition
from nanolm.entries import Entry
from nanolm.plugin import SESSION
from nanolm.plugin.recorded import Recorded
from nanolm.plugin.session import BenchmarkSession
from nanolm.schema import Item


def _session(config: pytest.Config) -> BenchmarkSession:
    plugin = config.pluginmanager.get_plugin(SESSION)
    assert isinstance(plugin, BenchmarkSession)
    return plugin


@pytest.fixture(scope="session")
def edition(pytestconfig: pytest.Config) -> Edition:
    """The frozen standard of this run."""
    return _session(pytestconfig).edition


@pytest.fixture(scope="session")
def entry(pytestconfig: pytest.Config) -> Entry:
    """Who answers."""
    found = _session(pytestconfig).entry
    if found is None:
        pytest.fail("no entry: choose one with --entry=NAME", pytrace=False)
    return found


@pytest.fixture(scope="session")
def vllm_session(pytestconfig: pytest.Config) -> Any:
    """The running engine, whichever it is; None in a worker of pytest-xdist and when nothing is missing."""
    run = _session(pytestconfig).run
    return run.engine if run is not None else None


@pytest.fixture(scope="session")
def sandbox(pytestconfig: pytest.Config) -> Any:
    """The official code evaluators, or None when they are not installed."""
    return _session(pytestconfig).checking.checker


@pytest.fixture
def item(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Item:
    """One question of the benchmark."""
    return _session(pytestconfig).suite.item(*request.param)


@pytest.fixture
def recorded(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Recorded:
    """The item's recorded outputs and their verdicts; waits for them."""
    ref = request.node.callspec.params["item"]
    return Recorded(_session(pytestconfig).desk, ref, request.node)
