"""A model on the Hugging Face Hub: listed, read by byte ranges, pinned to a commit."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nanolm.entries.artefacts import Folder, template_text
from nanolm.errors import EntryError

_NEEDED = {"config.json", "tokenizer.json", "tokenizer_config.json"}
_SMALL = (".json", ".jinja", ".txt", ".model", ".tiktoken")
_WEIGHTS = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


class Unreachable(EntryError):
    """The hub did not answer; what the machine already has may do."""


class Snapshot(Folder):
    """A revision in the hub client's own cache: read like a folder, pinned like a repository."""

    def __init__(self, path: Path, repo: str, commit: str) -> None:
        super().__init__(path, f"{repo}@{commit}")
        self.reference = repo
        self.revision = commit


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


@contextmanager
def _errors(repo: str, revision: str | None, what: str = "") -> Iterator[None]:
    """Turn the hub client's errors into one clear line each."""
    from huggingface_hub import errors

    where = f"{repo}@{revision}" if revision else repo
    what = what or f"the hub's {where}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise EntryError(
            f"{repo} is gated: accept its terms on the hub with your account, then run `hf auth login`"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise EntryError(
            f"the hub has no model repository {repo!r} (or it is private); check the spelling, owner/name"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise EntryError(
            f"{repo} has no revision {revision!r}; expected a branch, tag or commit of it"
        ) from error
    except errors.EntryNotFoundError as error:
        raise EntryError(f"{what} is not there") from error
    except errors.HFValidationError as error:
        raise EntryError(f"{repo!r} is no repository name: {_line(error)}") from error
    except (errors.HTTPError, OSError) as error:  # type: ignore[attr-defined]
        raise Unreachable(
            f"can't reach {what}: {type(error).__name__}: {_line(error)}; check the network, or give a "
            "model folder"
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:240]


class Repository:
    """A model repository at a commit. Raises `EntryError` when it can't be read."""

    def __init__(self, repo: str, revision: str | None) -> None:
        from huggingface_hub import HfApi

        with _errors(repo, revision):
            info = HfApi(endpoint=_endpoint()).model_info(repo, revision=revision, files_metadata=True)
        self.reference = repo
        self.revision: str | None = info.sha
        self.where = f"{repo}@{info.sha}"
        self._sizes = {
            file.rfilename: file.size or 0 for file in info.siblings or [] if "/" not in file.rfilename
        }

    def names(self) -> frozenset[str]:
        return frozenset(self._sizes)

    def size(self, name: str) -> int:
        return self._sizes[name]

    def read(self, name: str, start: int, length: int) -> bytes:
        """A byte range; the server must honour it, so that weights are never fetched whole."""
        from huggingface_hub import get_session
        from huggingface_hub.utils._headers import build_hf_headers
        from huggingface_hub.utils._http import hf_raise_for_status

        if length <= 0:
            return b""
        headers = {**build_hf_headers(), "range": f"bytes={start}-{start + length - 1}"}
        pieces: list[bytes] = []
        with (
            _errors(self.reference, self.revision, f"{name} of {self.where}"),
            get_session().stream("GET", self._url(name), headers=headers, follow_redirects=True) as response,
        ):
            hf_raise_for_status(response)
            if response.status_code != 206 and start > 0:
                raise EntryError(f"the hub ignored a byte range of {name} of {self.where}; nothing was read")
            got = 0
            for piece in response.iter_bytes():
                pieces.append(piece)
                got += len(piece)
                if got >= length:
                    break
        return b"".join(pieces)[:length]

    def whole(self, name: str) -> bytes:
        return self._fetch(name).read_bytes()

    def small_files(self) -> Path:
        """The revision's folder in the hub client's cache, its small files fetched first."""
        wanted = sorted(name for name in self.names() if name.endswith(_SMALL) and name not in _WEIGHTS)
        if not wanted:
            raise EntryError(f"{self.where} holds no configuration and no tokenizer")
        folder = Path()
        for name in wanted:
            folder = self._fetch(name).parent
        return folder

    def _fetch(self, name: str) -> Path:
        from huggingface_hub import hf_hub_download

        with _errors(self.reference, self.revision, f"{name} of {self.where}"):
            return Path(hf_hub_download(self.reference, name, revision=self.revision, endpoint=_endpoint()))

    def _url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.reference, name, revision=self.revision, endpoint=_endpoint())


def repository(repo: str, revision: str | None) -> Repository:
    """The repository at a revision (branch, tag or commit; None is its main branch), pinned to the commit."""
    return Repository(repo, revision)


def reached_or_cached(repo: str, revision: str | None) -> Repository | Snapshot:
    """The repository on the hub; without network what the hub client's cache holds of it, weights included.

    Raises `EntryError` when there is neither.
    """
    try:
        return repository(repo, revision)
    except Unreachable:
        found = snapshot(repo, revision)
        if found is None or not any(name.endswith(".safetensors") for name in found.names()):
            raise
        return found


def snapshot(repo: str, revision: str | None) -> Snapshot | None:
    """The revision's folder in the hub client's own cache, when tokenizer and template are there.

    No network. Other tools may have fetched a part of the files only; then the hub is asked.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repo, revision=revision, local_files_only=True))
    except Exception:  # not cached, or no revision of that name; the hub is asked next
        return None
    found = Snapshot(folder, repo, folder.name)  # the cache names a snapshot's folder after its commit
    if not found.names() >= _NEEDED:
        return None
    try:
        template_text(found)
    except EntryError:
        return None
    return found
