"""Where a board's pages go: all new ones replace the earlier board's at once, or nothing changes."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nanolm.errors import ScoreError

FOLDERS = ("data", "entries", "cards", "static")


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write the pages to, with `FOLDERS` in it; they move to `out` at the end.

    When writing them fails, `out` is as it was. What else lies in an earlier board's folder stays. Raises
    `ScoreError` when `out` is a file, or a folder that holds something and no board.
    """
    target = out.resolve()
    if target.exists() and not target.is_dir():
        raise ScoreError(f"{out} is a file, expected a folder; check the path given with -o")
    if target.exists() and any(target.iterdir()) and not (target / "board.html").exists():
        raise ScoreError(f"{out} is not empty and holds no board; name a new or empty folder with -o")
    made = _make(target.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
            new, old = Path(beside) / "new", Path(beside) / "old"
            old.mkdir()
            for name in FOLDERS:
                (new / name).mkdir(parents=True)
            yield new
            _swap(new, target, old)
    except BaseException:
        for folder in made:
            with suppress(OSError):  # someone else put something there meanwhile
                folder.rmdir()
        raise


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; gives those that were not there, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _swap(new: Path, target: Path, old: Path) -> None:
    """Move what is in `new` to `target`, and what had its names there to `old`; all of it or nothing."""
    if not target.exists():
        shutil.move(new, target)
        return
    undo: list[tuple[Path, Path]] = []
    try:
        for path in sorted(new.iterdir()):
            place = target / path.name
            for source, to in ((place, old / path.name), (path, place)):
                if source.exists() or source.is_symlink():
                    shutil.move(source, to)
                    undo.append((to, source))
    except BaseException:
        for source, to in reversed(undo):
            shutil.move(source, to)
        raise
