"""The bootstrap: exact, the same on any machine, the same items for every entry."""

import hashlib

import numpy as np
import pytest

from nanolm.errors import ScoreError
from nanolm.scoring import bootstrap
from nanolm.scoring.bootstrap import bounds, resampled_items, resampled_sums


def _all(slug: str, items: int, resamples: int) -> np.ndarray:
    return np.concatenate([block.copy() for block in resampled_items(slug, items, resamples)])


def test_the_stream_is_the_documented_one_word_by_word() -> None:
    seed = int.from_bytes(hashlib.sha256(b"gsm8k-platinum").digest(), "big")
    words = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(2 * 3)
    rows = []
    for first in (0, 3):
        mine = [int(word) for word in words[first : first + 3]]
        draws = [word & 0xFFFFFFFF for word in mine] + [word >> 32 for word in mine]
        rows.append([draw * 5 >> 32 for draw in draws][:5])
    assert _all("gsm8k-platinum", 5, 2).tolist() == rows


def test_golden_draws() -> None:
    """These are frozen: an interval that was published must come out again."""
    assert _all("gsm8k-platinum", 1209, 2)[:, :6].tolist() == [
        [216, 1058, 536, 552, 939, 899],
        [69, 1203, 633, 944, 281, 274],
    ]


def test_golden_interval() -> None:
    """Frozen like the draws: sums of quarters over 10,000 resamples of 203 items."""
    quarters = np.array([[(3 * i * i + i) % 5] for i in range(203)])
    sums = resampled_sums("global-piqa", quarters)[:, 0]
    assert int(quarters.sum()) == 408
    assert int(sums.sum()) == 4_082_972
    assert bounds(sums.astype(np.float64)) == (358.0, 460.0)


@pytest.mark.parametrize("items", [1, 2, 3, 101, 500])
def test_every_item_is_drawn_about_equally_often(items: int) -> None:
    drawn = _all("b", items, 400)
    assert drawn.shape == (400, items)
    counts = np.bincount(drawn.ravel(), minlength=items)
    assert counts.shape == (items,)
    expected = 400.0
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square <= items - 1 + 5 * np.sqrt(2 * items)


def test_both_ways_of_summing_are_exact() -> None:
    draw = np.random.default_rng(0)
    values = draw.integers(-4, 5, (203, 4))
    expected = values[_all("b", 203, 70)].sum(axis=1)
    assert (resampled_sums("b", values, 70) == expected).all()  # by counting
    assert (resampled_sums("b", values[:, :1], 70) == expected[:, :1]).all()  # by gathering


def test_large_products_are_cut_and_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_ONE_THREAD", 1000)
    values = np.random.default_rng(0).integers(0, 5, (997, 5))
    assert (resampled_sums("b", values, 40) == values[_all("b", 997, 40)].sum(axis=1)).all()


def test_values_too_large_for_float32_are_still_exact() -> None:
    values = np.array([[40_000_001, 1, 2], [3, 4, 40_000_005], [7, 7, 8]])
    assert (resampled_sums("b", values, 50) == values[_all("b", 3, 50)].sum(axis=1)).all()


def test_a_column_of_equal_values_needs_no_draws() -> None:
    values = np.array([[1, 0, 4], [1, 1, 4]])
    sums = resampled_sums("b", values, 100)
    assert (sums[:, 0] == 2).all()
    assert (sums[:, 2] == 8).all()
    assert set(sums[:, 1]) == {0, 1, 2}


def test_bounds_are_the_250th_smallest_and_largest() -> None:
    values = np.random.default_rng(0).permutation(10_000).astype(np.float64) + 1
    assert bounds(values) == (250.0, 9751.0)


def test_nothing_to_draw_from_is_an_error() -> None:
    with pytest.raises(ScoreError, match="0 items"):
        next(resampled_items("b", 0))
