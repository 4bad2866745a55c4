"""Another file's items, asked as an edition asks its own: `--items=FILE`.

What comes of it is an edition of its own, never a publishable one: a small folder with the file, its sum and
three lines that name the edition it is asked as. It lies where its records go, so that a rescore, a
comparison or a board finds it there, whatever becomes of the file.
"""

import json
import re
from pathlib import Path

from nanolm.editions import check
from nanolm.editions.edition import Edition
from nanolm.editions.items import check_chance, check_ids, module_of
from nanolm.editions.read import called, load, sources_of
from nanolm.errors import EditionError, UsageError
from nanolm.sources import SourceFile, cache

_COMMENT = (
    "# Written by --items: a file of somebody's own, asked as an edition asks its items. Not publishable.\n"
)


def make(edition: Edition, file: Path, reports: Path) -> Edition:
    """The edition that asks the items of `file`; its folder is made below `reports` when it is not there.

    The name holds the edition's, the file's and the beginning of its sum. Raises `UsageError` for a file
    that is not there or an edition that no single file can stand in for, and `ItemError`, naming file and
    row, for a row that can't be asked.
    """
    source, suffix = _only_file(edition)
    if not file.is_file():
        raise UsageError(f"--items={file}: there is no such file; expected one in the format of {source}")
    held = cache.sum_of(file)
    name = f"{edition.name}-{_slug(file)}-{held.sha256[:8]}"
    folder = reports.resolve() / name
    if not (folder / "edition.toml").exists():
        counts = _counts(edition, SourceFile(source=source, name=str(file), local=file, form="custom"))
        copy = "items" + ("".join(file.suffixes[-2:]) if file.suffix == ".gz" else file.suffix or suffix)
        _write(folder, file, copy, _texts(edition, file, name, source, copy, held.sha256, counts))
    return load(folder)


def _only_file(edition: Edition) -> tuple[str, str]:
    """Name of the one source all benchmarks read, and its file's suffix."""
    lock = sources_of(edition)
    names = {name for spec in edition.benchmarks.values() for name in spec.sources}
    files = [(name, file) for name in sorted(names) for file in lock[name].file]
    if edition.custom_of or len(files) != 1:
        what = f"asks another file's items already ({edition.custom_of})" if edition.custom_of else ""
        raise UsageError(
            f"--items: {edition.name} {what or f'reads {len(files)} files'}; expected an edition that reads "
            "one file, which another can stand in for"
        )
    return files[0][0], Path(files[0][1].path).suffix


def _slug(file: Path) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", file.name.partition(".")[0].lower())
    return words[: check.LONGEST_NAME].strip("-") or "items"


def _counts(edition: Edition, file: SourceFile) -> dict[str, int]:
    """How many items each benchmark makes of the file; all are checked."""
    counts = {}
    for slug, spec in edition.benchmarks.items():
        built = module_of(edition, spec).items(slug, [file])
        check_ids(spec, built, f"--items={file.name}")
        if not built.items:
            raise UsageError(f"--items={file.name}: it holds no item for {slug}")
        check_chance(built, f"--items={file.name}: {slug}")
        counts[slug] = len(built.items)
    return counts


def _texts(
    edition: Edition, file: Path, name: str, source: str, copy: str, sha256: str, counts: dict[str, int]
) -> dict[str, str]:
    """The folder's two TOML files."""
    fields = {
        "name": name,
        "title": f"{edition.title}, items of {file.name}",
        "version": edition.version,
        "summary": f"Items of {file.name}, asked as {edition.name} asks its own. Not publishable.",
        "custom_of": called(edition),
    }
    lines = [f"{key} = {_quoted(value)}" for key, value in fields.items()]
    numbers = [f"{slug} = {count}" for slug, count in counts.items()]
    pinned = [f"path = {_quoted(copy)}", f'sha256 = "{sha256}"']
    return {
        "sources.lock.toml": "\n".join(
            [
                f"{_COMMENT}",
                f"[source.{source}]",
                'kind = "custom"',
                "",
                f"[[source.{source}.file]]",
                *pinned,
                "",
            ]
        ),
        "edition.toml": "\n".join([f"{_COMMENT}", *lines, "", "[items]", *numbers, ""]),
    }


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(folder: Path, file: Path, copy: str, texts: dict[str, str]) -> None:
    """`edition.toml` last: with it the folder counts as whole, for other processes too."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cache.write_atomically(folder / copy, file.read_bytes())
        for name, text in texts.items():
            cache.write_atomically(folder / name, text.encode())
    except OSError as error:
        raise EditionError(f"can't write {folder}: {error.strerror or error}; choose --reports-dir") from None
