"""The board's pictures as inline SVG, coloured by the page's style sheet: they follow dark and light."""

import math
from collections.abc import Callable, Sequence
from html import escape

from nanolm.reports.table import Row

_WIDTH, _HEIGHT = 960, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 24, 18, 46


def ceiling(found: Sequence[Row]) -> float:
    """The upper end of the index axis: the highest upper bound, rounded up to a tenth, 10 at least."""
    tops = [row.score.index.high or row.score.index.value for row in found if row.score.index]
    return min(100.0, max(10.0, math.ceil(max(tops, default=0.0) / 10) * 10))


def interval(row: Row, top: float) -> str:
    """A dot with whiskers on an axis from 0 to `top`, 200 units wide."""
    index = row.score.index
    if index is None:
        return ""
    at = 6 + 188 * index.value / top
    low = 6 + 188 * (index.value if index.low is None else index.low) / top
    high = 6 + 188 * (index.value if index.high is None else index.high) / top
    said = f"{index.value:.2f}" + (
        f", 95% interval {index.low:.2f} to {index.high:.2f}" if index.low is not None else ""
    )
    grid = "".join(
        f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="0" y2="22"/>' for x in (6, 53, 100, 147, 194)
    )
    return (
        f'<svg class="interval" viewBox="0 0 200 22" role="img" aria-label="{escape(said)}">{grid}'
        f'<line class="whisker" x1="{low:.2f}" x2="{high:.2f}" y1="11" y2="11"/>'
        f'<line class="whisker" x1="{low:.2f}" x2="{low:.2f}" y1="6" y2="16"/>'
        f'<line class="whisker" x1="{high:.2f}" x2="{high:.2f}" y1="6" y2="16"/>'
        f'<circle cx="{at:.2f}" cy="11" r="4.5"/></svg>'
    )


def parameters_against_index(found: Sequence[Row]) -> str:
    """Parameters in millions against the index with its interval; entries without parameters are left out."""
    shown = [row for row in found if row.score.index and row.score.model.get("parameters")]
    if not shown:
        return ""
    top = ceiling(shown)
    millions = [int(row.score.model["parameters"]) / 1e6 for row in shown]
    step = 50 if max(millions) <= 1000 else 100 * math.ceil(max(millions) / 1000)
    left = math.floor(min(millions) / step - 0.2) * step
    right = math.ceil(max(millions) / step + 0.2) * step

    def x(parameters: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (parameters - left) / (right - left)

    def y(index: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * index / top

    parts = [
        f'<svg class="scatter" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-label="Parameters in millions against the index">'
    ]
    parts += [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text class="tick" x="{_LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text>'
        for v in range(0, int(top) + 1, 10)
    ]
    parts += [
        f'<text class="tick" x="{x(v):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{v}</text>'
        for v in range(max(left, 0), right + 1, step)
    ]
    parts.append(
        f'<text class="axis" x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        "parameters, millions</text>"
        f'<text class="axis" transform="translate(13 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)" '
        'text-anchor="middle">index</text>'
    )
    # Where labels may not start: on points, and later on each other.
    taken: list[tuple[float, float, float]] = []
    for row in shown:
        at = x(int(row.score.model["parameters"]) / 1e6)
        taken.append((at - 5, at + 5, y(row.value or 0.0) + 4))
    for row in sorted(shown, key=lambda row: -(row.value or 0.0)):
        parts += [_point(row, x(int(row.score.model["parameters"]) / 1e6), y, taken)]
    return "".join(parts) + "</svg>"


def _point(row: Row, at: float, y: Callable[[float], float], taken: list[tuple[float, float, float]]) -> str:
    index = row.score.index
    assert index is not None

    level = y(index.value)
    low = y(index.value if index.low is None else index.low)
    high = y(index.value if index.high is None else index.high)
    kind = "ranked" if row.rank else "unranked"
    start, height, anchor = _label_place(at, level + 4, 6.4 * len(row.label), taken)
    place = start if anchor == "start" else start + 6.4 * len(row.label)
    return (
        f'<a href="entries/{escape(row.file_name)}.html"><g class="point {kind}">'
        f"<title>{escape(row.label)}: {index.value:.2f}</title>"
        f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        f'<circle cx="{at:.1f}" cy="{level:.1f}" r="5"/>'
        f'<text x="{place:.1f}" y="{height:.1f}" text-anchor="{anchor}">{_isolated(row.label)}</text></g></a>'
    )


def _isolated(text: str) -> str:
    """As text whose direction its own letters decide, whatever stands beside it."""
    return f"\u2068{escape(text)}\u2069"


def _label_place(
    at: float, height: float, width: float, taken: list[tuple[float, float, float]]
) -> tuple[float, float, str]:
    """Start, height and anchor of a label: right of its point, else left, else a line lower or higher."""
    sides = ((at + 9, "start"), (at - 9 - width, "end"))
    for shift in (0, 13, -13, 26, -26, 39, -39, 52):
        for start, anchor in sides:
            inside = start >= _LEFT and start + width <= _WIDTH
            free = all(abs(height + shift - h) >= 12 or start + width <= a or start >= b for a, b, h in taken)
            if inside and free:
                taken.append((start, start + width, height + shift))
                return start, height + shift, anchor
    return at + 9, height, "start"
