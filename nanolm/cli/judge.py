"""`nanolm judge`."""

import click

from nanolm.errors import UsageError


@click.command()
def command() -> None:
    """Not built yet."""
    raise UsageError("nanolm judge is not built yet")
