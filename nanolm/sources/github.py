"""Files of GitHub repositories at a commit, by their raw addresses; downloads go on where they stopped."""

import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import quote

from nanolm.errors import SourceError
from nanolm.sources import hub
from nanolm.sources.cache import Unreachable, full_disk
from nanolm.sources.lock import LockedFile, Source

Advance = Callable[[int], None]
"""Called with the number of bytes that have come; negative when a download starts over."""

ENDPOINT = "https://raw.githubusercontent.com"
ATTEMPTS = 5
TIMEOUT = 30.0
"""Seconds without a byte until an attempt counts as failed."""
PATIENCE = 60.0
"""Seconds at most that a server's Retry-After is obeyed."""


class _Again(Exception):
    """An attempt that failed in a way that may pass."""

    def __init__(self, why: str, wait: float | None = None, connected: bool = True) -> None:
        super().__init__(why)
        self.wait = wait
        self.connected = connected


def endpoint() -> str:
    """The host that the files come from."""
    return (os.environ.get("NANOLM_GITHUB_ENDPOINT") or ENDPOINT).rstrip("/")


def address(source: Source, file: LockedFile) -> str:
    """The raw address of a file; `NANOLM_GITHUB_ENDPOINT` names a mirror of GitHub's."""
    return f"{endpoint()}/{source.repository}/{source.revision}/{quote(file.path)}"


def download(source: Source, file: LockedFile, part: Path, advance: Advance) -> Path:
    """The whole file at `part`, going on with what lies there from an earlier try.

    The caller holds the lock on `part`. Raises `SourceError` with what is the matter: offline, no such
    file, no network, truncated, disk full.
    """
    url = address(source, file)
    if not url.startswith(("https://", "http://")):
        raise SourceError(f"NANOLM_GITHUB_ENDPOINT is {endpoint()!r}; expected an address with https://")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _attempt(url, part, advance)
            return part
        except _Again as failed:
            if attempt == ATTEMPTS:
                raise _given_up(source, url, part, failed) from None
            _pause(min(PATIENCE, failed.wait if failed.wait is not None else 0.5 * 2**attempt), advance)
        except SourceError as error:
            raise SourceError(f"{source.name}: {error}") from None
    raise AssertionError("unreachable")


def _given_up(source: Source, url: str, part: Path, failed: _Again) -> SourceError:
    came = part.exists() and part.stat().st_size > 0
    if not failed.connected and not came:
        return Unreachable(
            f"{source.name}: {url}: {failed} (tried {ATTEMPTS} times); check the network, the proxy "
            "variables or NANOLM_GITHUB_ENDPOINT, or take the files from a folder with --from"
        )
    kept = "the part that came is kept, run the same command again to go on"
    return SourceError(
        f"{source.name}: {url}: {failed} (tried {ATTEMPTS} times); {kept if came else 'try again later'}"
    )


def _pause(seconds: float, advance: Advance) -> None:
    """Sleep, asking every now and then whether the fetch was given up."""
    while seconds > 0:
        sleep(min(seconds, 0.5))
        seconds -= 0.5
        advance(0)


def _attempt(url: str, part: Path, advance: Advance) -> None:
    from huggingface_hub import errors, get_session

    # get_session is huggingface_hub's client: proxies and certificates as for the hub's own files.
    failures: Any = errors.HfHubHTTPError.__mro__[1]  # its HTTP library's HTTPError, whichever that is
    had = part.stat().st_size if part.exists() else 0
    # identity: the bytes as they are in the repository, so that a range means the same bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={had}-"} if had else {})
    try:
        with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
            if response.status_code == 416 and _total(response.headers) == had:
                return
            if response.status_code in (206, 416) and _start(response.headers) != had:
                # What lies there is not the beginning of this file: start over.
                part.unlink(missing_ok=True)
                raise _Again("the server can't go on with the part that came", 0.0)
            if not _goes_on(url, response):
                advance(-had)
                had = 0
            expected = _length(response.headers)
            expected = None if expected is None else had + expected
            with full_disk(part.parent), part.open("ab" if had else "wb") as file:
                for block in response.iter_raw():
                    file.write(block)
                    advance(len(block))
    except errors.OfflineModeIsEnabled:
        raise SourceError(f"{url}: HF_HUB_OFFLINE is set; unset it to download") from None
    except RuntimeError as error:
        if not hub.closed(error):
            raise
        raise _Again(f"the connection failed ({error})") from None
    except failures as error:
        connected = not any(kind.__name__ == "ConnectError" for kind in type(error).__mro__)
        raise _Again(
            f"the connection failed ({type(error).__name__}: {error})", connected=connected
        ) from None
    found = part.stat().st_size
    if expected is not None and found != expected:
        raise _Again(f"truncated: {found:,} of {expected:,} bytes came")


def _goes_on(url: str, response: Any) -> bool:
    """Whether the response continues the part that lies there; raises for what is no file."""
    status = response.status_code
    if status in (200, 206):
        return bool(status == 206)
    if status == 404:
        raise SourceError(f"{url}: no such file (404); was the repository moved or deleted?")
    if status in (401, 403):
        raise SourceError(f"{url}: access refused ({status})")
    if status in (408, 425, 429) or status >= 500:
        raise _Again(f"the server answered {status}", _retry_after(response.headers))
    raise SourceError(f"{url}: the server answered {status}, expected 200 or 206")


def _length(headers: Any) -> int | None:
    text = headers.get("Content-Length", "")
    return int(text) if text.isdigit() else None


def _range(headers: Any) -> tuple[str, str]:
    """`bytes 5-9/10` is ("5", "10"), `bytes */10` is ("*", "10")."""
    span, _, total = headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    return span.partition("-")[0], total


def _start(headers: Any) -> int | None:
    start = _range(headers)[0]
    return int(start) if start.isdigit() else None


def _total(headers: Any) -> int | None:
    total = _range(headers)[1]
    return int(total) if total.isdigit() else None


def _retry_after(headers: Any) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None
