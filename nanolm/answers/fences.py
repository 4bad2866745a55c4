"""The fenced blocks of a reply (rulings 44, 45, 81 and 98)."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from nanolm.answers import markup
from nanolm.answers.definitions import Definitions

# Ruling 44: three or more backticks or tildes, any info string. Zero-width marks before it are no text.
_FENCE = re.compile(rf"[{re.escape(markup.INVISIBLE)}]*+([ \t]*+)(`{{3,}}+|~{{3,}}+)(.*)", re.DOTALL)
# Ruling 98: an opener behind words, `Here is the code: ```python`.
_OPENER_BEHIND_WORDS = re.compile(
    r"(`{3,}+|~{3,}+)[ ]?((?:python|py)[23]?(?:\.\d+)?)?[ \t]*+\Z", re.IGNORECASE
)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\n|\r|\Z)")
# A language tag that may stand before the code in a fence of one line; nothing else is cut off.
_LANGUAGE = re.compile(r"(?:python|py)[23]?(?:\.\d+)?[ \t]+", re.IGNORECASE)
_MARKS = 12
"""Fence marks that are looked for at the end of a line, at most."""
_TRIES = 50
"""Fences behind words that are looked at in one reply, at most."""
# A block that calls itself prose defines nothing, even where its words happen to parse: "def f(a, b):
# explained in words" is a valid comparison. It is still a block (rule 2).
_PROSE = frozenset({"text", "txt", "plain", "plaintext"})


class Block(NamedTuple):
    """A fenced block: its text, and where that stands in the reply."""

    text: str
    start: int
    end: int
    prose: bool = False
    """Its info string says that it is text."""


class _Line(NamedTuple):
    text: str
    """Without its line end."""
    start: int


def _lines(reply: str) -> Iterator[_Line]:
    position = 0
    while position < len(reply):
        match = _LINE.match(reply, position)
        assert match is not None
        yield _Line(match.group().rstrip("\r\n"), position)
        position = match.end()


def _one_line(line: _Line, indent: str, marks: str, rest: str) -> Block | None:
    """```` ```python def f(): return 1``` ````: a fence that opens and closes in one line."""
    body = rest.rstrip()
    if not body.endswith(marks) or marks[0] in body[: -len(marks)] or not body[: -len(marks)].strip():
        return None
    body = body[: -len(marks)]
    tag = _LANGUAGE.match(body)
    start = line.start + len(indent) + len(marks)
    cut = tag.end() if tag else 0
    return Block(body[cut:].strip(), start + cut, start + len(body))


class Scan:
    """The fenced blocks of a reply, line by line, and the reply without its stray closers."""

    def __init__(self, reply: str, definitions: Definitions) -> None:
        self.reply = reply
        self.definitions = definitions
        self.lines = list(_lines(reply))
        self.blocks: list[Block] = []
        self.dropped: set[int] = set()
        self._tries = _TRIES
        self._fences = [_FENCE.match(line.text) for line in self.lines]
        # The lines that hold nothing but a fence's marks.
        self._bare = [index for index, fence in enumerate(self._fences) if fence and not fence[3].strip()]
        self._read()

    def _read(self) -> None:
        index = prose = 0
        while index < len(self.lines):
            fence = self._fences[index]
            if fence is None:
                after = self._behind_words(index)
                if after is not None:
                    prose = after
                index = after or index + 1
                continue
            indent, marks, rest = fence.groups()
            if marks[0] in rest:  # inline code, or a fence of one line
                block = _one_line(self.lines[index], indent, marks, rest)
                if block is not None:
                    self.blocks.append(block)
                    prose = index + 1
                index += 1
                continue
            if not rest.strip() and self._is_stray(prose, index):
                self.dropped.add(index)
                index += 1
                prose = index
                continue
            index = prose = self._block(index, indent, marks, rest)

    def _is_stray(self, prose: int, index: int) -> bool:
        """Ruling 81: the text before defines the function, the text after (to a fence) does not."""
        if not self.definitions.found_in(self._text(prose, index)):
            return False
        after = index + 1
        while after < len(self.lines) and self._fences[after] is None:
            after += 1
        return not self.definitions.found_in(self._text(index + 1, after))

    def _block(self, opener: int, indent: str, marks: str, info: str) -> int:
        """Adds the block that this line opens; gives the index of the line after it (ruling 44)."""
        index = self._closer(opener, indent, marks)
        text = self._inside(opener, index, indent)
        soft = self._soft_closer(opener, index, marks)
        end = self._end(opener, index)
        if soft is not None and self.definitions.may_parse(len(text)) and not self.definitions.parses(text):
            line = self.lines[soft]
            glued = line.text.rstrip().removesuffix(marks) if not line.text.lstrip().startswith(marks) else ""
            inside = self._inside(opener, soft, indent)
            if glued:
                inside += "\n" * (soft > opener + 1) + _without_indent(glued, indent)
            if self.definitions.parses(inside):
                text, index = inside, soft
                end = line.start + len(glued) if glued else self._end(opener, soft)
        prose = info.split()[:1]
        self.blocks.append(
            Block(text, self._start(opener + 1), end, bool(prose) and prose[0].casefold() in _PROSE)
        )
        return index + 1

    def _closer(self, opener: int, indent: str, marks: str) -> int:
        """The line that closes a block; ruling 45: the end of the reply when none does."""
        for at in range(bisect_right(self._bare, opener), len(self._bare)):
            fence = self._fences[self._bare[at]]
            if (
                fence is not None
                and fence[2][0] == marks[0]
                and len(fence[2]) >= len(marks)
                and len(fence[1].expandtabs(4)) <= len(indent.expandtabs(4))
            ):
                return self._bare[at]
        return len(self.lines)

    def _soft_closer(self, opener: int, closer: int, marks: str) -> int | None:
        """The first line that would close a block if there were no rule of form (ruling 98): the marks
        stand at the end of its code, or text follows them."""
        for index in range(opener + 1, closer):
            text = self.lines[index].text.strip()
            if text.startswith(marks):
                behind = text.lstrip(marks[0]).split()
                if len(behind) > 1 and not _LANGUAGE.match(behind[0] + " "):
                    return index
            elif text.endswith(marks) and marks[0] not in text[: -len(marks)]:
                return index
        return None

    def _behind_words(self, index: int) -> int | None:
        """Adds the block that a fence behind words opens, if what it holds is Python (ruling 98)."""
        text = self.lines[index].text
        found = _OPENER_BEHIND_WORDS.search(text, max(0, len(text) - _MARKS - 20))
        if found is None or found[1][0] * 3 in text[: found.start()]:
            return None
        words = text[: found.start()].strip()
        if not words or not (found[2] or words.endswith((":", "："))) or self._tries == 0:
            return None
        self._tries -= 1  # each looks through the rest of the reply
        closer = self._closer(index, "", found[1])
        length = self._start(closer) - self._start(index)
        if closer == len(self.lines) or not self.definitions.may_parse(length):
            return None
        if not self.definitions.parses(self._inside(index, closer, "")):
            return None
        return self._block(index, "", found[1], found[2] or "")

    def _inside(self, opener: int, closer: int, indent: str) -> str:
        """The lines of a block without the opener's indentation."""
        return "\n".join(_without_indent(line.text, indent) for line in self.lines[opener + 1 : closer])

    def _end(self, opener: int, closer: int) -> int:
        """Where the text of a block ends."""
        if closer == opener + 1:
            return self._start(closer)
        return self.lines[closer - 1].start + len(self.lines[closer - 1].text)

    def _start(self, index: int) -> int:
        return self.lines[index].start if index < len(self.lines) else len(self.reply)

    def _text(self, first: int, last: int) -> str:
        return self.reply[self._start(first) : self._start(last)]

    def rest(self) -> tuple[str, tuple[int, int]]:
        """The whole reply without its stray closers, and where it stands."""
        if not self.dropped:
            return self.reply, (0, len(self.reply))
        kept = [index for index in range(len(self.lines)) if index not in self.dropped]
        text = "".join(self._text(index, index + 1) for index in kept)
        return text, (self._start(kept[0]), self._start(kept[-1] + 1))


def _without_indent(text: str, indent: str) -> str:
    """The line without the opener's indentation, as far as it has it (ruling 44)."""
    kept = 0
    while kept < len(indent) and kept < len(text) and text[kept] == indent[kept]:
        kept += 1
    return text[kept:]
