"""Without a working sandbox nothing is run, and the reason and the remedy are named."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanolm.errors import SandboxError
from nanolm.sandbox import bubblewrap, environment, probe


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    bubblewrap.bwrap.cache_clear()
    yield
    bubblewrap.bwrap.cache_clear()


def _stand_in(folder: Path, script: str) -> None:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"bwrap is not on PATH.*apt-get install bubblewrap"):
        probe.probe()


def test_an_old_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _stand_in(tmp_path, "echo bubblewrap 0.4.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxError, match=r"is bubblewrap 0\.4\.1; install bubblewrap 0\.7 or newer"):
        probe.probe()


def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match=r"darwin.*needs Linux"):
        bubblewrap.bwrap()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("bwrap: setting up uid map: Permission denied", "AppArmor profile"),
        ("bwrap: No permissions to create new namespace, likely because the kernel", "seccomp=unconfined"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "seccomp=unconfined"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor profile"),
        ("bwrap: pivot_root: Operation not permitted", "podman"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "podman"),
        ("bwrap: Can't bind mount /x on /newroot/x: No such file or directory", "docs/code-execution.md"),
        ("bwrap: something nobody has seen", "docs/code-execution.md"),
    ],
)
def test_a_failing_bubblewrap_is_explained(
    said: str, remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _stand_in(tmp_path, f'[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\necho "{said}" >&2\nexit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxError, match=r"no program is run") as caught:
        probe.probe()
    assert said in str(caught.value)
    assert remedy in str(caught.value)


def test_a_hard_limit_that_would_time_out_every_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = (8 << 20, 8 << 20)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limit)
    with pytest.raises(SandboxError, match=r"RLIMIT_AS is 8,388,608 bytes"):
        probe.probe()


@pytest.mark.parametrize("suite", ["mbpp", "evoeval"])
def test_evaluators_that_are_not_installed(suite: environment.Suite, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"is not installed in .*; run: nanolm evaluators install"):
        environment.require(suite, tmp_path)


@pytest.mark.parametrize("suite", ["mbpp", "evoeval"])
def test_evaluators_of_another_version(suite: environment.Suite, tmp_path: Path) -> None:
    made, right = environment.environment(suite, tmp_path), environment.RELEASES[suite]
    environment.check_versions(made, {"python": "3.11.7", "numpy": "1.26.4"} | right)
    for versions in (right | {"evalplus": "0.3.2"}, {"numpy": "1.26.4"}):
        with pytest.raises(SandboxError, match=r"evalplus (0\.3\.2|none), expected .*evaluators install"):
            environment.check_versions(made, versions)


@pytest.mark.parametrize("name", [environment.BUILD_LOCK, *environment.LOCKS.values()])
def test_every_requirement_is_pinned_and_hashed(name: str) -> None:
    text = (Path(environment.__file__).parent / "locks" / name).read_text()
    entries = [entry for entry in text.replace("\\\n", " ").splitlines() if entry and entry[0] != "#"]
    assert entries
    for entry in entries:
        assert "==" in entry.split()[0]
        assert "--hash=sha256:" in entry
    assert "://" not in text


def test_the_releases_are_the_protocols() -> None:
    """§7."""
    for suite, releases in environment.RELEASES.items():
        text = (Path(environment.__file__).parent / "locks" / environment.LOCKS[suite]).read_text()
        for name, version in releases.items():
            assert f"{name}=={version} " in text


@pytest.mark.code
def test_the_probe_holds_here() -> None:
    probe.probe()


PROBE = """
from nanolm.errors import SandboxError
from nanolm.sandbox.probe import probe
try:
    probe()
    print("holds")
except SandboxError as error:
    print(error)
"""


def _probe_as(*options: str) -> str:
    """What the probe says in another user namespace, as an ordinary user or a container would have it."""
    around = ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    around += ["--bind", tempfile.gettempdir(), tempfile.gettempdir(), *options, "--"]
    done = subprocess.run([*around, sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no user namespaces here: {done.stderr.strip()}")
    return done.stdout.strip()


@pytest.mark.code
@pytest.mark.parametrize("user", ["1234", "0"], ids=["ordinary", "root of one user id"])
def test_it_holds_without_being_root(user: str) -> None:
    assert _probe_as("--uid", user, "--gid", user) == "holds"


@pytest.mark.code
@pytest.mark.parametrize("user", ["1234", "0"], ids=["ordinary", "root of one user id"])
def test_where_user_namespaces_are_forbidden_nothing_is_run(user: str) -> None:
    said = _probe_as("--uid", user, "--gid", user, "--disable-userns")
    assert said.startswith("no working sandbox, so no program is run: bwrap: Creating new namespace failed")
    assert "Remedy: user namespaces are forbidden here" in said


@pytest.mark.code
def test_a_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe itself is put to the test: with the network shared it must refuse."""
    whole = bubblewrap.command

    def leaky(*arguments: object, **named: object) -> list[str]:
        return [word for word in whole(*arguments, **named) if word != "--unshare-net"]  # type: ignore[arg-type]

    monkeypatch.setattr(bubblewrap, "command", leaky)
    with pytest.raises(
        SandboxError, match=r"the sandbox leaks, so no program is run: .*port of this machine"
    ):
        probe.probe()
