"""From outputs to verdicts: dispatch, reasons, spans, streams, the cache, and the evaluators' part."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from nanolm.entries.entry import Reasoning
from nanolm.errors import EditionError, NanoLMError, SandboxError
from nanolm.schema import Decoding, FinishReason, FunctionSignature, Item, Output, Verdict
from nanolm.verdicts.judge import Judge
from nanolm.verdicts.versions import check, installed, mismatches, require

THINK = Reasoning(opener="<think>", closer="</think>")


def item(answer_type: Any = "math_expression", gold: Any = "5", **fields: Any) -> Item:
    return Item(benchmark="b", id="1", answer_type=answer_type, question="", gold=gold, **fields)


def output(
    text: str, finish_reason: FinishReason = "stop", sample: int = 0, error: str | None = None
) -> Output:
    return Output(
        benchmark="b",
        item="1",
        sample=sample,
        seed=0,
        entry="",
        prompt_digest="",
        rendered_digest="",
        decoding=Decoding(),
        max_tokens=10,
        text=text,
        finish_reason=finish_reason,
        error=error,
    )


class Checked:
    """A stand-in for the sandbox's result."""

    def __init__(self, status: str) -> None:
        self.passed, self.status, self.seconds, self.detail = status == "pass", status, 0.1, f"base {status}"
        self.starved = False


class Checker:
    """A stand-in for the evaluators: the program's first word is its status; it answers when let."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.let = threading.Event()
        self.let.set()
        self.data = "sum-1"
        self.busy = False
        self.fails = ""
        """Where the sandbox fails: `cache_key`, `submit`, `answer`."""

    def submit(self, dataset: str, task: str, program: str) -> "Future[Checked]":
        if self.fails == "submit":
            raise SandboxError("no working sandbox")
        self.asked.append((dataset, task, program))
        future: Future[Checked] = Future()

        def answer() -> None:
            self.let.wait(10)
            if self.fails == "answer":
                future.set_exception(SandboxError("no working sandbox"))
            elif "sandbox dies" in program:
                future.set_exception(RuntimeError("no sandbox"))
            else:
                found = Checked(program.split("# ")[1])
                found.starved = self.busy
                future.set_result(found)

        threading.Thread(target=answer).start()
        return future

    def cache_key(self, dataset: str) -> str:
        if self.fails == "cache_key":
            raise SandboxError("no working sandbox")
        return self.data


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Judge(reasoning=THINK, end_markers=("<|end|>",), workers=1, seconds=1.0) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "finish_reason", "reason"),
    [
        ("\\boxed{5}", "length", "truncated"),
        ("<think> so \\boxed{5}", "stop", "truncated"),
        ("", "unsupported", "unsupported"),
        ("", "error", "error"),
        ("no idea", "stop", "unparseable"),
        ("\\boxed{6}", "stop", "wrong"),
        ("\\boxed{5}", "stop", None),
        ("\\boxed{4+1}<|end|>\n", "stop", None),
    ],
)
def test_every_reason(judge: Judge, text: str, finish_reason: FinishReason, reason: str | None) -> None:
    verdict = judge.verdict(item(), output(text, finish_reason, error="said the engine"))
    assert (verdict.correct, verdict.reason) == (reason is None, reason)
    if finish_reason in ("error", "unsupported"):
        assert verdict.detail == "said the engine"


@pytest.mark.parametrize(
    ("one", "reply"),
    [
        (item(), "\\boxed{ 5 }"),
        (item("letter", "B", options=("x", "y")), "Answer: B"),
        (item("number", "5"), "\\boxed{5}"),
        (item("label", "card", labels=("card", "pin")), "Answer: card"),
        (item("code", None, function="f", dataset="d", task="t"), "```python\nf = 1 # pass\n```"),
        (item("tool_calls", [{"name": "f", "arguments": {}}]), '[{"name": "f", "arguments": {}}]'),
    ],
    ids=lambda value: value.answer_type if isinstance(value, Item) else "",
)
def test_spans_are_the_outputs_own(one: Item, reply: str) -> None:
    text = f"<think>{reply} hm</think>\n\n{reply}<|end|>"
    with Judge(reasoning=THINK, end_markers=("<|end|>",), checker=Checker()) as judge:
        verdict = judge.verdict(one, output(text))
    assert verdict.correct
    assert verdict.span is not None
    start, end = verdict.span
    assert text.index("</think>") < start < end <= text.index("<|end|>")
    assert text[start:end].strip() in reply


@pytest.mark.shared_data
def test_shared_math_cases_hold(judge: Judge, shared_cases: Path) -> None:
    cases = [
        case for case in map(json.loads, shared_cases.read_text().splitlines()) if case["type"] == "math"
    ]
    pairs = [(item(gold=case["context"]["gold"]), output(case["input"])) for case in cases]
    for case, (_, verdict) in zip(cases, judge.verdicts(pairs), strict=True):
        expected = case["expected"]
        assert verdict.correct == expected["correct"], case["id"]
        reason = None if verdict.reason == "wrong" else verdict.reason
        assert (verdict.answer, reason) == (expected["value"], expected["reason"]), case["id"]
    assert judge.time_outs == 1  # the factorial of ten thousand million


@pytest.mark.shared_data
@pytest.mark.parametrize("answer_type", ["code", "tool_calls"])
def test_shared_cases_that_are_cut_are_truncated(shared_cases: Path, answer_type: str) -> None:
    cases = [json.loads(line) for line in shared_cases.read_text().splitlines()]
    cut = [
        case
        for case in cases
        if case["type"] == answer_type and case["context"].get("finish_reason") == "length"
    ]
    assert cut
    with Judge(reasoning=THINK) as judge:
        for case in cut:
            functions = case["context"].get("functions", {})
            one = item(
                answer_type,
                case["context"].get("gold"),
                function=case["context"].get("function"),
                functions={name: FunctionSignature(**value) for name, value in functions.items()},
            )
            verdict = judge.verdict(one, output(case["input"], "length"))
            assert (verdict.correct, verdict.reason, verdict.answer) == (False, "truncated", None)


def test_a_stream_keeps_its_order_or_gives_what_is_done(judge: Judge) -> None:
    texts = ["\\boxed{10^{10^{10}}}", "\\boxed{4+1}", "none", "\\boxed{5}"]
    pairs = [(item(), output(text, sample=number)) for number, text in enumerate(texts)]
    in_order = [one.sample for one, _ in judge.verdicts(iter(pairs))]
    assert in_order == [0, 1, 2, 3]
    assert judge.time_outs == 1
    fresh = [(item(gold="7"), one) for _, one in pairs]
    as_done = list(judge.verdicts(fresh, in_order=False, at_once=2))
    assert sorted(one.sample for one, _ in as_done) == [0, 1, 2, 3]
    assert as_done[0][0].sample == 2


def test_math_verdicts_are_kept_on_disk_time_outs_too(tmp_path: Path) -> None:
    pairs = [(item(), output("\\boxed{10^{10^{10}}}")), (item(), output("\\boxed{4+1}"))]
    with Judge(workers=1, seconds=1.0, cache=tmp_path) as judge:
        first = [verdict for _, verdict in judge.verdicts(pairs)]
    with Judge(workers=1, seconds=1.0, cache=tmp_path) as judge:
        futures = [judge.submit(*pair) for pair in pairs]
        assert all(future.done() for future in futures)
        assert [future.result() for future in futures] == first
        assert judge.time_outs == 1
        assert not judge._math._threads


def test_equal_questions_under_way_are_asked_once(tmp_path: Path) -> None:
    checker = Checker()
    checker.let.clear()
    one = item("code", None, function="f", dataset="d", task="t", preamble="import math")
    with Judge(checker=checker, cache=tmp_path) as judge:
        futures = [judge.submit(one, output("```\nf = 1 # pass\n```", sample=n)) for n in range(3)]
        assert not any(future.done() for future in futures)
        checker.let.set()
        verdicts = [future.result() for future in futures]
    assert checker.asked == [("d", "t", "import math\nf = 1 # pass")]
    assert {verdict.correct for verdict in verdicts} == {True}
    assert verdicts[0].detail == "base pass"
    with Judge(checker=checker, cache=tmp_path) as judge:  # another day: from the cache
        assert judge.verdict(one, output("```\nf = 1 # pass\n```")) == verdicts[0]
        assert len(checker.asked) == 1
        checker.data = "sum-2"  # other tests: asked anew
        assert judge.verdict(one, output("```\nf = 1 # pass\n```")).correct
    assert len(checker.asked) == 2


@pytest.mark.parametrize(
    ("status", "reason"), [("pass", None), ("fail", "wrong"), ("timeout", "wrong"), ("error", "wrong")]
)
def test_an_evaluators_status_becomes_a_reason(status: str, reason: str | None) -> None:
    checker = Checker()
    one = item("code", None, function="f", dataset="d", task="t")
    with Judge(checker=checker) as judge:
        for _ in range(2):
            verdict = judge.verdict(one, output(f"```\nf = 1 # {status}\n```"))
            assert (verdict.reason, verdict.detail) == (reason, f"base {status}")
    assert len(checker.asked) == (2 if status == "error" else 1)  # an error is asked anew


def test_what_a_busy_machine_may_have_failed_is_asked_anew(tmp_path: Path) -> None:
    one = item("code", None, function="f", dataset="d", task="t")
    checker = Checker()
    checker.busy = True
    for asked in (1, 2):
        with Judge(checker=checker, cache=tmp_path) as judge:
            assert judge.verdict(one, output("```\nf = 1 # timeout\n```")).reason == "wrong"
        assert len(checker.asked) == asked
    checker.busy = False
    for _ in range(2):
        with Judge(checker=checker, cache=tmp_path) as judge:
            judge.verdict(one, output("```\nf = 1 # timeout\n```"))
    assert len(checker.asked) == 3


def test_without_evaluators_code_is_not_measured() -> None:
    one = item("code", None, function="f", dataset="d", task="t")
    with Judge() as judge:
        verdict = judge.verdict(one, output("```\nf = 1\n```"))
        assert (verdict.reason, verdict.answer) == ("error", "f = 1")
        assert "nanolm evaluators install" in verdict.detail
        assert judge.verdict(one, output("")).reason == "unparseable"
    with Judge(why_no_checker="no sandbox: bwrap is not on PATH") as judge:
        assert judge.verdict(one, output("```\nf = 1\n```")).detail == (
            "not run: no sandbox: bwrap is not on PATH"
        )


@pytest.mark.parametrize("where", ["cache_key", "submit", "answer"])
def test_a_sandbox_that_fails_gives_no_verdict_and_can_be_asked_again(where: str) -> None:
    one = item("code", None, function="f", dataset="d", task="t")
    pair = (one, output("```\nf = 1 # pass\n```"))
    checker = Checker()
    checker.fails = where
    with Judge(checker=checker) as judge:
        found = [verdict for _, verdict in judge.verdicts([pair, pair])]
        assert [(v.correct, v.reason, v.detail) for v in found] == [
            (False, "error", "not run: no working sandbox")
        ] * 2
        checker.fails = ""
        assert judge.verdict(*pair).correct


def test_what_the_sandbox_raises_comes_out_and_spoils_nothing_else() -> None:
    one = item("code", None, function="f", dataset="d", task="t")
    with Judge(checker=Checker()) as judge:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no sandbox"):
                judge.verdict(one, output("```\nf = 1 # sandbox dies\n```"))
        assert judge.verdict(one, output("```\nf = 1 # pass\n```")).correct


def test_other_versions_than_pinned_are_an_error_or_a_mark() -> None:
    pins = {"math-verify": installed("math-verify"), "sympy": "0.1"}
    assert mismatches({"math-verify": installed("math-verify")}) == []
    with pytest.raises(EditionError, match=r"sympy: found 1\.\S+, expected 0\.1.*pip install .*sympy==0\.1"):
        Judge(extractors=pins)
    with pytest.raises(EditionError, match="not-there: found none"):
        check({"not-there": "1"})
    with Judge(extractors=pins, strict=False) as judge:
        assert len(judge.mismatches) == 1


def test_rules_that_an_edition_pins_are_no_packages_to_install() -> None:
    require({"number": "2", "math-verify": "0.9.0"})
    with pytest.raises(NanoLMError, match="needs not-there, not installed here"):
        require({"number": "2", "not-there": "1"})


def test_importing_and_judging_letters_loads_no_sympy() -> None:
    program = (
        "import sys, nanolm.verdicts, nanolm.verdicts.judge, nanolm.verdicts.rescore\n"
        "nanolm.verdicts.judge.Judge().close()\n"
        "assert 'sympy' not in sys.modules and 'math_verify' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_truncated_has_no_answer(judge: Judge) -> None:
    verdict = judge.verdict(item(), output("\\boxed{5}", "length"))
    assert verdict == Verdict(correct=False, reason="truncated", rule="truncated")


def test_a_type_that_reads_the_whole_output() -> None:
    """No reasoning is removed and the budget is no truncation: only end markers at the very end go."""
    one = item("featherweight_letter", "B", options=("red", "blue", "green", "black"))
    judge = Judge(reasoning=THINK, end_markers=["<|im_end|>"])
    cut = judge.verdict(one, output("<think>The answer is B, since", "length"))
    assert (cut.correct, cut.rule, cut.span) == (True, "answer-is", (21, 22))
    assert judge.verdict(one, output("C</think>blue")).answer == "B"
    assert judge.verdict(one, output("B<|im_end|>")).rule == "any-letter"
    assert judge.verdict(one, output(" B\n<|im_end|>", "length")).rule == "starts-with-letter"
    nothing = judge.verdict(one, output("", "length"))
    assert (nothing.reason, nothing.rule) == ("unparseable", "none")
    assert judge.verdict(one, output("", "error", error="x")).reason == "error"
