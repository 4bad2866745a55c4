"""`nanolm entry`: who can answer, what a model's artefacts say, and entry files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nanolm.editions.edition import Edition

_EDITION = click.option(
    "--edition", "-e", default="nano-lm-v1", show_default=True, help="Name of an edition, or its folder."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_REFERENCE = "an entry's name or TOML, a model folder, a .gguf file, or hub/repo@revision"


def _load(edition: str) -> "Edition":
    from nanolm.editions import load

    return load(edition)


def _json(value: Any) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


@click.group()
def command() -> None:
    """List, show, audit, add and lock entries.

    An entry is a model at a pinned revision in one mode. Its settings come from the model's own
    artefacts; see docs/entries.md.
    """


@command.command("list")
@_EDITION
@_JSON
def list_(edition: str, as_json: bool) -> None:
    """The entries of an edition, and what is open about each."""
    from nanolm.entries import names, resolve
    from nanolm.entries.tables import print_list

    chosen = _load(edition)
    entries = [resolve(name, chosen) for name in names(chosen)]
    _json(entries) if as_json else print_list(chosen, entries)


@command.command(
    help=f"One entry with all its settings and where each came from.\n\nREFERENCE is {_REFERENCE}."
)
@click.argument("reference")
@_EDITION
@_JSON
def show(reference: str, edition: str, as_json: bool) -> None:
    from nanolm.entries import resolve
    from nanolm.entries.tables import print_entry

    entry = resolve(reference, _load(edition))
    _json(entry) if as_json else print_entry(entry)


@command.command()
@click.argument("reference")
@click.option(
    "--compare-bytes",
    is_flag=True,
    help="On the hub, also read and compare tied embeddings stored twice.",
)
@_EDITION
@_JSON
def audit(reference: str, compare_bytes: bool, edition: str, as_json: bool) -> None:
    """Count a model's parameters and check whether it may be an entry (protocol section 2).

    REFERENCE is a model folder or hub/repo@revision, or an entry's name. On the hub only headers are read.

    Exit status: 0 when the model is eligible or a person has to look, 1 when it is not eligible.
    """
    from nanolm.entries.inspect import inspect
    from nanolm.entries.tables import print_inspection

    chosen = _load(edition)
    found = inspect(reference, chosen, compare_bytes=compare_bytes)
    if as_json:
        _json({"audit": found.audit, "rules": found.eligibility.rules, "verdict": found.eligibility.verdict})
    else:
        print_inspection(found, chosen.parameter_limit)
    if found.eligibility.verdict == "not eligible":
        raise SystemExit(1)


@command.command()
@click.argument("reference")
@click.option(
    *("--to", "-o", "folder"),
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    show_default="this folder",
    help="Folder for the file.",
)
@click.option(
    "--supersedes",
    metavar="NAME",
    multiple=True,
    help="The entry of an older revision; it stays, marked. Twice for a hybrid.",
)
@_EDITION
def add(reference: str, folder: Path, supersedes: tuple[str, ...], edition: str) -> None:
    """Write the entry file of a model, with all that can be derived, and say why.

    REFERENCE is a model folder, a .gguf file, or hub/repo@revision. A hybrid model gives two files. What
    only a person can tell, whether the card recommends values, stays an open question in the file.
    """
    from nanolm.entries.add import add as write
    from nanolm.entries.add import next_step, older
    from nanolm.entries.tables import print_entry

    chosen = _load(edition)
    for path, entry in write(reference, chosen, folder, supersedes=supersedes):
        print_entry(entry)
        click.echo(f"wrote {path}\n{next_step(path, entry)}")
        for name in older(entry, chosen):
            click.echo(f"note: {name} is an older revision of it; --supersedes={name} marks it so")


@command.command()
@click.argument("name")
@click.option("--revision", help="The commit, for an entry whose revision is open.")
@click.option("--card-read", is_flag=True, help="You read the card: it recommends no values for this mode.")
@click.option("--compare-bytes", is_flag=True, help="Read tied embeddings that are stored twice, to compare.")
@_EDITION
@_JSON
def lock(
    name: str, revision: str | None, card_read: bool, compare_bytes: bool, edition: str, as_json: bool
) -> None:
    """Check an entry file against its model on the hub, and close its open questions.

    What the hub confirms is written into the file; what differs stays open, and the entry can't be
    published.

    Exit status: 0 when nothing is open any more, 1 otherwise.
    """
    from nanolm.entries.inspect import lock_file
    from nanolm.entries.tables import print_lock

    path, locked = lock_file(
        name, _load(edition), revision=revision, card_read=card_read, compare_bytes=compare_bytes
    )
    _json(locked) if as_json else print_lock(path, locked)
    if not locked.complete:
        raise SystemExit(1)
