"""What a person sees while a run generates."""

from types import SimpleNamespace
from typing import Any

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

    def rewrite(self, text: str) -> None:
        self.lines.append("\r" + text)


def made(reporter: Reporter, verbosity: int = 0) -> Progress:
    run: Any = SimpleNamespace(
        missing=[("arc", str(n), 0) for n in range(4)],
        total=4,
        mode="missing",
        entry=SimpleNamespace(name="tiny", artefact="gguf"),
        suite=SimpleNamespace(edition=SimpleNamespace(name="mini", budget=256)),
    )
    config: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(get_plugin=lambda _: reporter), get_verbosity=lambda: verbosity
    )
    return Progress(config, run)


def output(number: int) -> Output:
    return Output(
        benchmark="arc",
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
        output_tokens=100,
    )


def told(reporter: Reporter, verbosity: int = 0) -> list[str]:
    progress = made(reporter, verbosity)
    progress.start()
    for number in range(4):
        progress.arrived(output(number))
    progress.stop()
    progress.stop()
    return reporter.lines


def test_plain_lines_where_there_is_no_terminal() -> None:
    first, last = told(Reporter(isatty=False))
    assert first == "nanolm: tiny on mini: 0 of 4 outputs recorded, 4 to generate, at most 256 tokens each"
    assert last.startswith("arc 4/4 · all 4/4 · ")
    assert "mean 100 tokens · truncated 25%" in last


def test_one_live_line_in_a_terminal() -> None:
    lines = told(Reporter(isatty=True))
    assert lines[0].startswith("nanolm: tiny on mini")
    assert lines[-1] == ""
    assert all(line.startswith("\r") and len(line) <= 80 for line in lines[1:-1])


def test_nothing_when_quiet() -> None:
    assert told(Reporter(isatty=True), verbosity=-1) == []


def test_times() -> None:
    assert [_time(s) for s in (5, 200, 7_500)] == ["5 s", "3 min 20 s", "2 h 05 min"]
