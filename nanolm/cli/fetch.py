"""`nanolm fetch`."""

import click

from nanolm.errors import UsageError


@click.command()
def command() -> None:
    """Not built yet."""
    raise UsageError("nanolm fetch is not built yet")
