"""One writer per record: an advisory lock that dies with its process, kill -9 included."""

import contextlib
import fcntl
import os
from pathlib import Path

from nanolm.errors import RecordError

LOCK = ".lock"


class Lock:
    """Held from construction to `release`. Raises `RecordError` when another process holds it."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RecordError(
                f"can't write in {folder}: {error.strerror}; choose another folder with --reports-dir"
            ) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 100, 0).decode("ascii", "replace").strip() or "another process"
            os.close(self._fd)
            raise RecordError(
                f"another run is writing the record in {folder} ({holder}); wait for it to end, or give this"
                " run a folder of its own with --reports-dir"
            ) from None
        # a full disk can't keep a run from starting: the process id is only for the message above
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"process {os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """May be called twice. The file stays: removing a lock file lets two processes hold it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def held(folder: Path) -> bool:
    """Whether some process writes the record now."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
