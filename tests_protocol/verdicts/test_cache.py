"""The verdict cache: kept, shared, and never in the way."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.verdicts.cache import FILE, VerdictCache, key


def test_what_one_process_kept_another_finds(tmp_path: Path) -> None:
    first, second = VerdictCache(tmp_path / "new"), VerdictCache(tmp_path / "new")
    one = key("math", "5", "4+1")
    assert first.get(one) is None
    first.put(one, "equal")
    assert first.get(one) == "equal"
    first.flush()
    assert second.get(one) == "equal"
    first.close()
    second.close()
    third = VerdictCache(tmp_path / "new")
    assert third.get(one) == "equal"
    third.close()


def test_without_a_folder_all_stays_in_memory() -> None:
    cache = VerdictCache()
    cache.put(key("a"), "x")
    cache.flush()
    assert (cache.get(key("a")), cache.get(key("b"))) == ("x", None)
    cache.close()


def test_a_broken_file_costs_a_warning_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with caplog.at_level(logging.WARNING):
        cache = VerdictCache(tmp_path)
    assert "verdicts are not kept" in caplog.text
    assert str(tmp_path / FILE) in caplog.text
    cache.put(key("a"), "x")
    assert cache.get(key("a")) == "x"
    cache.close()


def test_a_folder_that_can_not_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        VerdictCache(tmp_path / "file" / "below").close()
    assert "NANOLM_CACHE" in caplog.text


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_differ_when_parts_do(a: list[str], b: list[str]) -> None:
    assert (key(*a) == key(*b)) == (a == b)
    assert len(key("\ud800")) == 16
