"""Ranks: by index, highest first; only exactly equal scores share a rank (§8)."""

from collections.abc import Mapping

# Sums of equal skills in another order differ by about 1e-14; different counts of right samples by far more.
_DIGITS = 10


def ranks(indices: Mapping[str, float]) -> dict[str, int]:
    """Entry name to rank, 1 the highest, in rank order (equal scores by name).

    >>> ranks({"b": 2.0, "a": 2.0, "c": 7.5, "d": 1.0})
    {'c': 1, 'a': 2, 'b': 2, 'd': 4}
    """
    ordered = sorted(indices, key=lambda name: (-round(indices[name], _DIGITS), name))
    found: dict[str, int] = {}
    previous: str | None = None
    for place, name in enumerate(ordered, start=1):
        shared = previous is not None and round(indices[name] - indices[previous], _DIGITS) == 0
        found[name] = found[previous] if shared and previous is not None else place
        previous = name
    return found
