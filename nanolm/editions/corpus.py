"""The text of an edition's corpus, from its source's rows."""

from collections.abc import Iterator

from nanolm.editions.edition import Corpus, Edition
from nanolm.editions.items import fetch_command
from nanolm.editions.read import sources_of
from nanolm.errors import EditionError, ItemError, unknown
from nanolm.sources import SourceFile, placed_rows
from nanolm.sources.files import held_files, source_file

LINES = "lines"
"""The mirror form in which every line of a file, its line break included, is a row."""


def corpus_text(edition: Edition, slug: str) -> str:
    """The whole text, rows joined and stripped as the edition's table says.

    Raises `UsageError` for an unknown corpus, `SourceError` for data that is missing (naming the command that
    gets it), `ItemError` for a row without the text, `EditionError` when the bytes are not as many as they
    must be.
    """
    if slug not in edition.corpora:
        raise unknown(f"corpus of {edition.name}", slug, edition.corpora)
    corpus = edition.corpora[slug]
    files = held_files(sources_of(edition), (corpus.source,), fetch_command(edition))
    rows = (row for file in files for row in _rows(corpus, source_file(file)))
    text = corpus.join.join(row if row.strip() else "" for row in rows).strip()
    found = len(text.encode("utf-8"))
    if found != corpus.bytes:
        raise EditionError(
            f"{edition.folder / 'edition.toml'}: [corpus.{slug}] bytes = {corpus.bytes:,}, but the rows give "
            f"{found:,}; are the source files whole?"
        )
    return text


def _rows(corpus: Corpus, file: SourceFile) -> Iterator[str]:
    if file.form == LINES:
        with file.local.open(encoding="utf-8", newline="\n") as stream:
            yield from stream
        return
    for place, row in placed_rows(file):
        text = row.get(corpus.field)
        if not isinstance(text, str):
            raise ItemError(f"{file.name}:{place}: found no text {corpus.field!r}, expected one")
        yield text
