"""Fetching end to end against a server that speaks the hub's file API and GitHub's raw addresses."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import file_download
from huggingface_hub.utils import _http

from nanolm.errors import SourceError
from nanolm.sources import cache, github
from nanolm.sources.fetch import FetchReport, fetch, fetch_from, wanting
from nanolm.sources.files import held_files, source_file, states
from nanolm.sources.lock import UNVERIFIED, SourcesLock, read_lock
from nanolm.sources.rows import read_rows
from tests_protocol.sources.conftest import HUB, RAW, ROWS, jsonl, sha256
from tests_protocol.sources.server import FileServer

Locks = Callable[..., SourcesLock]


def whole(report: FetchReport) -> FetchReport:
    assert report.errors == ()
    assert report.complete
    return report


def rows_of(lock: SourcesLock, name: str) -> list[dict[str, object]]:
    (file,) = held_files(lock, [name], "nanolm fetch")
    return list(read_rows(source_file(file)))


@pytest.mark.parametrize("redirected", [False, True])
def test_both_kinds_come_verified_and_only_once(server: FileServer, lock_of: Locks, redirected: bool) -> None:
    if redirected:
        server.redirected.add(HUB)
    lock, came, finished = lock_of(), [], []
    whole(fetch(lock, advance=came.append, finished=finished.append))
    assert rows_of(lock, "hub") == rows_of(lock, "raw") == ROWS
    assert [state.state for name in lock.sources for state in states(lock, name)] == ["verified"] * 2
    assert sum(came) == len(server.files[HUB]) + len(server.files[RAW])
    assert finished == ["hub/main/test.parquet", "raw/data/some file.jsonl"]
    before = dict(server.gets)
    whole(fetch(lock))
    assert dict(server.gets) == before
    assert server.authorised == []


@pytest.mark.parametrize(
    "faults", [["short"], ["short", "short", "503", "short"], ["429", "short", "slow-range"]]
)
def test_a_broken_download_goes_on_where_it_stopped(
    server: FileServer, lock_of: Locks, faults: list[str]
) -> None:
    server.faults[RAW] = list(faults)
    lock = lock_of()
    whole(fetch(lock, ["raw"]))
    assert rows_of(lock, "raw") == ROWS
    assert f"bytes={len(server.files[RAW]) // 2}-" in server.ranges


def test_a_download_goes_on_in_the_next_run(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github, "ATTEMPTS", 1)
    server.faults[RAW] = ["short"]
    lock = lock_of()
    (error,) = fetch(lock, ["raw"]).errors
    assert "run the same command again to go on" in error
    assert [state.state for state in states(lock, "raw")] == ["missing"]
    whole(fetch(lock, ["raw"]))
    assert server.ranges == [f"bytes={len(server.files[RAW]) // 2}-"]


def test_a_part_that_is_no_beginning_of_the_file_starts_over(server: FileServer, lock_of: Locks) -> None:
    lock = lock_of()
    source = lock["raw"]
    part = cache.part_of(f"github:{source.repository}@{source.revision}:{source.file[0].path}")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * (len(server.files[RAW]) + 7))
    whole(fetch(lock, ["raw"]))
    assert rows_of(lock, "raw") == ROWS


@pytest.mark.parametrize(("name", "address"), [("hub", HUB), ("raw", RAW)])
def test_wrong_bytes_are_refused_with_both_sums_and_not_used_again(
    server: FileServer, lock_of: Locks, name: str, address: str
) -> None:
    right = server.files[address]
    server.files[address] = right[::-1]
    lock = lock_of()
    (error,) = fetch(lock, [name]).errors
    assert "wrong bytes" in error
    assert sha256(right) in error
    assert sha256(right[::-1]) in error
    assert [state.state for state in states(lock, name)] == ["missing"]
    server.files[address] = right
    whole(fetch(lock, [name]))


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, "EntryNotFound", "the repository has no such file at that revision"),
        (404, "RevisionNotFound", "no such revision"),
        (401, "RepoNotFound", "knows no such repository"),
        (403, "GatedRepo", r"is gated: accept its terms at http://.*/datasets/owner/data and set HF_TOKEN"),
        (500, "", "hub|500|can't reach"),
    ],
)
def test_what_the_hub_refuses_is_said(
    server: FileServer, lock_of: Locks, status: int, code: str, message: str
) -> None:
    server.status[HUB] = (status, code)
    report = fetch(lock_of())
    (error,) = report.errors
    assert error.startswith("hub: main/test.parquet of owner/data at 0123456789ab")
    assert re.search(message, error), error
    assert [source.source for source in report.sources if source.complete] == ["raw"]


def test_what_github_refuses_is_said(server: FileServer, lock_of: Locks) -> None:
    lock = lock_of()
    del server.files[RAW]
    assert "no such file (404)" in fetch(lock, ["raw"]).errors[0]
    server.status[RAW] = (503, "")
    assert "the server answered 503 (tried 5 times)" in fetch(lock, ["raw"]).errors[0]
    server.status[RAW] = (403, "")
    assert "access refused (403)" in fetch(lock, ["raw"]).errors[0]


def test_no_network_is_said(server: FileServer, lock_of: Locks) -> None:
    server.shutdown()
    server.server_close()
    hub, raw = fetch(lock_of()).errors
    assert "can't reach http://127.0.0.1" in hub
    assert "--from" in hub
    assert "the connection failed" in raw


def test_a_host_that_can_not_be_reached_is_not_tried_for_every_file(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from nanolm.sources import fetch as fetching

    monkeypatch.setattr(fetching, "PARALLEL", 1)
    server.shutdown()
    server.server_close()
    path = lock_of().path
    text = path.read_text("utf-8")
    second = text[text.index("[source.raw]") :].replace("source.raw", "source.more")
    path.write_text(text + second.replace("owner/code", "owner/more"), "utf-8")
    hub, raw, more = fetch(read_lock(path)).errors
    assert "check the network, the proxy variables or NANOLM_GITHUB_ENDPOINT" in raw
    assert "is kept" not in raw
    assert f"more: data/some file.jsonl was not tried, since {server.address} can't be reached" in more
    assert "can't reach" in hub
    assert capfd.readouterr() == ("", "")


def test_an_endpoint_that_is_no_address_is_said(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setenv("NANOLM_GITHUB_ENDPOINT", "nonsense")
    monkeypatch.setattr(constants, "ENDPOINT", "nonsense")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", "nonsense/{repo_id}/resolve/{revision}/{filename}"
    )
    hub, raw = fetch(lock_of()).errors
    assert "NANOLM_GITHUB_ENDPOINT is 'nonsense'; expected an address with https://" in raw
    assert "check HF_ENDPOINT" in hub


def test_an_interrupted_fetch_ends_at_once_and_goes_on_later(
    server: FileServer, lock_of: Locks, tmp_path: Path
) -> None:
    """Ctrl-C while bytes still come: nobody waits for the rest of the file."""
    server.files[RAW] = jsonl(ROWS * 20)
    server.faults[RAW] = ["slow"]
    lock = lock_of(raw=sha256(server.files[RAW]))
    program = (
        # a shell's background jobs, and what they start, ignore Ctrl-C
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import sys; from pathlib import Path; from nanolm.sources.fetch import fetch; "
        "from nanolm.sources.lock import read_lock; fetch(read_lock(Path(sys.argv[1])), ['raw'])"
    )
    environment = {**os.environ, "HF_ENDPOINT": server.address}
    running = subprocess.Popen(
        [sys.executable, "-c", program, str(lock.path)], env=environment, stderr=subprocess.DEVNULL
    )
    part = cache.part_of(f"github:{lock['raw'].repository}@{lock['raw'].revision}:data/some file.jsonl")
    until = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) != 0
    came = part.stat().st_size
    assert 0 < came < len(server.files[RAW])
    whole(fetch(lock, ["raw"]))
    assert server.ranges == [f"bytes={came}-"]


def test_offline_mode_is_respected(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for error in fetch(lock_of()).errors:
        assert "HF_HUB_OFFLINE is set" in error
    assert server.gets.total() == 0


def test_a_full_disk_is_said(server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "fsync", full)
    lock = lock_of()
    errors = fetch(lock).errors
    assert len(errors) == 2
    assert all(
        "No space left on device. Make room, or name another folder with NANOLM_CACHE" in e for e in errors
    )
    assert not list((cache.cache_folder() / "sources").glob(".incoming-*"))
    monkeypatch.undo()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOENT])
def test_a_cache_that_can_not_be_written_is_said(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(self: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache.FileLock, "acquire", refuse)
    for error in fetch(lock_of()).errors:
        assert re.search(
            f"can't write below .*parts: {os.strerror(number)}. .*ame another folder with NANOLM_CACHE", error
        )
        assert ("Make room" in error) == (number == errno.ENOSPC)
    assert server.gets.total() == 0


def test_a_file_that_can_not_be_read_is_no_fault_of_the_cache(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.jsonl can't be read: No such file") as caught:
        cache.keep(tmp_path / "gone.jsonl", None, "gone.jsonl", "a file")
    assert "NANOLM_CACHE" not in str(caught.value)


def test_two_fetches_at_once_download_once(server: FileServer, lock_of: Locks) -> None:
    lock = lock_of()
    reports: list[FetchReport] = []
    threads = [threading.Thread(target=lambda: reports.append(fetch(lock))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [whole(report).complete for report in reports] == [True] * 4
    assert server.gets[RAW] == 1
    assert server.gets[HUB] == 1


def test_retries_are_not_for_the_terminal(server: FileServer, lock_of: Locks, tmp_path: Path) -> None:
    server.faults[HUB] = ["short"]
    server.faults[RAW] = ["short"]
    program = (
        "import sys; from pathlib import Path; from nanolm.sources.fetch import fetch; "
        "from nanolm.sources.lock import read_lock; report = fetch(read_lock(Path(sys.argv[1]))); "
        "sys.exit(0 if report.complete and not report.errors else 1)"
    )
    environment = {**os.environ, "HF_ENDPOINT": server.address, "HF_HOME": str(tmp_path / "hf-home")}
    command = [sys.executable, "-c", program, str(lock_of().path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert server.gets[HUB] == 2


@pytest.mark.parametrize("name", ["hub", "raw"])
def test_connections_that_another_download_closed_are_opened_again(
    server: FileServer, lock_of: Locks, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """huggingface_hub closes the client that all threads share when one connection fails."""
    import huggingface_hub

    real = huggingface_hub.get_session
    closed: list[bool] = []

    def session() -> object:
        found = real()
        if not closed:
            closed.append(True)
            huggingface_hub.close_session()
        return found

    monkeypatch.setattr(huggingface_hub, "get_session", session)
    monkeypatch.setattr(_http, "get_session", session)
    monkeypatch.setattr(file_download, "get_session", session, raising=False)
    whole(fetch(lock_of(), [name]))
    assert closed


def test_two_processes_with_the_real_settings(server: FileServer, lock_of: Locks, tmp_path: Path) -> None:
    """HF_ENDPOINT and HF_HOME as a user sets them, read by the library itself."""
    lock = lock_of()
    program = (
        "import sys; from pathlib import Path; from nanolm.sources.fetch import fetch; "
        "from nanolm.sources.lock import read_lock; report = fetch(read_lock(Path(sys.argv[1]))); "
        "print(report.errors); sys.exit(0 if report.complete and not report.errors else 1)"
    )
    environment = {**os.environ, "HF_ENDPOINT": server.address, "HF_HOME": str(tmp_path / "hf-home")}
    environment.pop("HF_HUB_CACHE", None)
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(lock.path)], env=environment) for _ in range(2)
    ]
    assert [each.wait(60) for each in running] == [0, 0]
    assert server.gets[RAW] == 1
    assert list((tmp_path / "hf-home").rglob("test.parquet"))


def test_unverified_files_are_noted(server: FileServer, lock_of: Locks) -> None:
    lock = lock_of(hub=UNVERIFIED)
    assert wanting(lock, "hub")
    whole(fetch(lock, ["hub"]))
    assert [state.state for state in states(lock, "hub")] == ["unverified"]
    assert not wanting(lock, "hub")
    known = cache.found_sum(lock["hub"], lock["hub"].file[0])
    assert known == cache.Sum(sha256(server.files[HUB]), len(server.files[HUB]))


def test_an_unverified_file_is_downloaded_anew_when_asked(server: FileServer, lock_of: Locks) -> None:
    """A login page that a network put in a file's place is not kept for ever."""
    right = server.files[HUB]
    server.files[HUB] = b"<html>log in</html>"
    lock = lock_of(hub=UNVERIFIED)
    whole(fetch(lock, ["hub"]))
    server.files[HUB] = right
    whole(fetch(lock, ["hub"]))
    assert cache.found_sum(lock["hub"], lock["hub"].file[0]) != cache.Sum(sha256(right), len(right))
    whole(fetch(lock, ["hub"], again=True))
    assert rows_of(lock, "hub") == ROWS
    assert cache.found_sum(lock["hub"], lock["hub"].file[0]) == cache.Sum(sha256(right), len(right))


def test_the_hubs_own_sum_is_checked_where_none_is_pinned(server: FileServer, lock_of: Locks) -> None:
    server.faults[HUB] = ["wrong"]
    lock = lock_of(hub=UNVERIFIED)
    (error,) = fetch(lock, ["hub"]).errors
    assert f"the hub says {sha256(server.files[HUB])}. It was refused and removed; try again" in error
    assert cache.found_sum(lock["hub"], lock["hub"].file[0]) is None
    whole(fetch(lock, ["hub"]))
    assert rows_of(lock, "hub") == ROWS


def mirror(data: bytes) -> str:
    return (
        f'[[source.hub.file.mirror]]\nform = "lines"\npath = "copy/test.jsonl"\nsha256 = "{sha256(data)}"\n'
        f"bytes = {len(data)}\n"
    )


def test_official_files_and_mirror_forms_are_taken_from_a_folder(
    server: FileServer, lock_of: Locks, tmp_path: Path
) -> None:
    place = tmp_path / "given"
    (place / "copy").mkdir(parents=True)
    (place / "copy" / "test.jsonl").write_bytes(jsonl(ROWS))
    lock = lock_of(hub=UNVERIFIED, mirrors=mirror(jsonl(ROWS)))
    report = fetch_from(lock, place)
    assert report.errors == ()
    assert [source.complete for source in report.sources] == [True, False]
    assert [(state.state, state.form) for state in states(lock, "hub")] == [("mirror", "lines")]
    assert rows_of(lock, "hub") == ROWS
    for official in ("raw/data/some file.jsonl", "owner/code/data/some file.jsonl", "data/some file.jsonl"):
        (place / official).parent.mkdir(parents=True, exist_ok=True)
        (place / official).write_bytes(jsonl(ROWS))
        assert fetch_from(lock, place, ["raw"]).complete
        (place / official).unlink()
    # The official file takes the mirror's place once it is had.
    whole(fetch(lock, ["hub"]))
    assert [(state.state, state.form) for state in states(lock, "hub")] == [("unverified", "official")]
    assert server.gets[RAW] == 0


def test_wrong_bytes_in_a_folder_are_refused(server: FileServer, lock_of: Locks, tmp_path: Path) -> None:
    place = tmp_path / "given"
    (place / "copy").mkdir(parents=True)
    (place / "copy" / "test.jsonl").write_bytes(b"other")
    lock = lock_of(mirrors=mirror(jsonl(ROWS)))
    (error,) = fetch_from(lock, place, ["hub"]).errors
    assert sha256(b"other") in error
    assert sha256(jsonl(ROWS)) in error
    assert not any(path.is_file() for path in (cache.cache_folder() / "sources").rglob("*"))
    with pytest.raises(Exception, match="is not a folder"):
        fetch_from(lock, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("kind", "message"),
    [("folder", "is a folder"), ("loop", "is a broken link"), ("dangling", "is a broken link")],
)
def test_what_is_no_file_in_a_folder_is_said(
    server: FileServer, lock_of: Locks, tmp_path: Path, kind: str, message: str
) -> None:
    place = tmp_path / "given" / "copy" / "test.jsonl"
    place.parent.mkdir(parents=True)
    if kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("test.jsonl" if kind == "loop" else "nowhere")
    (error,) = fetch_from(lock_of(mirrors=mirror(jsonl(ROWS))), tmp_path / "given", ["hub"]).errors
    assert f"{place} {message}; expected the file itself there, or nothing" in error


def test_a_cached_file_that_was_changed_is_found_out(server: FileServer, lock_of: Locks) -> None:
    lock = lock_of()
    whole(fetch(lock))
    (state,) = states(lock, "raw")
    assert state.local is not None
    state.local.write_bytes(server.files[RAW][::-1])
    (error,) = fetch_from(lock, Path(lock.path.parent), ["raw"]).errors
    assert "was changed" in error
    assert not state.local.exists()
    whole(fetch(lock))
