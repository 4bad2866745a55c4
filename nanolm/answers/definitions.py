"""Does a text define a function? Told from Python's own syntax tree (ruling 46)."""

import ast
import re
import threading
import unicodedata
import warnings

# Texts are parsed up to this many characters in all; beyond it only lines that look like the header
# are read, so that a reply of a megabyte is still judged in well under a second.
_PARSED_AT_MOST = 200_000
_HEADERS_AT_MOST = 1_000
# What a parse costs beside its text, in characters' worth of time.
_PARSE_COST = 100


class Definitions:
    """Does a text define the function? Keeps count of how much was parsed (ruling 46)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._left = _PARSED_AT_MOST
        self._headers_left = _HEADERS_AT_MOST
        self._header = re.compile(rf"^def {re.escape(name)}\(.*$", re.MULTILINE)

    def found_in(self, text: str) -> bool:
        """Whether the text defines the name at its top level, or at least begins to."""
        if not self.name or not self._is_named_in(text):
            return False
        tree = self._tree(text)
        if tree is not None:
            return any(_binds(statement, self.name) for statement in tree.body)
        return any(self._is_header(match.group()) for match in self._header.finditer(text))

    def parses(self, text: str) -> bool:
        """Whether the text is Python, blank text aside. False when too much was parsed already."""
        return not text.isspace() and text != "" and self._tree(text) is not None

    def may_parse(self, length: int) -> bool:
        """Whether a text of so many characters would still be parsed."""
        return length + _PARSE_COST <= self._left

    def _tree(self, text: str) -> ast.Module | None:
        if not self.may_parse(len(text)):
            return None
        self._left -= len(text) + _PARSE_COST
        return parse(text)

    def _is_named_in(self, text: str) -> bool:
        """Python reads `ｆ` as `f` in a name."""
        return self.name in text or (not text.isascii() and self.name in unicodedata.normalize("NFKC", text))

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
