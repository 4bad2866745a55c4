"""The last line of a run's table: the index, or why there is none."""

import msgspec

from nanolm import editions
from nanolm.editions import Category
from nanolm.reports.terminal import index_line
from nanolm.schema import EntryScore, Interval

SCORE = EntryScore(
    edition="mini",
    edition_digest="",
    entry="x",
    mode="chat",
    complete=True,
    publishable=False,
    index=None,
    raw_index=None,
    categories={},
    benchmarks={},
    decoding={},
    model={},
    engine={},
    samples=1,
)


def test_why_there_is_no_index() -> None:
    mini = editions.load("mini")
    assert "none: not every benchmark was run" in index_line(SCORE, mini)
    more = msgspec.structs.replace(mini, categories=(*mini.categories, Category(slug="see", title="Seeing")))
    assert index_line(SCORE, more).endswith("none: mini has no benchmark of Seeing")
    scored = msgspec.structs.replace(SCORE, index=Interval(value=50.0))
    assert "50.00" in index_line(scored, mini)
