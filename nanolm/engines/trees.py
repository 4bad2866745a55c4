"""Alternatives as trees of tokens, so that what they share is read once.

Options of one item share their context, sentences of a minimal pair their beginning, many items some words.
Merged by common prefixes they form a tree: a token sees its ancestors and nothing else, its position is its
depth. Nodes are numbered in depth-first order, so that `end` alone says who sees whom: node j is an ancestor
of node i, or i itself, exactly when j <= i < end[j].

The last token of an alternative is predicted and never read, so it has no node.
"""

from collections.abc import Sequence

import msgspec

from nanolm.schema import Alternative

MOST_NODES = 1024
"""A tree grows no larger, so that what it needs of memory is bounded."""
SAVING = 500
"""How many pairs of tokens that see each other cost as much as one token's way through a layer: 6 times the
model's width over 2, here of a narrow model."""


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
    """The alternative that each of them belongs to."""

    @property
    def chain(self) -> bool:
        """Whether nothing branches, so that ordinary causal attention is enough."""
        return not self.depths or self.depths[-1] == len(self.depths) - 1

    @property
    def depth(self) -> int:
        """Tokens on the longest path."""
        return max(self.depths, default=-1) + 1


def forest(
    alternatives: Sequence[Alternative], shared: bool = True, deepest: int | None = None
) -> list[Tree]:
    """Trees that hold every alternative once; owners are places in `alternatives`.

    In the order of their ids each one joins the tree of the one before it when what they share is worth it:
    a shared token saves its way through the model, a larger tree makes attention dearer for all its tokens.
    Not `shared`, or of more than `deepest` tokens: each alternative is a tree of its own.
    """
    alone = [
        place
        for place, one in enumerate(alternatives)
        if not shared or (deepest is not None and len(one.ids) - 1 > deepest)
    ]
    found = [_tree([(place, alternatives[place])]) for place in alone]
    together = set(alone)
    rest = sorted((one.ids, place) for place, one in enumerate(alternatives) if place not in together)
    group: list[tuple[int, Alternative]] = []
    nodes = 0
    for ids, place in rest:
        one = alternatives[place]
        common = _common(group[-1][1].ids[:-1], ids[:-1]) if group else 0
        new = len(ids) - 1 - common
        if group and not _worth(common, new, nodes):
            found.append(_tree(group))
            group, nodes, new = [], 0, len(ids) - 1
        group.append((place, one))
        nodes += new
    if group:
        found.append(_tree(group))
    return found


def _worth(common: int, new: int, nodes: int) -> bool:
    return nodes + new <= MOST_NODES and common * SAVING > new * nodes


def _tree(alternatives: Sequence[tuple[int, Alternative]]) -> Tree:
    """`alternatives` with their owners, in the order of their ids: new branches then leave the last path."""
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
