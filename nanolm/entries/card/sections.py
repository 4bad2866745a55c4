"""Where a number of a model card stands: the text around it in which its convention may be said.

That is its own section with the sections above it, but none beside it. Under the card's title, where
everything may stand, it is the number's own paragraph or table, with the table's caption.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from nanolm.entries.markdown import Line, running_lines

_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s|$)|\s*<h([1-6])\b", re.I)
_BOLD = re.compile(r"\s{0,3}(?:\*\*[^*]+\*\*|__[^_]+__)[:.]?\s*")
"""A line all in bold, which stands for a heading."""
_UNDER = re.compile(r"\s{0,3}(=+|-{2,})\s*")
"""A line that makes a heading of the one above."""
EVALUATION = re.compile(r"\beval|\bresults?\b|benchmark|\bscores?\b|perplexity|language modell?ing", re.I)


class _Section(msgspec.Struct):
    start: int
    """Line of its heading; 0 before the first."""
    level: int
    heading: str = ""
    above: int = -1
    """Index of the section it is part of; -1 for none, and under the title."""
    whole: bool = True
    """Whether all of it is about one thing; false for what stands under the title."""
    text: str = ""


class Sections:
    """The sections of one card, in time linear in its length."""

    def __init__(self, card: str, but: frozenset[int] = frozenset()) -> None:
        """`but`: lines that are left out of the texts: each says the convention of its own number alone."""
        lines = [
            (number, ("|" if "|" in line else "-") if number in but else line)
            for number, line in running_lines(card, code=True)
        ]
        self._sections = _outline(running_lines(card))
        self._starts = [section.start for section in self._sections]
        parts: list[list[str]] = [[] for _ in self._sections]
        for number, line in lines:
            parts[self._at(number)].append(line)
        for section, part in zip(self._sections, parts, strict=True):
            section.text = "\n".join(part)
        self._near: dict[int, tuple[str, ...]] = {}
        self._blocks, self._block_starts = _blocks(lines, set(self._starts))

    def around(self, number: int) -> tuple[str, ...]:
        """The texts in which the convention of a number on this line may be said."""
        section = self._sections[self._at(number)]
        if not section.whole:
            at = self.block(number)
            if at not in self._near:
                self._near[at] = self._paragraph(at)
            return self._near[at]
        found = [section.text]
        while section.above >= 0:
            section = self._sections[section.above]
            found.append(section.text)
        return tuple(found)

    def heading(self, number: int) -> str:
        """The headings a line stands under, the nearest first."""
        section = self._sections[self._at(number)]
        found = [section.heading]
        while section.above >= 0:
            section = self._sections[section.above]
            found.append(section.heading)
        return "\n".join(found)

    def paragraph(self, number: int) -> str:
        """The lines without a gap that a line stands in."""
        return self._blocks[self.block(number)]

    def _at(self, number: int) -> int:
        return bisect_right(self._starts, number) - 1

    def block(self, number: int) -> int:
        """Which of the card's paragraphs a line stands in."""
        return max(0, bisect_right(self._block_starts, number) - 1)

    def _paragraph(self, at: int) -> tuple[str, ...]:
        found = [self._blocks[at]]
        table = "|" in found[0] or "<t" in found[0]
        if at:
            before = self._blocks[at - 1]
            if (table and "\n" not in before) or before.rstrip().endswith(":"):
                found.append(before)
        if table and at + 1 < len(self._blocks) and "\n" not in self._blocks[at + 1]:
            found.append(self._blocks[at + 1])
        return tuple(found)


def _outline(lines: Sequence[Line]) -> list[_Section]:
    sections = [_Section(0, 0, whole=False)]
    open_: list[int] = []
    for at, (number, line) in enumerate(lines):
        level = _level(line, lines[at + 1] if at + 1 < len(lines) else None, number)
        if not level:
            continue
        while open_ and sections[open_[-1]].level >= level:
            open_.pop()
        title = len(sections) == 1 and level == 1 and not EVALUATION.search(line)
        above = open_[-1] if open_ else -1
        sections.append(_Section(number, level, line, above, whole=not title))
        if not title:
            open_.append(len(sections) - 1)
    return sections


def _level(line: str, after: Line | None, number: int) -> int:
    """1 to 6, 7 for a line in bold; 0 for what is no heading."""
    heading = _HEADING.match(line)
    if heading:
        return len(heading[1]) if heading[1] else int(heading[2])
    if line.strip() and "|" not in line and after and after[0] == number + 1:
        under = _UNDER.fullmatch(after[1])
        if under:
            return 1 if under[1][0] == "=" else 2
    return 7 if _BOLD.fullmatch(line) else 0


def _blocks(lines: Sequence[Line], headings: set[int]) -> tuple[list[str], list[int]]:
    """Paragraphs and tables, and the lines they begin on; a heading is one of its own."""
    blocks: list[list[str]] = [[]]
    starts = [0]
    fresh = True
    for number, line in lines:
        if not line.strip():
            fresh = True
            continue
        if fresh or number in headings:
            blocks.append([])
            starts.append(number)
        blocks[-1].append(line)
        fresh = number in headings
    return ["\n".join(block) for block in blocks], starts
