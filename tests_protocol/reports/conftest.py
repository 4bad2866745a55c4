"""Reports for tests: runs on the mini edition in the exact file formats, with texts of our own."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanolm import editions
from nanolm.answers import code, math_expression
from nanolm.benchmarks.chance import chance
from nanolm.editions.edition import Edition
from nanolm.entries import resolve
from nanolm.entries.entry import Entry
from nanolm.records import Record
from nanolm.run import Suite
from nanolm.schema import Decoding, EntryScore, Item, Output, Verdict
from nanolm.scoring import Tally, entry_score, score_entry
from nanolm.verdicts import file
from nanolm.verdicts.reading import read

NASTY = [
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "{{ 7 * 7 }} {% raw %} ${1+1} `id`",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)\u2028\u2029 \x00\x07 \u202e right-to-left",
    "\U0001d4d0\U0001f600 astral \ud835 lone surrogate",
    "]]> <!-- --> &lt;b&gt; &amp;",
]
"""What models write when nobody looks."""

SUITE = Suite(editions.load("mini"))
WriteRun = Callable[..., Path]


@pytest.fixture(scope="session")
def mini() -> Edition:
    """The mini edition."""
    return editions.load("mini")


def _output(entry: Entry, item: Item, sample: int, text: str, finish: Any) -> Output:
    return Output(
        benchmark=item.benchmark,
        item=item.id,
        sample=sample,
        seed=sample + 7,
        entry=entry.digest,
        prompt_digest=SUITE.prompt(item.benchmark, item.id).digest,
        rendered_digest="",
        decoding=entry.decoding.values,
        max_tokens=32_768,
        text=text,
        finish_reason=finish,
        prompt_tokens=80,
        output_tokens=max(1, len(text) // 4),
        seconds=0.5,
        engine="vllm",
        engine_version="0.31.0",
    )


def _reply(draw: random.Random, item: Item, ability: float, think: bool) -> tuple[str, Any, bool]:
    """A reply, how it ended, and whether what it answers is right."""
    thought = (
        f"<think>\nThe task says: {item.question[:80]}\nI go through it step by step.\n</think>\n\n" * think
    )
    fate = draw.random()
    if fate > 0.97:
        return f"{thought[: len(thought) // 2] or 'Again and '}" + "again and " * 60, "length", False
    if fate > 0.92:
        return f"{thought}I would rather not choose.", "stop", False
    right = draw.random() < ability
    return f"{thought}Let me see.\n{draw.choice(NASTY)}\n\n{_answer(item, right)}", "stop", right


def _answer(item: Item, right: bool) -> str:
    """How a reply ends that gives the item's gold, or another answer."""
    if item.answer_type == "code":
        return f"```python\ndef {item.function}(*given):\n    return {right}\n```"
    if item.answer_type == "tool_calls":
        calls = item.gold if right else [{"name": "another", "arguments": {}}]
        return json.dumps(msgspec.to_builtins(calls))
    others = item.labels or "ABCD"[: len(item.options) or 4]
    other = next(each for each in others if each != item.gold) if item.labels or item.options else "987654321"
    return f"Answer: {item.gold if right else other}"


def _verdict(entry: Entry, item: Item, output: Output, right: bool) -> Verdict:
    """As a run judges it; who judges math and programs says what was meant."""
    found = read(item, output, entry.reasoning, entry.end_markers)
    if isinstance(found, Verdict):
        return found
    if item.answer_type == "code":
        return code.verdict(found, "pass" if right else "fail")
    return math_expression.verdict(found, right)


@pytest.fixture(scope="session")
def write_run(mini: Edition) -> WriteRun:
    """`write_run(reports, "name", ability=0.4, samples=4, …)` writes one run folder and returns it."""

    def write(
        reports: Path,
        name: str,
        ability: float = 0.5,
        *,
        samples: int = 1,
        think: bool = False,
        parameters: int = 350_000_000,
        because: tuple[str, ...] = (),
        limit: int | None = None,
        edition: Edition = mini,
        changes: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        title: str = "",
    ) -> Path:
        entry = Entry(
            name=name,
            title=title or name,
            artefact="transformers",
            repo=f"own/{name}",
            revision="0123456789abcdef",
            mode="think" if think else "no-think",
            parameters=parameters,
            context=32_768,
            licence="apache-2.0",
            samples=samples,
            digest="e" * 16,
        )
        decoding = Decoding(temperature=0.7, top_p=0.8, top_k=20) if samples > 1 else Decoding()
        quoted = msgspec.structs.replace(
            entry.decoding,
            values=decoding,
            source="model card" if samples > 1 else "greedy",
            quote="we suggest a temperature of 0.7" if samples > 1 else "",
            link="https://example.org/card" if samples > 1 else "",
        )
        entry = msgspec.structs.replace(entry, decoding=quoted)
        folder = reports / edition.name / name
        folder.mkdir(parents=True)
        draw = random.Random(name)
        results, outputs, verdicts = {}, [], []
        for slug, spec in edition.benchmarks.items():
            items = editions.load_items(mini, slug).items
            level = chance(items)
            items = items[:limit]
            tally = Tally(spec, level.value, level.rule, [item.id for item in items], samples)
            for item in items:
                for sample in range(samples):
                    text, finish, right = _reply(draw, item, ability, think)
                    output = _output(entry, item, sample, text, finish)
                    verdict = _verdict(entry, item, output, right)
                    tally.add(item.id, sample, verdict, output.output_tokens)
                    outputs.append(_line(output))
                    verdicts.append(file.encode(file.line(output, verdict)) + b"\n")
            results[slug] = tally.result()
        score = entry_score(
            edition,
            entry,
            score_entry(edition, results),
            complete=limit is None,
            engine={"name": "vllm", "version": "0.31.0"},
            not_publishable_because=because,
        )
        if changes:
            score = msgspec.structs.replace(score, **changes)
        (folder / "score.json").write_bytes(msgspec.json.encode(score))
        told = {"entry": msgspec.to_builtins(entry), "command": ["pytest"], **(run or {})}
        (folder / "run.json").write_bytes(msgspec.json.encode(told))
        (folder / "outputs.jsonl").write_bytes(b"".join(outputs))
        (folder / "verdicts.jsonl").write_bytes(b"".join(verdicts))
        return folder

    return write


def _line(value: Any) -> bytes:
    """As a record writes it: lone surrogates as ASCII escapes."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=True).encode("ascii") + b"\n"


@pytest.fixture(scope="session")
def read_score() -> Callable[[Path], EntryScore]:
    """`read_score(run_folder)`."""
    return lambda folder: msgspec.json.decode((folder / "score.json").read_bytes(), type=EntryScore)


@pytest.fixture(scope="session")
def pass_checks(mini: Edition) -> Callable[[Path], None]:
    """`pass_checks(reports / "mini")`: a check.json that says the sanity checks passed."""

    def write(folder: Path, ok: bool = True) -> None:
        check = {
            "entry": "oracle",
            "what": "index",
            "found": 100.0 if ok else 98.5,
            "expected": 100.0,
            "tolerance": 0.0,
            "ok": ok,
        }
        file = {"edition": mini.name, "edition_digest": mini.digest, "ok": ok, "checks": [check]}
        (folder / "check.json").write_bytes(msgspec.json.encode(file))

    return write


@pytest.fixture(scope="session")
def write_record(mini: Edition) -> Callable[..., Path]:
    """`write_record(reports, {slug: reply}, name)`: a record in which every item of a benchmark has the same
    reply (`{gold}` stands for the item's gold), and its run.json; no verdicts yet."""

    def write(reports: Path, replies: Mapping[str, str], name: str = "oracle") -> Path:
        folder = reports / "mini" / name
        entry = resolve("oracle", mini)
        with Record(folder, write=True) as written:
            for slug, reply in replies.items():
                for item in editions.load_items(mini, slug).items:
                    text = reply.replace("{gold}", str(item.gold))
                    output = _output(entry, item, 0, text, "stop")
                    written.append(msgspec.structs.replace(output, engine="synthetic", engine_version="1"))
        told = {"entry": msgspec.to_builtins(msgspec.structs.replace(entry, name=name))}
        (folder / "run.json").write_bytes(msgspec.json.encode(told))
        return folder

    return write


@pytest.fixture(scope="session")
def replies(mini: Edition) -> dict[str, str]:
    """For `write_record`: an answer line everywhere, and no program, so that no evaluators are needed."""
    return {
        slug: "" if spec.answer_type == "code" else "Answer: {gold}" for slug, spec in mini.benchmarks.items()
    }
