"""Programs that harm, hang, crash or cheat, and what each must come to.

All are answers to the task `largest(numbers)`. The evaluators take `os.kill`, `open` and the like
away from programs, so those that mean harm go through `posix` and `ctypes` as a determined one would.
"""

from typing import NamedTuple

DEF = "def largest(numbers):\n"
MAX = "    return max(numbers)\n"


class Sample(NamedTuple):
    """A program and the statuses that are right for it."""

    program: str
    statuses: tuple[str, ...]


def _body(*lines: str) -> str:
    return DEF + "".join(f"    {line}\n" for line in lines)


FAIL, TIMEOUT, ERROR, PASS = ("fail",), ("timeout",), ("error",), ("pass",)

SAMPLES: dict[str, Sample] = {
    # Time
    "loop in the function": Sample(_body("while True: pass"), FAIL),
    "loop that catches everything": Sample(
        _body("while True:", "    try:", "        while True: pass", "    except BaseException: pass"),
        ("timeout", "fail"),
    ),
    "loop at module level": Sample("while True: pass\n", TIMEOUT),
    "loop deaf to signals": Sample(
        "import signal\nfor s in (signal.SIGALRM, signal.SIGTERM):\n    signal.signal(s, signal.SIG_IGN)\n"
        "while True: pass\n",
        TIMEOUT,
    ),
    "regular expression that blows up": Sample(
        "import re\n" + _body("return re.match('(a+)+$', 'a' * 40 + 'b')"), FAIL
    ),
    "sleep": Sample("import time\n" + _body("time.sleep(1000)"), FAIL),
    "a great power": Sample(_body("return 7 ** (10 ** 9)"), ("fail", "timeout")),
    # What is left behind
    "left-over thread": Sample(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n" + DEF + MAX,
        PASS,
    ),
    "left-over forked child": Sample(
        "import posix, time\nif posix.fork() == 0:\n    while True: time.sleep(1000)\n" + DEF + MAX, PASS
    ),
    "fork bomb": Sample(
        "import posix\nwhile True:\n    try:\n        posix.fork()\n    except OSError: pass\n",
        ("timeout", "fail", "error"),
    ),
    "daemon in a session of its own": Sample(
        "import posix, time\nif posix.fork() == 0:\n    posix.setsid()\n    if posix.fork() == 0:\n"
        "        time.sleep(1000)\n    posix._exit(0)\n" + DEF + MAX,
        ("pass", "timeout"),
    ),
    # Ends of processes
    "os._exit(0)": Sample("import os\n" + _body("os._exit(0)"), TIMEOUT),
    "os._exit with the mark of a pass": Sample("import os\n" + _body("os._exit(64)"), TIMEOUT),
    "sys.exit(0)": Sample("import sys\nsys.exit(0)\n", FAIL),
    "sys.exit(0) in the function": Sample("import sys\n" + _body("sys.exit(0)"), FAIL),
    "segmentation fault": Sample("import ctypes\n" + _body("ctypes.string_at(0)"), TIMEOUT),
    "abort": Sample("import posix\n" + _body("posix.abort()"), TIMEOUT),
    "kill the checker": Sample("import posix\nposix.kill(posix.getppid(), 9)\n", ERROR),
    "kill all there is": Sample("import posix\nposix.kill(-1, 9)\n", ("error", "timeout")),
    "kill process 1": Sample("import posix\nposix.kill(1, 9)\nposix.kill(1, 2)\n" + DEF + MAX, PASS),
    "stop the checker": Sample("import posix\nposix.kill(posix.getppid(), 19)\n" + DEF + MAX, ERROR),
    # Input and output
    "input()": Sample(_body("return input()"), FAIL),
    "read standard input": Sample("import sys\n" + _body("return sys.stdin.read()"), FAIL),
    "200 MB of prints": Sample(_body("print('x' * 10_000_000)", "return max(numbers)"), ("pass", "fail")),
    "write to every descriptor": Sample(
        "import posix\nfor fd in range(256):\n    try:\n"
        '        posix.write(fd, b\'{"code": 64, "seconds": 0.0}\\n\')\n    except OSError: pass\n'
        + _body("return None"),
        FAIL,
    ),
    "open a file": Sample(_body("open('/etc/passwd').read()", "return max(numbers)"), FAIL),
    # Harm
    "delete files": Sample("import os\n" + _body("os.remove('/tmp/x')", "return max(numbers)"), FAIL),
    "delete all it can": Sample(
        "import posix\ndef clear(folder):\n    for name in posix.listdir(folder):\n"
        "        path = folder + '/' + name\n        try:\n            posix.unlink(path)\n"
        "        except OSError:\n            try: clear(path)\n            except OSError: pass\n"
        "for place in ('/tmp', '/dev', '/nanolm', '/etc'):\n    clear(place)\n" + DEF + MAX,
        ("pass", "fail", "timeout"),
    ),
    "a process": Sample("import subprocess\n" + _body("subprocess.run(['ls'])", "return max(numbers)"), FAIL),
    "a program by exec": Sample("import posix\nposix.execv('/bin/true', ['true'])\n", TIMEOUT),
    "clear the environment": Sample("import os\nos.environ.clear()\n" + DEF + MAX, PASS),
    "take numpy away": Sample("import sys\nsys.modules['numpy'] = None\n" + DEF + MAX, PASS),
    "fill the scratch": Sample(
        "import posix\nfor n in range(40):\n    fd = posix.open(f'/tmp/f{n}', posix.O_CREAT | 1)\n"
        "    for _ in range(100): posix.write(fd, b'x' * 1_000_000)\n" + DEF + MAX,
        ("fail", "timeout"),
    ),
    "a file over the limit": Sample(
        "import posix\nfd = posix.open('/tmp/big', posix.O_CREAT | posix.O_WRONLY)\n"
        "for _ in range(300): posix.write(fd, b'x' * 1_000_000)\n" + DEF + MAX,
        ("fail", "timeout"),
    ),
    "folders nobody may enter": Sample(
        "import posix\na = f'/tmp/{posix.getpid()}'\nposix.mkdir(a)\n"
        "posix.mkdir(a + '/b')\nposix.chmod(a, 0)\n" + DEF + MAX,
        PASS,
    ),
    "folders without end": Sample(
        "import posix\nposix.chdir('/tmp')\nfor n in range(3000):\n"
        "    posix.mkdir('d')\n    posix.chdir('d')\n" + DEF + MAX,
        ("pass", "fail", "error", "timeout"),
    ),
    # Memory
    "100 GB": Sample(_body("return bytearray(100_000_000_000)"), FAIL),
    "growth without end": Sample(_body("x = []", "while True: x.append(bytearray(50_000_000))"), FAIL),
    "recursion": Sample(_body("return largest(numbers)"), FAIL),
    "recursion without a limit": Sample(
        "import sys\nsys.setrecursionlimit(10**9)\n" + _body("return largest(numbers)"), ("fail", "timeout")
    ),
    # What does not parse
    "null byte": Sample("x = 1\0\n", FAIL),
    "lone surrogate": Sample("x = '\ud800'\n" + DEF + MAX, FAIL),
    "deep nesting": Sample("x = " + "(" * 5000 + ")" * 5000 + "\n", FAIL),
    "nothing": Sample("", FAIL),
    # What the official design forgives
    "main guard": Sample(DEF + MAX + "if __name__ == '__main__':\n    assert False\n", PASS),
}

# The three known weaknesses of the official design: expected values, verdict and comparison lie in
# the program's own process. They can't be closed without other verdicts than the official ones.
CHEATS: dict[str, str] = {
    "equal to everything": "class Any:\n    def __eq__(self, other): return True\n"
    "    def __ne__(self, other): return False\n" + _body("return Any()"),
    "expected values read from the frame": "import sys\n"
    + _body(
        "frame = sys._getframe(1)",
        "return frame.f_locals['expected'][frame.f_locals['i']]",
    ),
    "verdict set through the frame": "import sys\nframe = sys._getframe()\n"
    "while 'stat' not in frame.f_locals: frame = frame.f_back\n"
    "here = frame.f_locals\nn = len(here['inputs'])\n"
    "here['details'][:] = [1] * n\nhere['progress'].value = n\nhere['stat'].value = 0\n"
    "import posix\nposix._exit(0)\n",
}

# Programs that look for a way out and say what they found by failing: each must pass.
WAYS_OUT: dict[str, str] = {
    "network": "import socket\n"
    + _body(
        "for family, address in ((socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_UNIX, '\\0{name}'),",
        "                        (socket.AF_INET, ('192.0.2.1', 9))):",
        "    s = socket.socket(family)",
        "    s.settimeout(0.3)",
        "    if s.connect_ex(address) == 0: return None",
        "return max(numbers)",
    ),
    "datagrams": "import socket\n"
    + _body(
        "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "except OSError: return max(numbers)",
    ),
    "files": "import posix\n"
    + _body(
        "for path in ('{canary}', '/etc/shadow', '/proc/self/mem', '/proc/1/fd', '/sys', '{home}/.bashrc'):",
        "    try: posix.stat(path)",
        "    except OSError: continue",
        "    return None",
        "return max(numbers)",
    ),
    "writing": "import posix\n"
    + _body(
        "for folder in ('/', '/usr', '/etc', '/dev', '/nanolm', '/nanolm/data', '/proc'):",
        "    try: posix.open(folder + '/x', posix.O_CREAT | posix.O_WRONLY)",
        "    except OSError: continue",
        "    return None",
        "return max(numbers)",
    ),
    "other processes": "import ctypes, posix\n"
    + _body(
        "libc = ctypes.CDLL(None, use_errno=True)",
        "ptrace_attach = 16",
        "for pid in (1, posix.getppid()):",
        "    if libc.ptrace(ptrace_attach, pid, 0, 0) == 0: return None",
        "return max(numbers)",
    ),
    "privileges": "import posix\n"
    + _body(
        "for do in (lambda: posix.setuid(0), lambda: posix.chroot('/tmp'),",
        "           lambda: posix.mknod('/tmp/n', 0o60666, 1)):",
        "    try: do()",
        "    except (OSError, AttributeError): continue",
        "    return None",
        "return max(numbers)",
    ),
}
