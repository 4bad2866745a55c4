"""Shows by doing that the sandbox holds: what a program could try outside is tried inside and fails."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from nanolm.errors import SandboxError
from nanolm.sandbox import bubblewrap
from nanolm.sandbox.bubblewrap import Mount

PLACE = "/nanolm/probe.py"

# Runs inside; prints what it could do. Standard library only.
ATTEMPTS = r"""
import json, os, socket, sys
port, name, canary, home = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
could = []
def attempt(what, do):
    try:
        do()
    except Exception:
        return
    could.append(what)
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
        s.send(b"x")
attempt("connect to a port of this machine", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
attempt("connect to a local socket", lambda: connect(socket.AF_UNIX, "\0" + name))
attempt("send to the network", lambda: connect(socket.AF_INET, ("192.0.2.1", 9), socket.SOCK_DGRAM))
attempt("resolve a name", lambda: socket.getaddrinfo("example.com", 80))
attempt("read a file of this machine", lambda: open(canary).read())
attempt("write a file of this machine", lambda: open(canary, "w").close())
attempt("list a home folder", lambda: os.listdir(home) if os.path.exists(home + "/.bashrc") else 1 / 0)
for folder in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/nanolm", "/proc"):
    attempt("write to " + folder, lambda: open(folder + "/nanolm-probe", "w").close())
attempt("see other processes", lambda: os.kill(os.getppid() or -1, 0))
attempt("be root", lambda: 1 / (os.getuid() != 0 and 0 or 1) if os.getuid() == 0 else 1 / 0)
could_not = []
def need(what, do):
    try:
        do()
    except Exception as error:
        could_not.append(f"{what}: {error}")
need("write to /tmp", lambda: open("/tmp/x", "w").close())
need("write to /dev/shm", lambda: open("/dev/shm/x", "w").close())
need("start a process", lambda: os.waitpid(os.fork() or os._exit(0), 0))
print(json.dumps({"could": could, "could_not": could_not}))
"""


class Found(msgspec.Struct):
    """What the probe could do and could not."""

    could: list[str]
    could_not: list[str]


def probe() -> None:
    """Start one sandbox and try to get out of it, some 50 ms.

    Raises `SandboxError` when there is no working sandbox, or when it lets anything through: then no
    program is run at all.
    """
    bubblewrap.check_limits()
    name = f"nanolm-{secrets.token_hex(8)}"
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.bind("\0" + name)
        local.listen()
        os.chmod(folder, 0o777)
        canary, script = Path(folder, "canary"), Path(folder, "probe.py")
        canary.write_text("alive")
        canary.chmod(0o666)
        script.write_text(ATTEMPTS)
        script.chmod(0o444)
        arguments = [str(port.getsockname()[1]), name, str(canary), os.path.expanduser("~")]
        found = _run([_python(), "-I", "-S", PLACE, *arguments], Mount(script, PLACE))
        for listener, what in ((port, "a port of this machine"), (local, "a local socket")):
            listener.setblocking(False)
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            found.could.append(f"reach {what}")
        if canary.read_text() != "alive":
            found.could.append("change a file of this machine")
    if found.could:
        raise SandboxError(
            f"the sandbox leaks, so no program is run: inside one could {'; '.join(found.could)}"
        )
    if found.could_not:
        raise SandboxError(f"the sandbox is too tight for the evaluators: {'; '.join(found.could_not)}")


def _run(inside: list[str], mount: Mount) -> Found:
    process = bubblewrap.start(inside, [mount], user=62, errors=subprocess.PIPE)
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise SandboxError("no working sandbox: a first trial did not end in 60 seconds") from None
    if process.returncode or not out:
        raise bubblewrap.explain(errors.decode(errors="replace"))
    return msgspec.convert(json.loads(out), Found)


def _python() -> str:
    """The interpreter itself: the environment's links point to a place the sandbox doesn't show."""
    return os.path.realpath(sys.executable)
