"""Alternatives of one request as a tree of tokens, so that what they share is read once.

Options of one item share their context, sentences of a minimal pair their beginning. Merged by common
prefixes they form a tree: a token sees its ancestors and nothing else, its position is its depth. Nodes are
numbered in depth-first order, so that `end` alone says who sees whom: node j is an ancestor of node i, or i
itself, exactly when j <= i < end[j].

The last token of an alternative is predicted and never read, so it has no node.
"""

from collections.abc import Sequence

import msgspec

from nanolm.schema import Alternative


class Tree(msgspec.Struct, frozen=True):
    """The tokens to read for some alternatives, and the tokens to predict."""

    tokens: list[int]
    depths: list[int]
    end: list[int]
    """One past the node's last descendant."""
    places: list[int]
    """Nodes after which a token is predicted, one for each token of each continuation."""
    targets: list[int]
    """The predicted tokens."""
    owners: list[int]
    """Which alternative each of them belongs to."""

    @property
    def chain(self) -> bool:
        """Whether nothing branches, so that ordinary causal attention is enough."""
        return not self.depths or self.depths[-1] == len(self.depths) - 1

    @property
    def depth(self) -> int:
        """Tokens on the longest path."""
        return max(self.depths, default=-1) + 1


def grow(alternatives: Sequence[Alternative], shared: bool = True) -> list[Tree]:
    """One tree of all alternatives; one for each when nothing may be `shared`."""
    if not shared:
        return [_tree([(place, one)]) for place, one in enumerate(alternatives)]
    return [_tree(sorted(enumerate(alternatives), key=lambda pair: pair[1].ids))]


def _tree(alternatives: Sequence[tuple[int, Alternative]]) -> Tree:
    """`alternatives` with their places, in the order of their ids: new branches then leave the last path."""
    tree = Tree([], [], [], [], [], [])
    path: list[int] = []  # nodes of the last alternative, by depth
    for owner, one in alternatives:
        shared = _common([tree.tokens[node] for node in path], one.ids[:-1])
        for node in path[shared:]:
            tree.end[node] = len(tree.tokens)
        del path[shared:]
        for depth in range(shared, len(one.ids) - 1):
            path.append(len(tree.tokens))
            tree.tokens.append(one.ids[depth])
            tree.depths.append(depth)
            tree.end.append(0)
        tree.places.extend(path[one.start - 1 : len(one.ids) - 1])
        tree.targets.extend(one.ids[one.start :])
        tree.owners.extend([owner] * (len(one.ids) - one.start))
    for node in path:
        tree.end[node] = len(tree.tokens)
    return tree


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences have in common at the start."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Rows grouped so that a padded batch has at most `tokens` tokens (or one row), longest rows first."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    found: list[list[int]] = []
    for row in order:
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= tokens:
            found[-1].append(row)
        else:
            found.append([row])
    return found
