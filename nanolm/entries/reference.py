"""From what a person types to an entry: a name, a file, a folder, or a hub repository."""

import functools
import os
import re
import tomllib
from pathlib import Path

from nanolm.editions.edition import Edition
from nanolm.entries import entry_file
from nanolm.entries.entry import Entry, Mode
from nanolm.entries.synthetic import TITLES as SYNTHETIC
from nanolm.entries.synthetic import synthetic
from nanolm.errors import EntryError, UsageError, unknown

_EDITIONS = Path(__file__).resolve().parent.parent / "editions"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
_MODES: dict[str, Mode] = {"think": "think", "no-think": "no-think", "base": "base"}


def names(edition: Edition | None) -> tuple[str, ...]:
    """Names of the edition's entries and of the editions it inherits from, in order; None: of all."""
    return tuple(sorted(_files(edition)))


def is_repository(target: str) -> bool:
    """True for what has the form of a hub repository, `owner/name` or `owner/name@revision`."""
    return _REPOSITORY.fullmatch(target) is not None and not Path(target).exists()


def file_of(name: str, edition: Edition | None) -> Path:
    """The TOML of an entry, by its name or path. Raises `UsageError` for a name that does not exist."""
    found = _files(edition).get(name) or _files(None).get(name)
    path = Path(name).expanduser()
    if found is None and path.suffix == ".toml" and path.is_file():
        return path
    if found is None:
        raise unknown("entry", name, dict.fromkeys([*names(edition), *names(None)]))
    return found


def resolve(reference: str, edition: Edition | None) -> Entry:
    """The entry a person means.

    `reference` is one of: a name of the edition's entries (then of any edition in the package); a path
    of an entry TOML; a model folder; a `.gguf` file; `hub/repo@revision`; `oracle`, `constant` or
    `random`. Folders, files and repositories give an unofficial entry, derived from their own
    artefacts; of a hybrid model `#think` or `#no-think` behind the reference names the mode. Under an
    edition with base models, a model without a chat template gives an entry of the mode `base`; `#base`
    asks one that carries a template with the bare text all the same.

    Raises `UsageError` for a name that does not exist (close matches are named) and `EntryError` for a
    model that can't be read.
    """
    reference = reference.strip()
    if not reference:
        raise UsageError(
            "no entry is named; expected an entry's name, a model folder, a file, or hub/repo@revision"
        )
    if reference in SYNTHETIC:
        return synthetic(reference)
    file = _files(edition).get(reference) or _files(None).get(reference)
    if file is not None:
        return _from_file(file, edition)
    target, mode = _split(reference)
    path = Path(target).expanduser()
    if path.suffix == ".toml" and (path.is_file() or os.sep in target):
        return _from_file(path, edition)
    if path.exists():
        return _local(path, mode, edition)
    return _named(target, mode, edition)


def _from_file(path: Path, edition: Edition | None) -> Entry:
    entry = entry_file.to_entry(entry_file.read(path), edition, path.parent)
    if entry.path:
        from nanolm.entries import derive

        derive.check_content(entry)
    return entry


def _split(reference: str) -> tuple[str, Mode | None]:
    target, hash_sign, mode = reference.rpartition("#")
    if not hash_sign or Path(reference).exists():
        return reference, None
    if mode not in _MODES:
        raise UsageError(
            f"{reference!r} ends in {'#' + mode!r}; expected #think or #no-think, or #base for the bare text"
        )
    return target, _MODES[mode]


def _local(path: Path, mode: Mode | None, edition: Edition | None) -> Entry:
    from nanolm.entries import derive

    if path.is_dir():
        return derive.from_folder(path, mode, edition)
    if path.suffix == ".gguf":
        return derive.from_gguf(path, mode, edition)
    raise EntryError(f"{path} is a file, but no entry TOML and no .gguf; expected one of these or a folder")


def _named(target: str, mode: Mode | None, edition: Edition | None) -> Entry:
    check_path(target)
    if _REPOSITORY.fullmatch(target):
        from nanolm.entries import derive

        repository, _, revision = target.partition("@")
        return derive.from_hub(repository, revision or None, mode, edition)
    raise unknown("entry", target, dict.fromkeys([*names(edition), *names(None), *SYNTHETIC]))


def check_path(target: str) -> None:
    """Raise `EntryError` when a reference has the form of a path and nothing is there."""
    looks_like_a_path = target.startswith((".", "~", os.sep)) or target.count("/") > 1
    of_a_file = target.endswith((".gguf", ".toml"))
    if (of_a_file or (looks_like_a_path and "@" not in target)) and not Path(target).expanduser().exists():
        raise EntryError(f"there is no file or folder {target}; check the path")


def _files(edition: Edition | None) -> dict[str, Path]:
    """Entry name to its file; an edition's own file stands before the one it inherits."""
    if edition is None:
        found: dict[str, Path] = {}
        for folder in sorted(_EDITIONS.iterdir(), reverse=True):
            found = {**_in(folder), **found}
        return found
    parent = _folders().get(edition.inherits) if edition.inherits else None
    return {**(_in(parent) if parent else {}), **_in(edition.folder)}


def _in(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in (folder / "entries").glob("*.toml")}


@functools.cache
def _folders() -> dict[str, Path]:
    """Name of each edition in the package to its folder."""
    found = {}
    for path in _EDITIONS.glob("*/edition.toml"):
        try:
            found[str(tomllib.loads(path.read_text(encoding="utf-8")).get("name"))] = path.parent
        except (OSError, ValueError):
            continue  # `editions.load` says what is wrong with it
    return found
