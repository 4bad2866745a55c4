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
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        table.add_column(
            name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if sys.stdout.isatty():
        console = Console(width=shutil.get_terminal_size().columns, highlight=False)
        if Measurement.get(console, console.options, table).maximum >= console.width:
            table.padding = (0, 1, 0, 0)
        console.print(table)
        return
    # Into a file or a pipe: as wide as it needs to be, lines are never folded and end with their last sign.
    console = Console(width=240, highlight=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        click.echo(line.rstrip())


def print_line(text: str) -> None:
    """A line of plain text; on a terminal it is folded between words."""
    import shutil
    import sys
    import textwrap

    if sys.stdout.isatty():
        width = max(20, shutil.get_terminal_size().columns)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    click.echo(text)
