"""How many tokens and how much time are left, from outputs that are there."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from nanolm.schema import Output


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What generating the missing outputs will take."""

    outputs: int
    """On how many outputs it rests."""
    tokens: float
    seconds: float | None
    """None where the outputs don't say how fast the engine is."""


def estimate(outputs: Iterable[Output], missing: Mapping[str, int], at_once: int = 0) -> Estimate | None:
    """From the mean length in each benchmark; None without an output to go by.

    `missing`: outputs to generate, by benchmark. `at_once`: how many requests the engine works on together;
    the pace is then that of one request times as many, which holds from the first output on. Without it,
    the pace is tokens over the time in which the engine was at work: pauses between runs don't count.
    """
    count: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    spans: list[tuple[float, float]] = []
    each = 0.0
    for output in outputs:
        if output.finish_reason not in ("stop", "length"):
            continue
        count[output.benchmark] += 1
        tokens[output.benchmark] += output.output_tokens
        spans.append((output.started, output.started + output.seconds))
        each += output.seconds
    known, made = count.total(), tokens.total()
    if not known:
        return None
    mean = made / known
    left = sum(
        wanted * (tokens[slug] / count[slug] if count[slug] else mean) for slug, wanted in missing.items()
    )
    time = each / min(at_once, sum(missing.values())) if at_once and missing else covered(spans)
    return Estimate(outputs=known, tokens=left, seconds=left * time / made if made and time > 0 else None)


def covered(spans: list[tuple[float, float]]) -> float:
    """How long at least one of the spans of time lasts.

    >>> covered([(0, 4), (2, 6), (100, 101)])
    7.0
    """
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
