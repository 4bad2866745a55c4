"""`nanolm check`."""

import click

from nanolm.errors import UsageError


@click.command()
def command() -> None:
    """Not built yet."""
    raise UsageError("nanolm check is not built yet")
