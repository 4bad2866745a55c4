"""Reading a Python program from a reply (protocol §6 code, rulings 44 to 48 and 81).

The rules in order; the first that matches wins:

1. `defining-block`: the first fenced block that defines the required function.
2. `longest-block`: else the longest fenced block, the first on a tie; `empty-block` when it is blank.
3. `whole-reply`: else the whole reply; `empty-reply` when it is blank.

Beside the rulings: a fence may open and close in one line; a block whose info string says `text` or the
like defines nothing, but can be the longest. Only statements at the module's top level define.

Nothing in the program is edited: no dedent beyond the fence's own indentation, no removal of tests,
main guards or prints, no joining of blocks (ruling 48). Running it is the sandbox's work (§7).
"""

import ast
import keyword
import re
import threading
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from nanolm.answers import refuse
from nanolm.schema import Answer, Item, Verdict

RULES = ("defining-block", "longest-block", "empty-block", "whole-reply", "empty-reply")

# Ruling 44: three or more backticks or tildes, any info string.
_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)(.*)", re.DOTALL)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\n|\r|\Z)")
# A language tag that may stand before the code in a fence of one line; nothing else is cut off.
_LANGUAGE = re.compile(r"(?:python|py)[23]?(?:\.\d+)?[ \t]+", re.IGNORECASE)
# Blocks are parsed up to this many characters in all; beyond it only lines that look like the header
# are read, so that a reply of a megabyte is still judged in well under a second.
_PARSED_AT_MOST = 200_000
_HEADERS_AT_MOST = 1_000
# What a parse costs beside its text, in characters' worth of time.
_PARSE_COST = 100


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


class _Definitions:
    """Does a text define the function? Keeps count of how much was parsed (ruling 46)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._left = _PARSED_AT_MOST
        self._headers_left = _HEADERS_AT_MOST
        self._header = re.compile(rf"^def {re.escape(name)}\(.*$", re.MULTILINE)

    def found_in(self, text: str) -> bool:
        if not self.name or self.name not in text:
            return False
        if len(text) + _PARSE_COST <= self._left:
            self._left -= len(text) + _PARSE_COST
            tree = parse(text)
            if tree is not None:
                return any(_binds(statement, self.name) for statement in tree.body)
        return any(self._is_header(match.group()) for match in self._header.finditer(text))

    def _is_header(self, line: str) -> bool:
        if self._headers_left <= 0 or len(line) > 5_000:
            return False
        self._headers_left -= 1
        return parse(line + "\n    pass") is not None


_parsing = threading.Lock()


def parse(text: str) -> ast.Module | None:
    """The module's syntax tree, or None when it is no Python. Warnings about the code are not ours."""
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return None


def _binds(statement: ast.stmt, name: str) -> bool:
    """A top-level def, async def or assignment of the name (ruling 46)."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.name == name
    if isinstance(statement, ast.Assign):
        return any(_targets(target, name) for target in statement.targets)
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None and _targets(statement.target, name)
    return False


def _targets(target: ast.expr, name: str) -> bool:
    if isinstance(target, ast.Name):
        return target.id == name
    if isinstance(target, ast.Tuple | ast.List):
        return any(_targets(element, name) for element in target.elts)
    if isinstance(target, ast.Starred):
        return _targets(target.value, name)
    return False


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


class _Scan:
    """The fenced blocks of a reply, line by line, and the reply without its stray closers."""

    def __init__(self, reply: str, definitions: _Definitions) -> None:
        self.reply = reply
        self.definitions = definitions
        self.lines = list(_lines(reply))
        self.blocks: list[Block] = []
        self.dropped: set[int] = set()
        self._read()

    def _read(self) -> None:
        index = prose = 0
        while index < len(self.lines):
            fence = _FENCE.match(self.lines[index].text)
            if fence is None:
                index += 1
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
        while after < len(self.lines) and _FENCE.match(self.lines[after].text) is None:
            after += 1
        return not self.definitions.found_in(self._text(index + 1, after))

    def _block(self, opener: int, indent: str, marks: str, info: str) -> int:
        """Adds the block that this line opens; gives the index of the line after it (ruling 44)."""
        index = opener + 1
        while index < len(self.lines):
            fence = _FENCE.match(self.lines[index].text)
            if (
                fence is not None
                and fence[2][0] == marks[0]
                and len(fence[2]) >= len(marks)
                and not fence[3].strip()
                and len(fence[1].expandtabs(4)) <= len(indent.expandtabs(4))
            ):
                break
            index += 1
        # Ruling 45: a block that is never closed runs to the end of the reply.
        inside = self.lines[opener + 1 : index]
        text = "\n".join(_without_indent(line.text, indent) for line in inside)
        start = self._start(opener + 1)
        end = inside[-1].start + len(inside[-1].text) if inside else start
        self.blocks.append(Block(text, start, end, info.strip().casefold() in _PROSE))
        return index + 1

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


def extract(reply: str, item: Item) -> Answer:
    """The program a reply holds, by the rules above.

    `reply` is free of reasoning; `item.function` is the name that must be defined. Never raises.
    """
    definitions = _Definitions(item.function or "")
    scan = _Scan(reply, definitions)
    for block in scan.blocks:
        if not block.prose and definitions.found_in(block.text):
            return Answer(block.text, "defining-block", (block.start, block.end))
    if scan.blocks:
        longest = max(scan.blocks, key=lambda block: len(block.text))  # the first on a tie (ruling 47)
        span = (longest.start, longest.end)
        if not longest.text.strip():
            return Answer(None, "empty-block", span, "unparseable")
        return Answer(longest.text, "longest-block", span)
    text, span = scan.rest()
    if not text.strip():
        return Answer(None, "empty-reply", None, "unparseable")
    return Answer(text, "whole-reply", span)


def program(answer: Answer, item: Item) -> str:
    """What is run: the task's own preamble, then the extracted code (§7)."""
    preamble = item.preamble
    if preamble and not preamble.endswith("\n"):
        preamble += "\n"
    return preamble + str(answer.value)


def check(item: Item) -> None:
    """Raises `ItemError` for an item whose function name is no identifier, or that no evaluator knows."""
    name = item.function
    if name is None or not name.isidentifier() or keyword.iskeyword(name):
        raise refuse(item, f"function name {name!r}", "a Python identifier")
    if not item.dataset or not item.task:
        raise refuse(item, f"data set {item.dataset!r}, task {item.task!r}", "the evaluator's names of both")


def verdict(answer: Answer, status: str, detail: str = "") -> Verdict:
    """The verdict on a program by its evaluator's status: `pass`, `fail`, `timeout` or `error` (§7).

    `error` is a program that brought its checker down: it did not pass, so it is `wrong`, and `detail`
    names the status. Where the sandbox itself failed, see `not_run`.
    """
    return Verdict(
        correct=status == "pass",
        reason=None if status == "pass" else "wrong",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=detail,
    )


NOT_RUN = "not run: "
"""How the detail of a verdict begins whose program was not run."""


def judge(answer: Answer, item: Item) -> Verdict:
    """Without an evaluator only a reply that holds no program can be judged; the rest is not run."""
    if answer.reason is not None:
        return Verdict(correct=False, reason=answer.reason, rule=answer.rule, span=answer.span)
    return not_run(answer, "no evaluator was given; run: nanolm evaluators install")


def not_run(answer: Answer, why: str) -> Verdict:
    """No verdict on the program, and so no measurement (ruling 10: `error`, like an engine that failed)."""
    return Verdict(
        correct=False,
        reason="error",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=NOT_RUN + why,
    )
