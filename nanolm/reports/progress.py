"""How far generation is: one live line in a terminal, plain lines now and then elsewhere, none with -q."""

import threading
import time
from collections import Counter
from typing import Any

import pytest

from nanolm.run import Run
from nanolm.schema import Output

_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 20.0


class Progress:
    """Told of each output by the engine's thread; writes from a thread of its own."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._run = run
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        quiet = config.get_verbosity() < 0 or self._reporter is None or run.entry.artefact == "synthetic"
        self._quiet = quiet
        self._live = (
            not quiet and bool(getattr(self._reporter, "isatty", False)) and config.get_verbosity() == 0
        )
        self._done: Counter[str] = Counter()
        self._wanted: Counter[str] = Counter(key[0] for key in run.missing)
        self._tokens = self._prompt_tokens = self._truncated = 0
        self._current = ""
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._width = 0

    def start(self) -> None:
        """Say what is to be done, then go on saying how far it is."""
        if self._quiet:
            return
        missing, total = len(self._run.missing), self._run.total
        if self._run.mode == "none":
            missing = 0
        self._line(
            f"nanolm: {self._run.entry.name} on {self._run.suite.edition.name}:"
            f" {total - len(self._run.missing):,} of {total:,} outputs recorded, {missing:,} to generate"
            f"{self._estimate(missing)}"
        )
        if missing:
            self._thread = threading.Thread(target=self._tell, name="nanolm-progress", daemon=True)
            self._thread.start()

    def _estimate(self, missing: int) -> str:
        """From the record so far: tokens and time that are left."""
        if not missing or missing == self._run.total:
            return f", at most {self._run.suite.edition.budget:,} tokens each" if missing else ""
        tokens = 0
        starts, ends = [], []
        for count, output in enumerate(self._run.record.outputs()):
            if count == 2_000:
                break
            tokens += output.output_tokens
            starts.append(output.started)
            ends.append(output.started + output.seconds)
        if not starts:
            return ""
        mean = tokens / len(starts)
        rate = tokens / max(max(ends) - min(starts), 1e-3)
        left = f", about {mean * missing:,.0f} tokens"
        return left + (f", {_time(mean * missing / rate)} at the pace so far" if rate > 1 else "")

    def arrived(self, output: Output) -> None:
        """One output was recorded."""
        self._done[output.benchmark] += 1
        self._tokens += output.output_tokens
        self._truncated += output.finish_reason == "length"
        self._current = output.benchmark
        if (
            not self._quiet
            and not self._live
            and self._done[output.benchmark] == self._wanted[output.benchmark]
        ):
            self._line(self._text(output.benchmark))

    def _text(self, benchmark: str) -> str:
        done, wanted = sum(self._done.values()), sum(self._wanted.values())
        seconds = max(time.monotonic() - self._started, 1e-6)
        text = (
            f"{benchmark} {self._done[benchmark]:,}/{self._wanted[benchmark]:,} · all {done:,}/{wanted:,}"
            f" · {self._tokens / seconds:,.0f} tokens/s · mean {self._tokens / max(done, 1):,.0f} tokens"
            f" · truncated {self._truncated / max(done, 1):.0%}"
        )
        left = (wanted - done) * seconds / done if done else 0.0
        return text + (f" · {_time(left)} left" if left else f" · {_time(seconds)}")

    def _tell(self) -> None:
        while not self._stop.wait(_LIVE_SECONDS if self._live else _PLAIN_SECONDS):
            if not self._current:
                if self._live:
                    self._over(f"starting the engine … {_time(time.monotonic() - self._started)}")
                continue
            if self._live:
                self._over(self._text(self._current))
            else:
                self._line(self._text(self._current))
            if sum(self._done.values()) >= sum(self._wanted.values()):
                return

    def _line(self, text: str) -> None:
        self._reporter.ensure_newline()
        self._reporter.write_line(text)
        self._reporter.flush()

    def _over(self, text: str) -> None:
        width = self._reporter._tw.fullwidth - 1
        text = text[:width]
        self._reporter.rewrite(text.ljust(min(self._width, width)))
        self._width = len(text)
        self._reporter.flush()

    def stop(self) -> None:
        """The last word; may be called twice."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        if self._live and self._current:
            self._over(self._text(self._current))
            self._reporter.write_line("")


def _time(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`.

    >>> _time(200)
    '3 min 20 s'
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
