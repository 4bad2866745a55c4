"""What `nanolm edition lock` puts into an edition's TOML files; comments and order stay."""

import itertools
import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nanolm.errors import EditionError
from nanolm.sources import cache
from nanolm.sources.cache import Sum
from nanolm.sources.lock import SourcesLock


def write(path: Path, data: bytes) -> None:
    """Write a file of the edition in one piece; `EditionError` where that can't be done."""
    try:
        cache.write_atomically(path, data)
    except OSError as error:
        raise EditionError(
            f"can't write {path}: {error.strerror}; locking needs an edition folder it may write"
        ) from None


def fill_sums(lock: SourcesLock, names: Collection[str] | None = None) -> tuple[str, ...]:
    """Put the sums of official downloads where the lock says `unverified`; comments and order stay.

    Only of the sources `names`, when given.
    """
    found: dict[tuple[str, str], Sum] = {}
    for source in lock.sources.values():
        if names is not None and source.name not in names:
            continue
        for file in source.file:
            known = cache.found_sum(source, file) if source.remote and not file.verified else None
            local = cache.held(known.sha256, file.path, known.bytes) if known else None
            if known and local:
                cache.verify(local, known.sha256)
                found[source.name, file.path] = known
    if found:
        text = lock.path.read_text("utf-8")
        write(lock.path, _filled(text, found, lock.path).encode())
    return tuple(f"{source}: {path}" for source, path in found)


_FILE = re.compile(r"\[\[\s*source\.(?:\"(?P<quoted>[^\"]+)\"|(?P<bare>[A-Za-z0-9_-]+))\.file\s*\]\]")


def _filled(text: str, found: dict[tuple[str, str], Sum], path: Path) -> str:
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")] + [len(lines)]
    for start, end in reversed(list(itertools.pairwise(starts))):
        header = _FILE.match(lines[start].strip())
        if header is None:
            continue
        table = tomllib.loads("\n".join(lines[start + 1 : end]))
        known = found.get((header["quoted"] or header["bare"], table["path"]))
        if known is None:
            continue
        body = lines[start + 1 : end]
        at = next((i for i, line in enumerate(body) if re.match(r"\s*sha256\s*=", line)), None)
        if at is None:
            at = 1 + next(i for i, line in enumerate(body) if re.match(r"\s*path\s*=", line))
            body.insert(at, "")
        comment = re.search(r"\s*#.*$", body[at])
        body[at] = f'sha256 = "{known.sha256}"{comment[0] if comment else ""}'
        if "bytes" not in table:
            body.insert(at + 1, f"bytes = {known.bytes}")
        lines[start + 1 : end] = body
    written = "\n".join(lines) + "\n"
    _require_only_sums_changed(text, written, found, path)
    return written


def _require_only_sums_changed(old: str, new: str, found: dict[tuple[str, str], Sum], path: Path) -> None:
    """The text was edited by hand-made rules: prove that it says what it must before it is written."""
    expected: dict[str, Any] = tomllib.loads(old)
    for (source, name), known in found.items():
        for table in expected["source"][source]["file"]:
            if table["path"] == name:
                table.update(sha256=known.sha256)
                table.setdefault("bytes", known.bytes)
    if tomllib.loads(new) != expected:
        raise EditionError(f"{path} could not be filled in; write the sums by hand: {found}")


def mark_verified(path: Path, slugs: Collection[str]) -> tuple[str, ...]:
    """Take `data_verified = false` out of the tables of these benchmarks in an `edition.toml`."""
    text = path.read_text("utf-8")
    kept: list[str] = []
    marked: list[str] = []
    slug = ""
    for line in text.splitlines():
        header = re.fullmatch(r"\s*\[\s*benchmark\.\"?([A-Za-z0-9_-]+)\"?\s*\]\s*(?:#.*)?", line)
        if header or line.startswith("["):
            slug = header[1] if header else ""
        if slug in slugs and re.fullmatch(r"data_verified\s*=\s*false\s*(?:#.*)?", line):
            marked.append(slug)
        else:
            kept.append(line)
    written = "\n".join(kept) + "\n"
    expected: dict[str, Any] = tomllib.loads(text)
    for slug in marked:
        expected["benchmark"][slug].pop("data_verified", None)
    if tomllib.loads(written) != expected or set(marked) != set(slugs):
        raise EditionError(
            f"{path} could not be filled in; take data_verified = false out of {', '.join(slugs)} by hand"
        )
    if marked:
        write(path, written.encode())
    return tuple(marked)
