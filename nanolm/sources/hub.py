"""Files of hub repositories at their pinned revision, with huggingface_hub.

`HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_HUB_OFFLINE`, `HF_TOKEN` and the proxy variables work as
huggingface_hub documents them.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanolm.errors import SourceError
from nanolm.sources.lock import LockedFile, Source

Advance = Callable[[int], None]
"""Called with the number of bytes that have come."""


def download(source: Source, file: LockedFile, advance: Advance) -> Path:
    """The file in huggingface_hub's own cache, downloaded when it is not there yet.

    Raises `SourceError` with what is the matter: offline, no such repository, revision or file, gated.
    """
    from huggingface_hub import constants, errors, hf_hub_download

    what = f"{source.name}: {file.path} of {source.repository} at {source.revision[:12]}"
    try:
        path = hf_hub_download(
            source.repository,
            file.path,
            repo_type=source.repo_type,
            revision=source.revision,
            library_name="nanolm",
            endpoint=constants.ENDPOINT,
            tqdm_class=_reporting(advance),
        )
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
        raise SourceError(f"{what}: {_unreachable(error)}") from None
    except errors.EntryNotFoundError:
        raise SourceError(f"{what}: the repository has no such file at that revision") from None
    except errors.HfHubHTTPError as error:
        raise SourceError(f"{what}: the hub answered {error.response.status_code}; try again later") from None
    except OSError as error:
        # A full disk, or a download that came short (huggingface_hub raises a bare OSError for it).
        raise SourceError(f"{what}: {_first_line(error)}") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        raise SourceError(f"{what}: the connection failed ({_first_line(error)}); try again") from None
    return Path(path)


def forget(path: Path) -> None:
    """Remove a file with wrong bytes from huggingface_hub's cache, so that it is downloaded anew."""
    for each in {path.resolve(), path}:
        with contextlib.suppress(OSError):
            each.unlink()


def _page(source: Source) -> str:
    return f"datasets/{source.repository}" if source.repo_type == "dataset" else source.repository


def _unreachable(error: BaseException) -> str:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set and the file is not in the hub's cache; unset it to download"
    cause = error.__cause__
    why = f" ({_first_line(cause)})" if cause else ""
    return (
        f"can't reach {constants.ENDPOINT}{why}; check the network, the proxy variables or HF_ENDPOINT, "
        "or take the files from a folder with --from"
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
