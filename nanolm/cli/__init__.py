"""The `nanolm` command. Thin: every verb calls one function of a room.

Each verb lives in a module of its own, imported only when it is called, so that
`nanolm --help` and every verb start in a fraction of a second.
"""

import importlib
import sys

import click

from nanolm import __version__
from nanolm.errors import NanoLMError

# verb -> (module of nanolm.cli, the line `nanolm --help` shows)
VERBS: dict[str, tuple[str, str]] = {
    "fetch": ("fetch", "Get and verify an edition's sources, and build its item cache."),
    "edition": ("edition", "List, show, lock and compare editions."),
    "entry": ("entry", "List, show, audit and add entries (models)."),
    "card": ("card", "Check what a model card states against the model."),
    "evaluators": ("evaluators", "Install, prepare and check the official code evaluators."),
    "judge": ("judge", "Judge replies read from standard input, one JSON object a line."),
    "check": ("check", "The sanity gate: oracle 100, constant 0, random near its expectation."),
    "perplexity": ("perplexity", "Perplexity and bits per byte of a model on a whole text."),
    "rescore": ("rescore", "Judge and score recorded outputs again; never generates."),
    "compare": ("compare", "Paired comparison of two or more entries on the same items."),
    "groups": ("groups", "Raw accuracy by group: the sets of BLiMP, the subjects of MMLU-CF."),
    "board": ("board", "Build the board and item viewer from reports."),
    "review": ("review", "Draw a seeded sample of failures for reading by hand."),
    "export": ("export", "Write outputs and verdicts as Parquet, with a data card."),
}


class Verbs(click.Group):
    """A group that imports a verb's module when it is called, and names close matches."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"nanolm.cli.{VERBS[cmd_name][0]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from nanolm.errors import unknown

            raise click.UsageError(str(unknown("command", args[0], VERBS)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nanolm")
def cli() -> None:
    """The Nano LM Index as a test suite.

    Runs themselves go through pytest:

        pytest tests_benchmarks --entry=NAME
    """


def main() -> None:
    """Entry point: errors meant for the user are one line on standard error, exit status 1.

    So are files and folders that the system refuses: what it says of them is all there is to say.
    """
    try:
        cli(standalone_mode=True)
    except NanoLMError as error:
        click.echo(f"nanolm: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(
            f"nanolm: {error.filename}: {error.strerror}; check the path and who may write there", err=True
        )
        sys.exit(1)
