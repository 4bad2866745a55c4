"""Which tests there are: one an item, of the benchmarks that the edition has."""

from collections.abc import Mapping
from typing import Any

import pytest

from nanolm.errors import NanoLMError, SourceError
from nanolm.plugin.collected import Collected
from nanolm.plugin.recorded import Ref, is_benchmark, ref_of
from nanolm.run import Suite


class Collecting:
    """A plugin beside `BenchmarkSession`. `worker`: what the controller of pytest-xdist told this process,
    empty in any other."""

    def __init__(self, suite: Suite, collected: Collected, worker: Mapping[str, Any]) -> None:
        self.suite, self.collected, self.worker = suite, collected, worker

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> list[Any] | None:
        """A benchmark that this edition does not have gives no test."""
        if name.startswith("test_") and is_benchmark(obj) and not self.suite.of_module(name[5:]):
            return []
        return None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test an item, named by the item's id."""
        if "recorded" not in metafunc.fixturenames:
            return
        specs = self.suite.of_module(metafunc.function.__name__.removeprefix("test_"))
        refs: list[Ref] = []
        for spec in specs:
            try:
                refs += [(spec.slug, item) for item in self.suite.ids(spec.slug)]
            except SourceError as error:  # the others can be run; this one is told in the summary
                self.collected.without_data[spec.slug] = str(error)
            except NanoLMError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        # two benchmarks of one module in an edition: the ids say which is which
        ids = [item if len(specs) == 1 else f"{slug}:{item}" for slug, item in refs]
        metafunc.parametrize("item", refs, ids=ids, indirect=True)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Without the placeholders of benchmarks that have no data; a worker keeps its own share."""
        if self.collected.without_data:
            tests = [one for one in items if "recorded" in getattr(one, "fixturenames", ())]
            names = {one.function.__name__ for one in tests if isinstance(one, pytest.Function)}
            asked = {spec.slug for name in names for spec in self.suite.of_module(name.removeprefix("test_"))}
            missing = {slug: why for slug, why in self.collected.without_data.items() if slug in asked}
            self.collected.without_data = missing
            items[:] = [
                one for one in items if ref_of(one) or "recorded" not in getattr(one, "fixturenames", ())
            ]
        if "nanolm_share" in self.worker:
            share, shares = self.worker["nanolm_share"]
            items[:] = items[share::shares]
