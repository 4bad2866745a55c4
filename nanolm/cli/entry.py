"""`nanolm entry`."""

import click

from nanolm.errors import UsageError


@click.command()
def command() -> None:
    """Not built yet."""
    raise UsageError("nanolm entry is not built yet")
