"""Files of hub repositories at their pinned revision, with huggingface_hub.

`HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_HUB_OFFLINE`, `HF_TOKEN` and the proxy variables work as
huggingface_hub documents them.
"""

import contextlib
import logging
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanolm.errors import SourceError
from nanolm.sources import cache
from nanolm.sources.cache import Unreachable, WrongBytes, sum_of
from nanolm.sources.lock import LockedFile, Source

Advance = Callable[[int], None]
"""Called with the number of bytes that have come."""


def download(source: Source, file: LockedFile, advance: Advance) -> Path:
    """The file in huggingface_hub's own cache, downloaded when it is not there yet.

    Raises `SourceError` with what is the matter: offline, no such repository, revision or file, gated.
    """
    from huggingface_hub import constants, errors

    what = f"{source.name}: {file.path} of {source.repository} at {source.revision[:12]}"
    try:
        path = _path(source, file, advance)
    except errors.GatedRepoError:
        raise SourceError(
            f"{what} is gated: accept its terms at {constants.ENDPOINT}/{_page(source)} and set HF_TOKEN"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"{what}: the hub knows no such repository, or it is private (then set HF_TOKEN)"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceError(f"{what}: the repository has no such revision any more") from None
    except errors.LocalEntryNotFoundError as error:
        raise _unreachable(what, error) from None
    except errors.EntryNotFoundError:
        raise SourceError(f"{what}: the repository has no such file at that revision") from None
    except errors.HfHubHTTPError as error:
        raise SourceError(f"{what}: the hub answered {error.response.status_code}; try again later") from None
    except OSError as error:
        # A full disk, or a download that came short (huggingface_hub raises a bare OSError for it).
        room = "Make room, or name another folder with HF_HOME" if error.errno else "Try again"
        if error.errno and error.errno not in cache.FULL:
            room = "Name another folder with HF_HOME"
        raise SourceError(f"{what}: {_first_line(error)}. {room}") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        raise SourceError(
            f"{what}: the connection to {constants.ENDPOINT} failed ({_first_line(error)}); try again, or "
            "check HF_ENDPOINT"
        ) from None
    _check_own_sum(Path(path), what)
    return Path(path)


def _path(source: Source, file: LockedFile, advance: Advance) -> str:
    from huggingface_hub import constants, hf_hub_download

    for left in (3, 2, 1, 0):
        try:
            return hf_hub_download(
                source.repository,
                file.path,
                repo_type=source.repo_type,
                revision=source.revision,
                library_name="nanolm",
                endpoint=constants.ENDPOINT,
                tqdm_class=_reporting(advance),
            )
        except RuntimeError as error:
            if not (closed(error) and left):
                raise
    raise AssertionError("unreachable")


def closed(error: RuntimeError) -> bool:
    """Whether another download closed the connections that all share, as the client does when one fails."""
    return "client has been closed" in str(error)


def _check_own_sum(path: Path, what: str) -> None:
    """Files in large storage are named by their SHA-256 in the hub's cache: that sum must hold.

    It matters for files whose sum is not pinned yet; what a proxy put in their place is not noted as theirs.
    """
    named = path.resolve().name
    if not re.fullmatch(r"[0-9a-f]{64}", named):
        return
    found = sum_of(path)
    if found.sha256 != named:
        forget(path)
        raise WrongBytes(
            f"wrong bytes: {what} has sha256 {found.sha256} ({found.bytes:,} bytes), the hub says {named}. "
            "It was refused and removed; try again"
        )


def forget_held(source: Source, file: LockedFile) -> None:
    """Remove what huggingface_hub's cache has of a file, so that it is downloaded anew."""
    from huggingface_hub import try_to_load_from_cache

    held = try_to_load_from_cache(
        source.repository, file.path, revision=source.revision, repo_type=source.repo_type
    )
    if isinstance(held, str):
        forget(Path(held))


def quiet() -> None:
    """Retries and the like are not for the terminal: what comes of them is said once, at the end.

    `HF_HUB_VERBOSITY` or `HF_DEBUG` brings them back.
    """
    from huggingface_hub.utils import logging as hub_logging

    if not (os.environ.get("HF_HUB_VERBOSITY") or os.environ.get("HF_DEBUG")):
        hub_logging.set_verbosity(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"huggingface_hub\.")


def forget(path: Path) -> None:
    """Remove a file with wrong bytes from huggingface_hub's cache, so that it is downloaded anew."""
    for each in {path.resolve(), path}:
        with contextlib.suppress(OSError):
            each.unlink()


def _page(source: Source) -> str:
    return f"datasets/{source.repository}" if source.repo_type == "dataset" else source.repository


def _unreachable(what: str, error: BaseException) -> SourceError:
    from huggingface_hub import constants, errors

    if constants.HF_HUB_OFFLINE:
        return SourceError(
            f"{what}: HF_HUB_OFFLINE is set and the file is not in the hub's cache; unset it to download"
        )
    cause = error.__cause__
    why = f" ({_first_line(cause)})" if cause else ""
    # A hub that answers with an error is there: its other files are worth a try.
    kind = Unreachable if cause is None or not isinstance(cause, errors.HfHubHTTPError) else SourceError
    return kind(
        f"{what}: can't reach {constants.ENDPOINT}{why}; check the network, the proxy variables or "
        "HF_ENDPOINT, or take the files from a folder with --from"
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _reporting(advance: Advance) -> Any:
    """A silent progress bar class that passes on the bytes."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

    class Reporting(tqdm):  # type: ignore[type-arg, misc, unused-ignore]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*arguments, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            advance(int(n or 0))

    return Reporting
