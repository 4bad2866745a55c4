"""`nanolm review`."""

import click

from nanolm.errors import UsageError


@click.command()
def command() -> None:
    """Not built yet."""
    raise UsageError("nanolm review is not built yet")
