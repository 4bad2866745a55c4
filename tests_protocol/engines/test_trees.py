"""Trees of tokens: every alternative is a path, and nobody sees what is not on its path."""

from hypothesis import given
from hypothesis import strategies as st

from nanolm.engines import trees
from nanolm.schema import Alternative

SEQUENCES = st.lists(st.integers(0, 2), min_size=2, max_size=8).flatmap(
    lambda ids: st.integers(1, len(ids) - 1).map(lambda start: Alternative(tuple(ids), start))
)


def seen(tree: trees.Tree, node: int) -> list[int]:
    """The tokens that a node sees, by the rule that the engine's mask follows."""
    return [tree.tokens[other] for other in range(len(tree.tokens)) if other <= node < tree.end[other]]


@given(st.lists(SEQUENCES, min_size=1, max_size=6))
def test_each_prediction_sees_exactly_what_stands_before_it(alternatives: list[Alternative]) -> None:
    for shared in (True, False):
        found: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        for tree in trees.forest(alternatives, shared):
            for place, target, owner in zip(tree.places, tree.targets, tree.owners, strict=True):
                assert tree.depths[place] == len(seen(tree, place)) - 1
                found.setdefault(owner, []).append((tuple(seen(tree, place)), target))
        for owner, one in enumerate(alternatives):
            expected = [(one.ids[:at], one.ids[at]) for at in range(one.start, len(one.ids))]
            assert found[owner] == expected


@given(st.lists(SEQUENCES, min_size=1, max_size=6))
def test_what_a_tree_shares_is_read_once(alternatives: list[Alternative]) -> None:
    for tree in trees.forest(alternatives):
        held = [alternatives[owner].ids for owner in set(tree.owners)]
        prefixes = {ids[:length] for ids in held for length in range(1, len(ids))}
        assert len(tree.tokens) == len(prefixes)
        assert tree.depth == max(len(ids) for ids in held) - 1
        assert tree.chain == (len(tree.tokens) == tree.depth)


def test_options_of_one_context_are_one_tree_and_strangers_are_not() -> None:
    context = tuple(range(100, 160))
    options = [Alternative((*context, 10 + option, 20), 60) for option in range(4)]
    (tree,) = trees.forest(options)
    assert len(tree.tokens) == 64
    strangers = [Alternative((number, *context), 60) for number in range(4)]
    assert len(trees.forest(strangers)) == 4


def test_a_tree_does_not_grow_without_bounds() -> None:
    context = tuple(range(5000, 5500))
    many = [Alternative((*context, *(10 * option + at for at in range(9))), 500) for option in range(200)]
    found = trees.forest(many)
    assert len(found) > 1
    assert max(len(tree.tokens) for tree in found) <= trees.MOST_NODES
    alone = trees.forest(many, deepest=300)
    assert len(alone) == 200
    assert all(tree.chain for tree in alone)


def test_letters_behind_one_context_are_one_chain() -> None:
    (tree,) = trees.forest([Alternative((5, 6, 7, letter), 3) for letter in (1, 2, 3, 4)])
    assert tree.tokens == [5, 6, 7]
    assert tree.chain
    assert tree.places == [2, 2, 2, 2]
    assert sorted(tree.targets) == [1, 2, 3, 4]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120))
def test_batches_hold_every_row_once_and_keep_the_bound(lengths: list[int], tokens: int) -> None:
    found = trees.batches(lengths, tokens)
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or max(lengths[row] for row in batch) * len(batch) <= tokens
    order = [lengths[row] for batch in found for row in batch]
    assert order == sorted(order, reverse=True)
