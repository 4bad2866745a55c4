"""`nanolm perplexity`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from nanolm.cli import tables
from nanolm.errors import UsageError, unknown

_ENGINES = ("auto", "transformers", "vllm")
"""Those that give log-likelihoods of a text."""


@click.command()
@click.argument("reference", metavar="REF")
@click.option("--edition", "-e", "edition_name", default="slm-specs", show_default=True)
@click.option("--corpus", help="A corpus of the edition; its first when nothing is said.")
@click.option(
    "--text", "file", type=click.Path(path_type=Path), help="Any UTF-8 text file, taken byte by byte."
)
@click.option(
    "--context",
    type=int,
    help="Tokens a window reads at most: 1 to the model's context.  [default: 2048, or the model's context "
    "when that is shorter]",
)
@click.option(
    "--stride", type=int, help="Tokens each further window scores: 1 to --context.  [default: --context]"
)
@click.option(
    "--limit-bytes",
    type=int,
    help="Only so many bytes from the beginning of the text, 1 at least; the result is marked partial.",
)
@click.option(
    "--engine", "engine_name", default="auto", show_default=True, help="auto, transformers or vllm."
)
@click.option("--reports-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    reference: str,
    edition_name: str,
    corpus: str | None,
    file: Path | None,
    context: int | None,
    stride: int | None,
    limit_bytes: int | None,
    engine_name: str,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Perplexity and bits per byte of a model on a whole text.

    REF is a model folder, hub/repo@revision or an entry, base or chat; the text is read as it is. The
    result is written to reports/<edition>/<entry>/perplexity-<text>.json. Windows that were measured stay
    beside it, and the same command goes on where it was cut short.
    """
    from nanolm import editions, entries
    from nanolm.engines import check_installed, open_engine
    from nanolm.entries import artefacts, tokens
    from nanolm.entries.pairs import pair_encoder
    from nanolm.run import perplexity

    edition = editions.load(edition_name)
    _check(context, stride, limit_bytes, engine_name)
    name, whole = _text(edition, corpus, file)
    text, partial = _limited(whole, limit_bytes)
    entry = entries.resolve(reference, edition)
    width = min(entry.context, perplexity.DEFAULT_CONTEXT) if context is None else context
    stride = width if stride is None else stride
    perplexity.check_windows(entry, width, stride)
    check_installed(entry, edition, name=engine_name)
    encoder = pair_encoder(entry)
    tokenizer = tokens.load(artefacts.of(entry))
    read = perplexity.read_text(name, text, tokenizer, encoder.ids(text), partial)
    folder = reports_dir / edition.name / entry.name
    engine = open_engine(entry, edition, name=engine_name, folder=folder, items_of=lambda slug: ())
    try:
        under = perplexity.conditions(read, entry, engine, encoder.opening, width, stride)
        suffix = "-partial" if partial else ""
        log = folder / f"perplexity-{name}{suffix}.windows.jsonl"
        start = time.monotonic()
        with _bar(not as_json) as progress:
            sums, resumed = perplexity.measure(read, under, engine, log, progress)
        opening = "" if under.opening is None else str(tokenizer.convert_ids_to_tokens(under.opening))
        found = perplexity.result(
            read,
            under,
            sums,
            resumed=resumed,
            entry=entry,
            engine=engine,
            edition=edition.name,
            opening=opening,
            seconds=time.monotonic() - start,
        )
    except KeyboardInterrupt:
        click.echo("Stopped: measured windows are kept, the same command goes on.", err=True)
        raise
    finally:
        engine.close()
    path = folder / f"perplexity-{name}{suffix}.json"
    perplexity.write(path, found)
    if as_json:
        tables.print_json(found)
    else:
        _print(found, path)


def _check(context: int | None, stride: int | None, limit: int | None, engine: str) -> None:
    """What no model could be measured with is refused before any is looked at, with `UsageError`."""
    from nanolm.run.perplexity import check_stride

    for option, value, most in (
        ("--context", context, " to the model's context"),
        ("--stride", stride, " to --context"),
        ("--limit-bytes", limit, " or more"),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{option}={value}: expected 1{most}")
    if context is not None and stride is not None:
        check_stride(context, stride)
    if engine not in _ENGINES:
        raise unknown("engine for a perplexity", engine, _ENGINES)


def _text(edition: Any, corpus: str | None, file: Path | None) -> tuple[str, str]:
    """Name and text. `UsageError` for a file that can't be read or is no UTF-8."""
    from nanolm.editions.corpus import corpus_text
    from nanolm.entries.derive import slug

    if file is not None:
        if corpus is not None:
            raise UsageError("--text and --corpus name two texts; expected one of them")
        try:
            text = file.read_bytes().decode("utf-8")
        except OSError as error:
            raise UsageError(f"{file} can't be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{file} is not UTF-8: {error}") from None
        if not text:
            raise UsageError(f"{file} is empty; expected some text")
        name = slug(file.stem)  # never the name of a corpus, nor of another text's part
        return f"{name}-text" if name in edition.corpora or name.endswith("-partial") else name, text
    if corpus is None:
        if not edition.corpora:
            raise UsageError(f"{edition.name} has no corpus; name a text file with --text")
        corpus = next(iter(edition.corpora))
    return corpus, corpus_text(edition, corpus)


def _limited(text: str, limit: int | None) -> tuple[str, bool]:
    """The first so many bytes, whole characters only."""
    if limit is None:
        return text, False
    raw = text.encode("utf-8")
    part = raw[:limit].decode("utf-8", "ignore")
    if not part:
        needed = len(text[0].encode("utf-8"))
        raise UsageError(f"--limit-bytes={limit}: the text's first character has {needed} bytes")
    return part, limit < len(raw)


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar where somebody watches; else a line every half minute, for a log file."""
    if sys.stderr.isatty() and shown:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} tokens"),
            BarColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=1)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    said = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said >= 30:
            said = time.monotonic()
            click.echo(f"{done:,} of {total:,} tokens", err=True)

    yield tell


def _print(found: Any, path: Path) -> None:
    part = ", PARTIAL: only the beginning of the text" if found.partial else ""
    before = f"{found.opening!r} before the text" if found.opening else "the first token is not scored"
    lossless = (
        "lossless: the tokens give the text back" if found.lossless else f"NOT lossless: {found.round_trip}"
    )
    rows = [
        ("text", f"{found.text}, {found.bytes:,} bytes, {found.tokens:,} tokens{part}"),
        ("token perplexity", f"{found.token_perplexity:.4f}"),
        ("byte perplexity", f"{found.byte_perplexity:.4f}"),
        ("bits per byte", f"{found.bits_per_byte:.4f}"),
        ("bytes per token", f"{found.bytes_per_token:.4f}"),
        ("convention", f"{found.convention}: context {found.context:,}, stride {found.stride:,}, {before}"),
        ("tokenizer", lossless),
        ("engine", f"{found.engine['name']} {found.engine['version']}"),
        ("written to", str(path)),
    ]
    tables.print_table(f"Perplexity of {found.entry}", ["", ""], rows)
