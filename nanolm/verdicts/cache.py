"""Verdicts that were dear to get, kept: math-verify's and the evaluators' (ruling 40, §7).

One SQLite file in the cache folder, shared by any number of processes, and a dictionary over it. It
only saves time: when the file can't be used, verdicts are kept in memory and one warning says so.
"""

import hashlib
import logging
import sqlite3
import threading
from pathlib import Path

from nanolm.sources.cache import cache_folder

_log = logging.getLogger("nanolm.verdicts")

FILE = "verdicts.sqlite"
_KEPT_BACK = 200  # new verdicts, before they are written


def place() -> Path:
    """Where this machine keeps verdicts: a run and a rescore share them."""
    return cache_folder() / "verdicts"


def key(*parts: str) -> bytes:
    """What a verdict depends on, as 16 bytes. Total: lone surrogates are allowed."""
    joined = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VerdictCache:
    """Texts by key. Safe for several threads and processes; `folder` None keeps all in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._known: dict[bytes, str] = {}
        self._new: dict[bytes, str] = {}
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._file = _opened(folder / FILE)
            except (OSError, sqlite3.Error) as error:
                self._give_up(folder, error)
        self._folder = folder

    def get(self, key: bytes) -> str | None:
        """The text kept under a key, or None."""
        value = self._known.get(key)
        if value is not None or self._file is None:
            return value
        with self._lock:
            value = self._read(key)
        if value is not None:
            self._known[key] = value
        return value

    def _read(self, key: bytes) -> str | None:
        if self._file is None:
            return None
        try:
            row = self._file.execute("SELECT value FROM verdict WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(self._folder, error)
            return None
        return str(row[0]) if row else None

    def put(self, key: bytes, value: str) -> None:
        """Keep a text; on the disk after a while, or at `flush`."""
        self._known[key] = value
        with self._lock:
            self._new[key] = value
            if len(self._new) >= _KEPT_BACK:
                self._write()

    def flush(self) -> None:
        """Write what is not on the disk yet."""
        with self._lock:
            self._write()

    def close(self) -> None:
        """Write what is left and let go of the file."""
        with self._lock:
            self._write()
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write(self) -> None:
        if self._file is not None and self._new:
            try:
                with self._file:
                    self._file.executemany("INSERT OR IGNORE INTO verdict VALUES (?, ?)", self._new.items())
            except sqlite3.Error as error:
                self._give_up(self._folder, error)
        self._new.clear()

    def _give_up(self, folder: Path | None, error: Exception) -> None:
        self._file = None
        _log.warning(
            "verdicts are not kept between runs: %s can't be used (%s); delete it or set NANOLM_CACHE "
            "to a folder that can be written",
            folder and folder / FILE,
            error,
        )


def _opened(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path, timeout=30, check_same_thread=False)
    try:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("CREATE TABLE IF NOT EXISTS verdict (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID")
        file.commit()
    except sqlite3.Error:
        file.close()
        raise
    return file
