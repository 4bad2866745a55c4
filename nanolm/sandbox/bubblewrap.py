"""The sandbox: bubblewrap with no network, a read-only minimal root and an unprivileged user.

What a program can reach: `/usr` and the libraries, the evaluator's environment and data, all
read-only; a `/tmp` and `/dev/shm` of its own in memory. No network, no `/proc`, no home, no other
process, no privileges. Linux only. There is no way to run programs without it.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from nanolm.errors import SandboxError

SCRATCH_BYTES = 1 << 30
SHM_BYTES = 64 << 20
FILE_BYTES = 256 << 20
PROCESSES = 64
DESCRIPTORS = 256
EVALUATOR_BYTES = 4 << 30
"""What the evaluators give each program with setrlimit; a lower hard limit makes all samples time out."""

REMEDY_INSTALL = (
    "install bubblewrap 0.7 or newer (Debian, Ubuntu: apt-get install bubblewrap; "
    "Fedora: dnf install bubblewrap)"
)
REMEDIES = (
    (
        r"setting up uid map|loopback: Failed RTM_NEWADDR|AppArmor",
        "Ubuntu 24.04 and newer forbid user namespaces to programs without an AppArmor profile: add one for "
        "bwrap (docs/code-execution.md), or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        r"No permissions to create|Creating new namespace failed|clone: Operation not permitted",
        "user namespaces are forbidden here. In Docker: --security-opt seccomp=unconfined, or use podman. On "
        "Debian: sysctl kernel.unprivileged_userns_clone=1. On Ubuntu 24.04 and newer: an AppArmor profile "
        "for bwrap (docs/code-execution.md)",
    ),
    (
        r"(mount|pivot_root|make / slave).*(Operation not permitted|Permission denied)",
        "mounts are forbidden here. In Docker: --security-opt seccomp=unconfined --security-opt "
        "apparmor=unconfined, or use podman",
    ),
)


class Mount(msgspec.Struct, frozen=True):
    """A file or folder shown read-only inside."""

    source: Path
    place: str


@cache
def bwrap() -> tuple[str, tuple[int, ...]]:
    """Path and version of bubblewrap; `SandboxError` where there is none that can be used."""
    if sys.platform != "linux":
        raise SandboxError(
            f"programs can't be run on {sys.platform}: the sandbox is bubblewrap, which needs Linux, and the "
            "official evaluators' memory limits fail on macOS. Run the code benchmarks in a virtual machine"
        )
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxError(f"no sandbox: bwrap is not on PATH. To run programs, {REMEDY_INSTALL}")
    shown = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=10, check=False
    ).stdout
    version = tuple(int(n) for n in re.findall(r"\d+", shown)[:3])
    if version < (0, 7):
        raise SandboxError(f"bwrap at {path} is {shown.strip() or 'of unknown version'}; {REMEDY_INSTALL}")
    return path, version


def check_limits() -> None:
    """`SandboxError` when a hard limit here would turn every sample into a time-out."""
    for name in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_STACK"):
        _, hard = resource.getrlimit(getattr(resource, name))
        if hard != resource.RLIM_INFINITY and hard < EVALUATOR_BYTES:
            raise SandboxError(
                f"the hard limit {name} is {hard:,} bytes; the evaluators set {EVALUATOR_BYTES:,} for each "
                "program and would count every sample as timed out. Raise it (ulimit -H, or limits.conf)"
            )


def command(inside: Sequence[str], mounts: Sequence[Mount], *, user: int, meminfo: int) -> list[str]:
    """The command that runs `inside` in a new sandbox.

    `user` numbers the sandboxes of this process: as root each gets a user id of its own, because the
    process limit counts by user. `meminfo` is a file descriptor (passed on) with the text of /proc/meminfo.
    """
    path, version = bwrap()
    own = own_user(user)
    line = [path, "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    line += ["--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    if own is None:
        line += ["--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
        if version >= (0, 8):
            line.append("--disable-userns")
    line += [*system(), "--dev", "/dev"]
    # bubblewrap's own /dev/shm belongs to its creator; the evaluators share memory there.
    line += ["--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    line += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp"]
    # EvalPlus asks psutil how much memory there is. It is all of /proc that is shown.
    line += ["--perms", "0444", "--ro-bind-data", str(meminfo), "/proc/meminfo"]
    for mount in mounts:
        line += [*parents(mount.place), "--ro-bind", str(mount.source), mount.place]
    line += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        line += ["--setenv", name, value]
    line += ["--", "/usr/bin/prlimit", f"--nproc={PROCESSES}", f"--fsize={FILE_BYTES}"]
    line += [f"--nofile={DESCRIPTORS}", "--core=0", "--"]
    if own is not None:
        uid = str(own)
        line += ["/usr/bin/setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--no-new-privs"]
        line += ["--inh-caps=-all", "--bounding-set=-all", "--pdeathsig", "KILL"]
    return [*line, *inside]


ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "XDG_CACHE_HOME": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # The order of sets of strings is the same for references and samples, and in every run.
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
}


def system() -> list[str]:
    """The read-only root: /usr, the links or folders of libraries beside it, and this Python's home."""
    line = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            line += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            line += ["--ro-bind", name, name]
    line += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for prefix in dict.fromkeys((sys.base_prefix, os.path.realpath(sys.base_prefix))):
        if not Path(prefix).is_relative_to("/usr"):
            line += [*parents(prefix), "--ro-bind", prefix, prefix]
    return line


def parents(place: str) -> list[str]:
    """The folders above a mount, open to the sandbox's user whatever mode bubblewrap would choose."""
    line = []
    for folder in reversed(Path(place).parents[:-1]):
        line += ["--perms", "0755", "--dir", str(folder)]
    return line


def own_user(number: int) -> int | None:
    """A user id that no account and no other sandbox uses, for root to become.

    None for an ordinary user, and for a root that can become nobody else (in a container with one user id).
    """
    if os.geteuid() != 0:
        return None
    candidates = (
        0x70000000 + ((os.getpid() << 6 | number & 63) & 0xFFFFFFF),
        60000 + (os.getpid() * 8 + number) % 5000,
    )
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:
        return candidates[1]
    ranges = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    for candidate in candidates:
        if any(first <= candidate < first + count for first, count in ranges):
            return candidate
    return None


def start(
    inside: Sequence[str], mounts: Sequence[Mount], *, user: int, errors: int
) -> subprocess.Popen[bytes]:
    """Start a sandbox with pipes to its standard input and output.

    It ends when its input does, and when the thread that started it ends: nothing outlives the main process.
    """
    with open("/proc/meminfo", "rb") as file:
        text = file.read()
    meminfo = os.memfd_create("meminfo")
    try:
        os.write(meminfo, text)
        os.lseek(meminfo, 0, os.SEEK_SET)
        return subprocess.Popen(
            command(inside, mounts, user=user, meminfo=meminfo),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(meminfo,),
            start_new_session=True,
        )
    finally:
        os.close(meminfo)


def explain(message: str) -> SandboxError:
    """What bubblewrap said, with the remedy for it."""
    said = " ".join(message.split())[-400:] or "it said nothing"
    for signs, remedy in REMEDIES:
        if re.search(signs, message):
            return SandboxError(f"no working sandbox, so no program is run: {said}. Remedy: {remedy}")
    return SandboxError(
        f"no working sandbox, so no program is run: {said}. "
        "See docs/code-execution.md, and try `bwrap --ro-bind / / true`"
    )
