"""What a person sees while a run generates."""

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from nanolm.reports.estimate import estimate
from nanolm.reports.progress import Progress, _time
from nanolm.schema import Decoding, Output


class Reporter:
    """Takes what is written, as pytest's terminal reporter does."""

    def __init__(self, isatty: bool) -> None:
        self.isatty = isatty
        self.lines: list[str] = []
        self._tw = SimpleNamespace(fullwidth=80)

    def ensure_newline(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def write_line(self, text: str) -> None:
        self.lines.append(text)

    def rewrite(self, text: str, erase: bool) -> None:
        self.lines.append("\r" + text)


class Recorded(list[Output]):
    """Stands in for a record."""

    def outputs(self) -> list[Output]:
        return self


def made(
    reporter: Reporter,
    verbosity: int = 0,
    warm_up: tuple[tuple[str, str, int], ...] = (),
    record: Sequence[Output] = (),
    context: int = 2_048,
    wanted: int = 4,
) -> Progress:
    run: Any = SimpleNamespace(
        missing=[("arc", str(n), 0) for n in range(wanted)],
        total=wanted + len(record),
        mode="missing",
        warm_up=warm_up,
        engine=SimpleNamespace(at_once=2, unfinished_tokens=60),
        record=Recorded(record),
        entry=SimpleNamespace(name="tiny", artefact="gguf", context=context),
        suite=SimpleNamespace(edition=SimpleNamespace(name="mini", budget=256)),
    )
    config: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(get_plugin=lambda _: reporter), get_verbosity=lambda: verbosity
    )
    return Progress(config, run)


def output(number: int, *, slug: str = "arc", started: float = 0.0, tokens: int = 100) -> Output:
    return Output(
        benchmark=slug,
        item=str(number),
        sample=0,
        seed=1,
        entry="e",
        prompt_digest="p",
        rendered_digest="",
        decoding=Decoding(),
        max_tokens=256,
        text="x",
        finish_reason="length" if number == 0 else "stop",
        output_tokens=tokens,
        started=started,
        seconds=10.0,
    )


def told(progress: Progress, reporter: Reporter) -> list[str]:
    progress.start()
    for number in range(4):
        progress.arrived(output(number))
    progress.stop()
    progress.stop()
    return reporter.lines


def test_plain_lines_where_there_is_no_terminal() -> None:
    reporter = Reporter(isatty=False)
    first, loading, last = told(made(reporter), reporter)
    assert loading == "nanolm: loading the model …"
    assert first == "nanolm: tiny on mini: 0 of 4 outputs recorded, 4 to generate, at most 256 tokens each"
    assert last.startswith("arc 4/4 · mean 100 tokens · truncated 25% · all 4/4 · 40 tokens/s · 10 s")


def test_one_live_line_in_a_terminal() -> None:
    """It goes over itself; what is said for good stays above it."""
    reporter = Reporter(isatty=True)
    progress = made(reporter)
    progress.start()
    progress.arrived(output(0))
    until = time.monotonic() + 10
    while not any(line.startswith("\rarc 1/4") for line in reporter.lines) and time.monotonic() < until:
        time.sleep(0.02)
    live = [line for line in reporter.lines if line.startswith("\rarc 1/4")]
    assert live[0].rstrip().endswith(" · 16 tokens/s")  # with what is not finished; no time left from one
    assert all(len(line) <= 80 for line in live)
    for number in range(1, 4):
        progress.arrived(output(number))
    progress.stop()
    assert reporter.lines[0].startswith("\rnanolm: tiny on mini")
    assert reporter.lines[-2].startswith("\rarc 4/4 ")
    assert reporter.lines[-1] == ""  # the end of that line


def test_time_left_only_from_enough_outputs_in_enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs of 100 tokens and 10 s, asked for together; 20 are wanted."""
    progress = made(Reporter(isatty=False), wanted=20)
    clock = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    for number in range(4):
        progress.arrived(output(number))
    clock = 1_040.0
    assert "left" not in progress._text("arc")  # four outputs
    clock = 1_000.0
    progress.arrived(output(4))
    clock = 1_019.0
    assert "left" not in progress._text("arc")  # 29 seconds
    clock = 1_020.0
    # (15 x 100 - 60 unfinished) tokens at (500 + 60) / 30 tokens/s
    said = progress._text("arc")
    assert said.endswith(" · all 5/20 · last output 20 s ago · 19 tokens/s · 1 min 17 s left")


def test_at_most_what_the_context_has_room_for() -> None:
    reporter = Reporter(isatty=False)
    lines = told(made(reporter, context=200), reporter)
    assert lines[0].endswith("4 to generate, at most 200 tokens each with its prompt")


def test_nothing_when_quiet() -> None:
    reporter = Reporter(isatty=True)
    assert told(made(reporter, verbosity=-1), reporter) == []


def test_an_estimate_from_the_first_outputs() -> None:
    """Four outputs of 100 tokens, two at once, each in 10 s."""
    reporter = Reporter(isatty=False)
    lines = told(made(reporter, warm_up=(("arc", "0", 0), ("arc", "2", 0))), reporter)
    assert lines[0].endswith("at most 256 tokens each; an estimate follows from the first 2")
    assert lines[2] == "nanolm: estimate from the first 2 outputs: about 400 tokens, 20 s in all"


def test_an_estimate_from_the_record() -> None:
    reporter = Reporter(isatty=False)
    record = [output(9 + n, started=5_000.0 * n, tokens=50) for n in range(5)]
    lines = told(made(reporter, record=record), reporter)
    assert lines[0] == (
        "nanolm: tiny on mini: 5 of 9 outputs recorded, 4 to generate, about 200 tokens, 40 s at the pace so far"
    )


def test_no_estimate_from_one_recorded_output() -> None:
    """A resumed run waits for as many outputs of its own before it says how long it will take."""
    reporter = Reporter(isatty=False)
    progress = made(reporter, record=[output(99)], wanted=21)
    progress.start()
    assert reporter.lines[0].endswith(
        "1 of 22 outputs recorded, 21 to generate, at most 256 tokens each; an estimate follows from the first 5"
    )
    for number in range(4):
        progress.arrived(output(number))
    assert not any("about" in line for line in reporter.lines)
    progress.arrived(output(4))
    progress.stop()
    # 100 tokens each; 10 s each, two at once
    assert reporter.lines[-1] == (
        "nanolm: estimate from 6 outputs: about 2,100 tokens, 1 min 45 s for this run"
    )


def test_no_estimate_at_all_where_little_is_left() -> None:
    reporter = Reporter(isatty=False)
    lines = told(made(reporter, record=[output(99)]), reporter)
    assert lines[0].endswith("1 of 5 outputs recorded, 4 to generate, at most 256 tokens each")
    assert not any("estimate" in line for line in lines)


@pytest.mark.parametrize("isatty", [False, True])
def test_it_goes_on_saying_so_while_no_output_comes(isatty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model and reading long prompts take minutes; so may one long reply."""
    monkeypatch.setattr("nanolm.reports.progress._PLAIN_SECONDS", 0.05)
    monkeypatch.setattr("nanolm.reports.progress._TERMINAL_SECONDS", 0.05)
    monkeypatch.setattr("nanolm.reports.progress._SILENT", 0.0)
    reporter = Reporter(isatty)
    progress = made(reporter, verbosity=1)  # no live line
    run: Any = progress._run
    engine, run.engine = run.engine, None

    def comes(text: str) -> bool:
        until = time.monotonic() + 10
        while not any(text in line for line in reporter.lines) and time.monotonic() < until:
            time.sleep(0.02)
        return any(text in line for line in reporter.lines)

    progress.start()
    assert comes("loading the model … 0 s · all 0/4")
    run.engine = engine
    assert comes("waiting for the first output … 0 s · all 0/4")
    progress.arrived(output(0))
    assert comes("all 1/4 · last output 0 s ago")
    progress.stop()


def test_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 15 s on a terminal; in a log every 20 s at first, each minute later, however long it takes."""
    terminal, log = made(Reporter(isatty=True), verbosity=1), made(Reporter(isatty=False))
    opened = log._opened
    assert (terminal._pause(), log._pause()) == (15, 20)
    monkeypatch.setattr(time, "monotonic", lambda: opened + 100_000)
    assert (terminal._pause(), log._pause()) == (15, 60)


def test_an_estimate_goes_benchmark_by_benchmark() -> None:
    """Long replies of one benchmark say nothing of another's; pauses between runs don't count."""
    outputs = [output(1, tokens=10), output(2, slug="math", tokens=1_000, started=2.0)]
    found = estimate(outputs, {"arc": 100, "math": 1})
    assert found is not None
    assert found.tokens == 2_000
    assert found.seconds == pytest.approx(12 * 2_000 / 1_010)
    unknown = estimate(outputs, {"banking": 2})
    assert unknown is not None
    assert unknown.tokens == 1_010
    assert estimate([], {"arc": 1}) is None


def test_times() -> None:
    assert [_time(s) for s in (5, 200, 7_500)] == ["5 s", "3 min 20 s", "2 h 05 min"]
