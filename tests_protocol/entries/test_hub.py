"""The hub's side: header ranges, pins, locks and errors, against a server of our own."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from nanolm.cli.entry import command
from nanolm.entries import entry_file, hub, renderer, resolve
from nanolm.entries.add import add, older
from nanolm.entries.derive import from_artefacts
from nanolm.entries.entry import EntryDecoding
from nanolm.entries.entry_file import EntryFile
from nanolm.entries.lock import lock
from nanolm.entries.parameters import audit
from nanolm.errors import EntryError, UsageError
from nanolm.schema import Decoding

from .conftest import Write, write_weights

COMMIT = "c0ffee00" * 5


class _Server(ThreadingHTTPServer):
    """A hub with one repository, `org/tiny`, at one commit; it remembers the bytes of weights it gave."""

    daemon_threads = True
    folder: Path
    weights_sent = 0
    ranges = True
    """Whether byte ranges are honoured."""
    redirects = False
    """Whether weights are sent from another host, as the hub's storage does."""
    busy = False
    tokens_at_storage: list[str]
    tokens: list[str]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        if self.server.busy:
            self._send(429, b"{}", {})
        elif match := re.fullmatch(r"/storage/(.+)", path):
            self.server.tokens_at_storage.append(self.headers.get("authorization", ""))
            self._file(self.server.folder / match[1], body)
        elif self.server.redirects and path.endswith(".safetensors"):
            self.server.tokens.append(self.headers.get("authorization", ""))
            storage = f"http://localhost:{self.server.server_port}/storage/{path.rpartition('/')[2]}"
            self._send(302, b"", {"Location": storage})
        elif path.startswith("/api/models/org/tiny"):
            self._listing(path)
        elif match := re.fullmatch(rf"/org/tiny/resolve/{COMMIT}/(.+)", path):
            self._file(self.server.folder / match[1], body)
        elif path.startswith("/api/models/org/gated"):
            self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _listing(self, path: str) -> None:
        if "/revision/" in path and not path.endswith((f"/{COMMIT}", "/main")):
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return
        files = [
            {"rfilename": file.name, "size": file.stat().st_size} for file in self.server.folder.iterdir()
        ]
        table = {"id": "org/tiny", "sha": COMMIT, "siblings": files, "tags": []}
        self._send(200, json.dumps(table).encode(), {"Content-Type": "application/json"})

    def _file(self, file: Path, body: bool) -> None:
        if not file.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        data, status = file.read_bytes(), 200
        extra = {"ETag": f'"{file.name}"', "X-Repo-Commit": COMMIT}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        if wanted and self.server.ranges:
            first, last = int(wanted[1]), int(wanted[2])
            extra["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        if body and file.suffix == ".safetensors":
            self.server.weights_sent += len(data)
        self._send(status, data if body else b"", extra, len(data))

    def _send(self, status: int, data: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(model: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[_Server]:
    """A running hub whose repository is a small model; `HF_ENDPOINT` points at it."""
    card = "---\nlicense: apache-2.0\n---\n# Tiny\nWe recommend `temperature=0.3` and min_p=0.15.\n"
    weights = {"embed_tokens.weight": (5000, 8), "lm_head.weight": (5000, 8)}
    folder = model(readme=card, weights=weights)
    running = _Server(("127.0.0.1", 0), _Handler)
    running.folder = folder
    running.tokens_at_storage, running.tokens = [], []
    thread = Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def test_the_audit_reads_headers_only(server: _Server) -> None:
    found = audit(hub.repository("org/tiny", None))
    assert (found.where, found.header_total) == (f"org/tiny@{COMMIT}", 80_000)
    assert (found.parameters, found.tied) == (40_000, "bytes not compared")
    assert server.weights_sent < 1000
    assert "--compare-bytes" in found.notes[0]


def test_tied_bytes_are_read_when_asked(server: _Server) -> None:
    assert audit(hub.repository("org/tiny", None), compare_bytes=True).tied == "bytes agree"


def test_weights_that_another_host_stores_are_read_by_ranges_and_without_the_token(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.redirects = True
    assert audit(hub.repository("org/tiny", None)).parameters == 40_000
    assert server.weights_sent < 1000
    assert set(server.tokens) == {"Bearer hf_secret"}
    assert server.tokens_at_storage
    assert set(server.tokens_at_storage) == {""}


def test_shards_are_found_by_their_index_and_read_by_ranges(server: _Server) -> None:
    (server.folder / "model.safetensors").unlink()
    places = {
        "embed_tokens.weight": "a-00001-of-00002.safetensors",
        "norm.weight": "a-00002-of-00002.safetensors",
    }
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (5000, 8), "norm.weight": (8,)}
    for tensor, file in places.items():
        write_weights(server.folder / file, {tensor: shapes[tensor]})
    (server.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    found = audit(hub.repository("org/tiny", None))
    assert (found.parameters, [file.name for file in found.files]) == (40_008, sorted(places.values()))
    assert server.weights_sent < 1000
    (server.folder / places["norm.weight"]).unlink()
    with pytest.raises(EntryError, match=r"lacks 1 of its 2 shards: a-00002-of-00002\.safetensors"):
        audit(hub.repository("org/tiny", None))


def test_a_hub_that_ignores_ranges_never_sends_the_weights_whole(server: _Server) -> None:
    server.ranges = False
    with pytest.raises(EntryError, match=r"ignored a byte range of model\.safetensors"):
        audit(hub.repository("org/tiny", None))


def test_a_busy_hub(server: _Server) -> None:
    server.busy = True
    with pytest.raises(EntryError, match=r"can't reach the hub's org/tiny: .*429") as caught:
        hub.repository("org/tiny", None)
    assert "\n" not in str(caught.value)


def test_a_typo_in_the_name(server: _Server) -> None:
    with pytest.raises(EntryError, match="the hub has no model repository 'org/tinny'"):
        hub.repository("org/tinny", None)


def test_a_revision_that_does_not_exist(server: _Server) -> None:
    with pytest.raises(EntryError, match="org/tiny has no revision 'v9'"):
        hub.repository("org/tiny", "v9")


def test_a_gated_repository(server: _Server) -> None:
    with pytest.raises(EntryError, match="org/gated is gated: accept its terms"):
        hub.repository("org/gated", None)


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(EntryError, match="can't reach the hub's org/tiny: ") as caught:
        hub.repository("org/tiny", None)
    assert "give a model folder" in str(caught.value)


@pytest.fixture
def repository(server: _Server) -> Any:
    return hub.repository("org/tiny", COMMIT)


CARD = EntryDecoding(
    values=Decoding(temperature=0.3, min_p=0.15),
    source="model card",
    quote="We recommend temperature=0.3 and min_p=0.15.",
    link="https://example.org/README.md",
    sources={"temperature": "card", "min_p": "card"},
)


def _file(repository: Any, **changes: Any) -> EntryFile:
    derived = from_artefacts(repository, "tiny", None, None)
    fields = {name: getattr(derived, name) for name in EntryFile.__struct_fields__ if hasattr(derived, name)}
    open_ = {"template_sha256": "not read yet"}
    return EntryFile(**(fields | {"template_sha256": "", "decoding": CARD, "unverified": open_} | changes))


def test_a_hub_entry_is_pinned_and_derived(repository: Any) -> None:
    entry = from_artefacts(repository, "tiny", None, None)
    assert (entry.repo, entry.revision, entry.path) == ("org/tiny", COMMIT, "")
    assert entry.licence == "apache-2.0"
    assert any("temperature=0.3" in warning for warning in entry.warnings)


def test_its_renderer_needs_no_weights(server: _Server, repository: Any) -> None:
    entry = from_artefacts(repository, "tiny", None, None)
    server.weights_sent = 0
    assert renderer(entry).encode("Q").ids[0] == 2
    assert server.weights_sent == 0


def test_a_reference_to_the_hub(server: _Server) -> None:
    assert resolve(f"org/tiny@{COMMIT}", None).digest == resolve("org/tiny", None).digest
    with pytest.raises(EntryError, match="has no model repository 'org/tiney'"):
        resolve("org/tiney@main", None)


def test_a_lock_fills_in_and_closes(repository: Any) -> None:
    locked = lock(_file(repository), repository, None, compare_bytes=True)
    assert locked.complete, locked.file.unverified
    assert len(locked.file.template_sha256) == 64
    outcomes = {item.field: item.outcome for item in locked.findings}
    assert outcomes["template_sha256"] == "filled in"
    assert outcomes["decoding"] == outcomes["parameters"] == "confirmed"


def test_a_lock_leaves_open_what_it_did_not_read(repository: Any) -> None:
    locked = lock(_file(repository), repository, None)
    assert "their bytes were not compared" in locked.file.unverified["parameters"]


@pytest.mark.parametrize(
    ("changes", "field", "match"),
    [
        ({"stop_ids": (1,)}, "stop_ids", "the model says [1,3]"),
        ({"context": 9}, "context", "the model says 4096"),
        ({"add_bos": True}, "add_bos", "the model says false"),
        ({"parameters": 5}, "parameters", "the model says 40000"),
        ({"revision": "d" * 40}, "revision", "a new revision is a new entry"),
        ({"template_sha256": "e" * 64}, "template_sha256", "from chat_template.jinja"),
    ],
)
def test_a_lock_changes_nothing_that_differs(
    repository: Any, changes: dict[str, Any], field: str, match: str
) -> None:
    file = _file(repository, **changes)
    locked = lock(file, repository, None, compare_bytes=True)
    assert match in locked.file.unverified[field]
    assert getattr(locked.file, field) == getattr(file, field)


def test_an_open_question_about_stop_ids_is_answered(repository: Any) -> None:
    file = _file(repository, stop_ids=(1,), unverified={"stop_ids": "which id ends a turn?"})
    locked = lock(file, repository, None, compare_bytes=True)
    assert (locked.file.stop_ids, locked.complete) == ((1, 3), True)


def test_a_cached_revision_needs_no_network(
    server: _Server, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = from_artefacts(repository, "tiny", None, None)
    cached = Path(repository.small_files())
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(cached))
    server.shutdown()
    assert renderer(entry).encode("Q").ids[0] == 2
    (cached / "chat_template.jinja").unlink()
    assert hub.snapshot("org/tiny", COMMIT) is None


def test_without_network_the_cache_does(
    server: _Server, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = resolve("org/tiny@main", None)
    cached = Path(repository.small_files())
    assert cached.name == COMMIT
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(cached))
    with pytest.raises(EntryError, match="can't reach the hub's org/tiny@main"):
        resolve("org/tiny@main", None)  # the weights were never fetched
    (cached / "model.safetensors").symlink_to(server.folder / "model.safetensors")
    offline = resolve("org/tiny@main", None)
    assert (offline.repo, offline.revision, offline.path) == ("org/tiny", COMMIT, "")
    assert offline.digest == online.digest
    assert f"the hub was not reached: this is commit {COMMIT}" in offline.warnings[-1]


def test_greedy_stays_open_while_the_card_speaks_of_values(repository: Any) -> None:
    greedy = EntryDecoding(values=Decoding(), source="greedy")
    locked = lock(_file(repository, decoding=greedy), repository, None, compare_bytes=True)
    assert "temperature=0.3" in locked.file.unverified["decoding"]
    read = lock(_file(repository, decoding=greedy), repository, None, compare_bytes=True, card_read=True)
    assert read.complete


def test_a_quote_that_the_card_lacks_stays_open(repository: Any) -> None:
    wrong = msgspec.structs.replace(CARD, quote="We recommend temperature=0.3, min_p=0.15 and luck.")
    locked = lock(_file(repository, decoding=wrong), repository, None, compare_bytes=True)
    assert "not in README.md" in locked.file.unverified["decoding"]


def test_the_lock_command_writes_the_file(repository: Any, tmp_path: Path) -> None:
    path = tmp_path / "tiny-chat.toml"
    entry_file.write(_file(repository, name="tiny-chat", revision=""), path, "kept")
    arguments = ["lock", str(path), f"--revision={COMMIT}", "--compare-bytes"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "nothing is open" in done.output
    assert "(3,)" not in done.output
    assert "note:" not in done.output, "the card was quoted: nothing is to be pointed out"
    written = entry_file.read(path)
    assert (written.revision, written.unverified) == (COMMIT, {})
    assert path.read_text(encoding="utf-8").startswith("# kept\n")


def test_an_old_entry_stays_and_says_what_supersedes_it(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "tiny-old.toml"
    entry_file.write(_file(repository, name="tiny-old", revision="a" * 40), old)
    arguments = ["add", f"org/tiny@{COMMIT}", "--to", str(tmp_path / "new"), "--supersedes", str(old)]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert entry_file.read(old).superseded_by == "tiny"
    new = entry_file.read(tmp_path / "new" / "tiny.toml")
    assert (new.revision, list(new.unverified), new.unofficial) == (COMMIT, ["decoding"], "")
    output = " ".join(done.output.split())
    assert "not publishable: decoding is unverified: a person reads the card" in output
    assert "no entry of the edition" not in output
    assert f"then nanolm entry lock {tmp_path / 'new' / 'tiny.toml'}" in done.output.replace("\n", "")


def test_a_new_revision_of_the_same_name_gets_its_revision_behind_it(repository: Any, tmp_path: Path) -> None:
    old = tmp_path / "tiny.toml"
    entry_file.write(_file(repository, name="tiny", revision="a" * 40), old)
    arguments = ["add", f"org/tiny@{COMMIT}", "-o", str(tmp_path), "--supersedes", str(old)]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert entry_file.read(old).superseded_by == "tiny-c0ffee0"
    assert entry_file.read(tmp_path / "tiny-c0ffee0.toml").revision == COMMIT


@pytest.mark.parametrize(
    ("changes", "match"),
    [({"mode": "think"}, "is a think entry, tiny has none"), ({}, "is this very revision")],
)
def test_what_can_not_be_superseded(
    changes: dict[str, Any], match: str, repository: Any, tmp_path: Path
) -> None:
    old = tmp_path / "tiny-old.toml"
    entry_file.write(_file(repository, name="tiny-old", **changes), old)
    with pytest.raises(UsageError, match=match):
        add(f"org/tiny@{COMMIT}", None, tmp_path / "new", supersedes=[str(old)])
    assert not (tmp_path / "new").exists()


def test_an_older_revision_in_the_edition_is_pointed_out(repository: Any) -> None:
    from nanolm import editions

    edition = editions.load("nano-lm-v1")
    entry = from_artefacts(repository, "tiny", None, edition)
    assert older(entry, edition) == []
    newer = msgspec.structs.replace(entry, repo="LiquidAI/LFM2-350M", revision="b" * 40)
    assert older(newer, edition) == ["lfm2-350m"]
