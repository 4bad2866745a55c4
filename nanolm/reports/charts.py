"""The board's pictures as inline SVG: coloured by the page's style sheet, so that they follow dark and light."""

import math
from collections.abc import Callable, Sequence
from html import escape

from nanolm.reports.table import Row

_WIDTH, _HEIGHT = 720, 400
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
    grid = "".join(f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="0" y2="22"/>' for x in (6, 53, 100, 147, 194))
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
    most = max(int(row.score.model["parameters"]) for row in shown) / 1e6
    right = max(100.0, math.ceil(most / 100) * 100)

    def x(parameters: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * parameters / right

    def y(index: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * index / top

    parts = [
        f'<svg class="scatter" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-label="Parameters in millions against the index">'
    ]
    for k in range(6):
        value = top * k / 5
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
            f'<text class="tick" x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    step = 100 if right <= 700 else 100 * math.ceil(right / 700)
    for value in range(0, int(right) + 1, step):
        parts.append(
            f'<text class="tick" x="{x(value):.1f}" y="{_HEIGHT - _BOTTOM + 18}" '
            f'text-anchor="middle">{value}</text>'
        )
    parts.append(
        f'<text class="axis" x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        "parameters, millions</text>"
        f'<text class="axis" transform="translate(13 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)" '
        'text-anchor="middle">index</text>'
    )
    taken: list[tuple[float, float, float]] = []
    for row in sorted(shown, key=lambda row: -(row.value or 0.0)):
        parts.append(_point(row, x(int(row.score.model["parameters"]) / 1e6), y, taken))
    return "".join(parts) + "</svg>"


def _point(row: Row, at: float, y: Callable[[float], float], taken: list[tuple[float, float, float]]) -> str:
    index = row.score.index
    assert index is not None

    level = y(index.value)
    low = y(index.value if index.low is None else index.low)
    high = y(index.value if index.high is None else index.high)
    kind = "ranked" if row.rank else "unranked"
    width = 6.4 * len(row.title)
    left_side = at + 9 + width > _WIDTH
    start = at - 9 - width if left_side else at + 9
    height = level + 4
    # Labels that would lie on another are moved down a line at a time.
    while any(abs(height - h) < 13 and start < b and a < start + width for a, b, h in taken):
        height += 13
    taken.append((start, start + width, height))
    anchor, place = ("end", at - 9) if left_side else ("start", at + 9)
    return (
        f'<a href="entries/{escape(row.file_name)}.html"><g class="point {kind}">'
        f"<title>{escape(row.title)}: {index.value:.2f}</title>"
        f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        f'<circle cx="{at:.1f}" cy="{level:.1f}" r="5"/>'
        f'<text x="{place:.1f}" y="{height:.1f}" text-anchor="{anchor}">{escape(row.title)}</text></g></a>'
    )
