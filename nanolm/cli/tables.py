"""Printing of tables, lines and JSON for the verbs."""

from collections.abc import Sequence
from typing import Any

import click


def print_json(value: Any) -> None:
    """A struct or plain value as indented JSON; paths as text."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode())


def print_table(title: str | None, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; a heading that starts with `>` makes a right-aligned column. Cells are plain text."""
    import shutil
    import sys

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        table.add_column(
            name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # Into a file or a pipe: as wide as it needs to be, lines are never folded.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 240
    Console(width=width, highlight=False).print(table)


def print_line(text: str) -> None:
    """A line of plain text."""
    click.echo(text)
