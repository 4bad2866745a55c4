"""How far generation is: one live line in a terminal, plain lines now and then elsewhere, none with -q."""

import threading
import time
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from nanolm.reports.estimate import Estimate, estimate
from nanolm.run import Run
from nanolm.schema import Output

_LIVE_SECONDS = 0.25
_TERMINAL_SECONDS = 15.0
_PLAIN_SECONDS = 20.0
_PLAIN_MOST = 60.0
"""Seconds between two words: on a terminal without a live line; elsewhere at first, and at most."""
_SILENT = 15.0
"""Seconds without an output after which it is said how long ago the last one came."""
_ENOUGH, _LONG_ENOUGH = 5, 30.0
"""Outputs and seconds before which nothing is said of the time left: a first output says next to nothing."""
_OF_EACH = 2
"""Outputs for each benchmark still to be generated that an estimate of a resumed run rests on at least."""
_SEEN = 4_000
"""Recorded outputs that the first estimate looks at, spread over the record."""


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
        self._wanted: Counter[str] = Counter(key[0] for key in run.missing)
        self._done: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._truncated: Counter[str] = Counter()
        self._awaited = set(run.warm_up)
        self._first: list[Output] = []
        self._resumed: list[Output] = []
        """What the record held, where that is too little for an estimate."""
        self._to_come = 0
        """Outputs of this run that the estimate of a resumed run still waits for."""
        self._current = ""
        self._opened = time.monotonic()
        self._began = float("inf")
        self._latest = self._opened
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._shown = ""
        self._mutex = threading.Lock()

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
            f"{self._outlook() if missing else ''}"
        )
        if missing:
            self._line("nanolm: loading the model …")
            self._thread = threading.Thread(target=self._tell, name="nanolm-progress", daemon=True)
            self._thread.start()

    def _outlook(self) -> str:
        """Tokens and time, from the record where it holds enough of them; else the most it can be."""
        recorded = len(self._run.record)
        enough = max(_ENOUGH, _OF_EACH * len(self._wanted))
        outputs = islice(self._run.record.outputs(), 0, None, max(1, recorded // _SEEN))
        if recorded >= enough:
            found = estimate(outputs, self._wanted)
            if found is not None and found.outputs >= enough:
                return f", {_words(found)} at the pace so far"
        elif recorded and not self._awaited and self._wanted.total() > enough:
            self._resumed, self._to_come = list(outputs), enough
        budget, context = self._run.suite.edition.budget, self._run.entry.context
        most = f"{context:,} tokens each with its prompt" if 0 < context <= budget else f"{budget:,} tokens each"
        awaited = len(self._awaited) or self._to_come
        return f", at most {most}" + (f"; an estimate follows from the first {awaited}" if awaited else "")

    def arrived(self, output: Output) -> None:
        """One output was recorded."""
        slug = output.benchmark
        with self._mutex:
            self._began = min(self._began, time.monotonic() - output.seconds)
            self._done[slug] += 1
            self._tokens[slug] += output.output_tokens
            self._truncated[slug] += output.finish_reason == "length"
            self._current = slug
            self._latest = time.monotonic()
        if self._quiet:
            return
        if self._awaited:
            self._warm_up(output)
        elif self._to_come:
            self._resume(output)
        if self._done[slug] == self._wanted[slug]:
            self._line(self._text(slug))

    def _warm_up(self, output: Output) -> None:
        """The first requests are spread over the benchmarks: with the last of them, an estimate."""
        key = (output.benchmark, output.item, output.sample)
        if key not in self._awaited:
            return
        self._awaited.remove(key)
        self._first.append(output)
        if self._awaited:
            return
        found = estimate(self._first, self._wanted, getattr(self._run.engine, "at_once", 0))
        if found is not None:
            self._line(f"nanolm: estimate from the first {found.outputs} outputs: {_words(found)} in all")
        self._first = []

    def _resume(self, output: Output) -> None:
        """A resumed run: after as many outputs of its own, an estimate from these and the record's few."""
        self._first.append(output)
        self._to_come -= 1
        if self._to_come:
            return
        found = estimate(
            [*self._resumed, *self._first], self._wanted, getattr(self._run.engine, "at_once", 0)
        )
        if found is not None:
            self._line(f"nanolm: estimate from {found.outputs} outputs: {_words(found)} for this run")
        self._first, self._resumed = [], []

    def _waiting(self) -> str:
        """Before the first output: the model is loaded, then the first prompts are read."""
        waited = _time(time.monotonic() - self._opened)
        what = "loading the model" if self._run.engine is None else "waiting for the first output"
        return f"{what} … {waited} · all 0/{self._wanted.total():,}"

    def _text(self, slug: str) -> str:
        with self._mutex:
            done, wanted = self._done.total(), self._wanted.total()
            made = self._tokens.total()
            unfinished = getattr(self._run.engine, "unfinished_tokens", 0) if done < wanted else 0
            all_made = made + unfinished
            now = time.monotonic()
            seconds = max(now - self._began, 1e-6)
            silent = now - self._latest if done < wanted else 0.0
            left = sum(
                (total - self._done[one])
                * (self._tokens[one] / self._done[one] if self._done[one] else made / done)
                for one, total in self._wanted.items()
            )
            text = (
                f"{slug} {self._done[slug]:,}/{self._wanted[slug]:,}"
                f" · mean {self._tokens[slug] / self._done[slug]:,.0f} tokens"
                f" · truncated {self._truncated[slug] / self._done[slug]:.0%}"
                f" · all {done:,}/{wanted:,}"
                f"{f' · last output {_time(silent)} ago' if silent >= _SILENT else ''}"
                f" · {_rate(all_made / seconds)} tokens/s"
            )
        if done < wanted:
            if not made or done < _ENOUGH or seconds < _LONG_ENOUGH:
                return text
            left = max(0.0, left - unfinished)
            return f"{text} · {_time(left * seconds / all_made)} left"
        return f"{text} · {_time(seconds)}"

    def _tell(self) -> None:
        while not self._stop.wait(self._pause()):
            if self._current and self._done.total() >= self._wanted.total():
                return
            text = self._text(self._current) if self._current else self._waiting()
            if self._live:
                self._over(text)
            else:
                self._line(text)

    def _pause(self) -> float:
        """Seconds to the next word, also when no output came; a log of hours gets fewer lines."""
        if self._live:
            return _LIVE_SECONDS
        if getattr(self._reporter, "isatty", False):
            return _TERMINAL_SECONDS
        return min(_PLAIN_MOST, max(_PLAIN_SECONDS, (time.monotonic() - self._opened) / 20))

    def _line(self, text: str) -> None:
        """A line that stays."""
        with self._mutex:
            if self._live:  # over the live line, ours or another plugin's
                self._reporter.rewrite(text, erase=True)
                self._reporter.write_line("")
                self._shown = ""
            else:
                self._reporter.ensure_newline()
                self._reporter.write_line(text)
            self._reporter.flush()

    def _over(self, text: str) -> None:
        """In place of the live line."""
        with self._mutex:
            text = text[: self._reporter._tw.fullwidth - 1]
            if text != self._shown:
                self._reporter.rewrite(text, erase=True)
                self._reporter.flush()
            self._shown = text

    def stop(self) -> None:
        """The last word; may be called twice."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        if self._shown:
            self._line(self._text(self._current) if self._current else "no output came")


def _words(found: Estimate) -> str:
    time = "" if found.seconds is None else f", {_time(found.seconds)}"
    return f"about {found.tokens:,.0f} tokens{time}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


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
