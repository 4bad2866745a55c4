"""A server, a cache of the test's own, and a lock whose sources the server holds."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nanolm.sources.lock import SourcesLock, read_lock
from tests_protocol.sources.server import FileServer

REVISION = "0123456789abcdef0123456789abcdef01234567"
ROWS = [{"question": f"{number} + 1 = ?", "answer": number + 1} for number in range(2000)]
HUB = f"/datasets/owner/data/resolve/{REVISION}/main/test.parquet"
RAW = f"/owner/code/{REVISION}/data/some%20file.jsonl"


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """Rows in the hub's usual layout."""
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    """Rows in JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def sha256(data: bytes) -> str:
    """A sum as locks have it."""
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Hub and GitHub at a local address; nothing else is reached, no token is used."""
    import huggingface_hub
    from huggingface_hub import constants, file_download
    from huggingface_hub.utils import _http

    from nanolm.sources import github

    running = FileServer()
    running.files = {HUB: parquet(ROWS), RAW: jsonl(ROWS)}
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NANOLM_GITHUB_ENDPOINT", running.address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "ENDPOINT", running.address)
    template = running.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    monkeypatch.setattr(github, "sleep", lambda seconds: None)
    impatient = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    for module in (file_download, _http):
        monkeypatch.setattr(module, "time", impatient)
    huggingface_hub.close_session()
    yield running
    huggingface_hub.close_session()
    running.shutdown()
    running.server_close()


@pytest.fixture
def lock_of(tmp_path: Path) -> Callable[..., SourcesLock]:
    """Makes a lock with the server's hub file and GitHub file."""

    def make(
        hub: str = sha256(parquet(ROWS)), raw: str = sha256(jsonl(ROWS)), mirrors: str = ""
    ) -> SourcesLock:
        path = tmp_path / "sources.lock.toml"
        path.write_text(
            f"""# What the server holds.
[source.hub]
kind = "hub"
repository = "owner/data"
revision = "{REVISION}"

[[source.hub.file]]
path = "main/test.parquet"
sha256 = "{hub}"  # the one file
{mirrors}
[source.raw]
kind = "github"
repository = "owner/code"
revision = "{REVISION}"

[[source.raw.file]]
path = "data/some file.jsonl"
sha256 = "{raw}"
""",
            "utf-8",
        )
        return read_lock(path)

    return make
