"""A model card's running text: what a reader of the page sees, without code, comments and header."""

import re
from collections.abc import Sequence

_LINE_END = re.compile(r"\r\n|\n|\r")
_RULE = re.compile(r"\ufeff?---[ \t]*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_LIST = re.compile(r"[ \t>]*([-*+]|\d+[.)])[ \t]")
_HIDES = re.compile(r"(?<!`)<(!--|(?:pre|script|style)\b)", re.IGNORECASE)
"""What begins a comment, or code in HTML; but not where code in a line shows it."""
_ENDS = {
    "!--": re.compile("-->"),
    **{tag: re.compile(rf"</{tag}\b[^>]*>?", re.IGNORECASE) for tag in ("pre", "script", "style")},
}

Line = tuple[int, str]
"""Its number in the card, from 1, and what of it is seen."""


def running_lines(markdown: str, *, code: bool = False) -> list[Line]:
    """A card's running text, in time linear in its length: no code blocks, no header, no comments; code in
    a line stays.

    Code is fenced, at any depth of a list or quote (a fence that is never closed runs to the end), indented
    by four spaces after an empty line outside of lists, or HTML's `<pre>`, `<script>` and `<style>`.
    `code`: with what is fenced or indented, as the page shows it, too.
    """
    lines = _LINE_END.split(markdown)
    kept: list[Line] = []
    fence, in_list, after_gap = "", False, True
    hidden, start = _Hidden(lines), _header(lines)
    for number, whole in enumerate(lines[start:], start + 1):
        mark = None if hidden.until else _FENCE.match(whole)
        if fence:
            closes = mark and mark[1].startswith(fence) and not whole.strip(" \t>").strip(fence[0])
            fence = "" if closes else fence
            if code and not closes:
                kept.append((number, whole))
            continue
        if mark and not (mark[1][0] == "`" and "`" in whole[mark.end() :]):  # else it is code in a line
            fence = mark[1]
            continue
        line = hidden.seen(number, whole)
        if whole.strip() and not line.strip():  # all of it is hidden
            in_list = in_list and whole.startswith((" ", "\t"))
            continue
        indented = after_gap and not in_list and line.startswith(("    ", "\t")) and line.strip()
        if code or not indented:
            kept.append((number, line))
        if not indented:
            after_gap = not line.strip()
            if line.strip() and not line.startswith((" ", "\t")):
                in_list = _LIST.match(line) is not None
    return kept


def running_text(markdown: str) -> str:
    """`running_lines` as one text."""
    return "\n".join(line for _, line in running_lines(markdown))


def header(markdown: str) -> list[Line]:
    """The lines of the YAML at the top, without its rules; none when there is none."""
    lines = _LINE_END.split(markdown)
    return list(enumerate(lines[1 : max(1, _header(lines) - 1)], 2))


def _header(lines: Sequence[str]) -> int:
    """How many lines the YAML at the top takes; 0 for none, and for one that never ends."""
    if not _RULE.fullmatch(lines[0]):
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if _RULE.fullmatch(line)), 0)


class _Hidden:
    """Comments and HTML's code, from line to line. One that is never closed hides the rest of the card where
    it begins a line, as browsers have it; elsewhere it is text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.until = ""
        """The key in `_ENDS` of what ends it; empty outside of one."""
        self._last = dict.fromkeys(_ENDS, (0, 0))  # where the last end of each kind stands
        for number, line in enumerate(lines, 1):
            if "-->" in line or "</" in line:
                for kind, ends in _ENDS.items():
                    for found in ends.finditer(line):
                        self._last[kind] = (number, found.start())

    def seen(self, number: int, line: str) -> str:
        """What of this line is seen."""
        parts: list[str] = []
        at, indent = 0, len(line) - len(line.lstrip())
        while True:
            if self.until:
                ends = _ENDS[self.until].search(line, at)
                if ends is None:
                    return "".join(parts)
                at, self.until = ends.end(), ""
            begins = _HIDES.search(line, at)
            if begins is None:
                return "".join([*parts, line[at:]])
            kind = begins[1].lower()
            if self._last[kind] >= (number, begins.end()) or begins.start() <= indent:
                parts.append(line[at : begins.start()])
                self.until = kind
            else:
                parts.append(line[at : begins.end()])
            at = begins.end()
