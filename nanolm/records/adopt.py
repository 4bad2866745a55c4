"""A record carried over from the edition that a patch edition inherits from (§10: it generates nothing)."""

import os
import secrets
import shutil
from pathlib import Path

from nanolm.errors import RecordError
from nanolm.records.record import COMPRESSED, LINES, is_recorded


def adopt(source: Path, folder: Path) -> bool:
    """Copy the record in `source` into `folder`, unless one lies there; whether it was copied.

    The record in `source` stays as it is. What is there already is never replaced, by a second process at
    the same moment either. Raises `RecordError` when the copy can't be written.
    """
    if is_recorded(folder):
        return False
    copied = False
    for name in (COMPRESSED, LINES):
        if not (source / name).exists():
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f".{name}.{secrets.token_hex(4)}"
            try:
                shutil.copyfile(source / name, temporary)
                os.link(temporary, folder / name)
                copied = True
            except FileExistsError:
                pass
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise RecordError(
                f"can't carry the record {source / name} over to {folder}: {error.strerror}; "
                "choose another folder with --reports-dir"
            ) from None
    return copied
