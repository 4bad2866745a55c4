from hypothesis import given
from hypothesis import strategies as st

from nanolm.scoring import ranks


def test_highest_first_and_equal_scores_share() -> None:
    assert ranks({"b": 2.0, "a": 2.0, "c": 7.5, "d": 1.0}) == {"c": 1, "a": 2, "b": 2, "d": 4}


def test_sums_in_another_order_are_equal_scores() -> None:
    assert ranks({"a": (0.1 + 0.2) + 0.3, "b": 0.1 + (0.2 + 0.3)}) == {"a": 1, "b": 1}


def test_close_scores_do_not_share() -> None:
    assert ranks({"a": 12.000001, "b": 12.0}) == {"a": 1, "b": 2}


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 5).map(float)))
def test_a_rank_is_one_more_than_the_number_of_better_entries(indices: dict[str, float]) -> None:
    for name, rank in ranks(indices).items():
        assert rank == 1 + sum(other > indices[name] for other in indices.values())
