"""A small server that speaks the hub's file API and GitHub's raw addresses, with faults on request."""

import hashlib
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_BLOCK = 4096


class FileServer(ThreadingHTTPServer):
    """Serves `files`, address to bytes; the hub's are `/datasets/<repository>/resolve/<revision>/<path>`.

    `faults[address]` is a list that is used up, one a GET: `short` (the connection ends half-way),
    `503`, `429`, `slow-range` (ranges are ignored), `slow` (a block every now and then), `wrong` (other
    bytes). `status[address]` is a status
    that stays, with the hub's error code. Addresses in `redirected` lead to a `/cdn/` address, as files
    in large storage do.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.status: dict[str, tuple[int, str]] = {}
        self.redirected: set[str] = set()
        self.gets: Counter[str] = Counter()
        self.ranges: list[str] = []
        self.authorised: list[str] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def log_message(self, format: str, *arguments: Any) -> None:
        """Tests are quiet."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self.server.gets[self.path] += 1
        if "Range" in self.headers:
            self.server.ranges.append(self.headers["Range"])
        if "Authorization" in self.headers:
            self.server.authorised.append(self.headers["Authorization"])
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        server = self.server
        if self.path in server.status:
            status, code = server.status[self.path]
            self._send(status, b"", {"X-Error-Code": code, "X-Error-Message": code}, body)
            return
        if self.path not in server.files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
            return
        data = server.files[self.path]
        headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "Accept-Ranges": "bytes"}
        if "/resolve/" in self.path:
            headers["X-Repo-Commit"] = self.path.split("/resolve/")[1].split("/")[0]
        if self.path in server.redirected:
            cdn = f"/cdn{self.path}"
            server.files[cdn] = data
            linked = {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data))}
            self._send(302, b"", {**headers, **linked, "Location": server.address + cdn}, body)
            return
        self._file(data, headers, body)

    def _file(self, data: bytes, headers: dict[str, str], body: bool) -> None:
        faults = self.server.faults.get(self.path, [])
        fault = faults.pop(0) if body and faults else ""
        if fault.isdigit():
            self._send(int(fault), b"", {"Retry-After": "0"}, body)
            return
        if fault == "wrong":
            data = data[::-1]
        start, status = 0, 200
        if body and "Range" in self.headers and fault != "slow-range":
            start = int(self.headers["Range"].removeprefix("bytes=").partition("-")[0])
            if start >= len(data):
                self._send(416, b"", {"Content-Range": f"bytes */{len(data)}"}, body)
                return
            status = 206
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._send(status, data[start:], headers, body, short=fault == "short", slow=fault == "slow")

    def _send(
        self,
        status: int,
        data: bytes,
        headers: dict[str, str],
        body: bool,
        short: bool = False,
        slow: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if slow:
            for start in range(0, len(data), _BLOCK):
                self.wfile.write(data[start : start + _BLOCK])
                self.wfile.flush()
                time.sleep(0.2)
        elif body:
            self.wfile.write(data[: len(data) // 2] if short else data)
        if short:
            self.wfile.flush()
            self.close_connection = True
