"""A run whose options are scored: requests, records, and what is computed once."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from nanolm import editions
from nanolm.engines import Generation
from nanolm.engines.transformers import TransformersEngine
from nanolm.entries import Entry
from nanolm.entries.entry import EntryDecoding
from nanolm.entries.pairs import PairEncoder
from nanolm.errors import RecordError
from nanolm.records import Record
from nanolm.run import Run, Suite, likelihood
from nanolm.schema import Alternative, Decoding, Output, Request, Scored
from nanolm.verdicts.judge import Judge
from tests_protocol.engines import reading

EDITION = """
name = "two-ways"
title = "Two ways"
version = "1"
summary = "One task judged by two conventions."
budget = 1
prompt_limit = 64
parameter_limit = 1000
base_models = true
prompting = "bare"
samples = { sampled = 1, greedy = 1 }
engine = { name = "transformers", version = "0", dtype = "float32" }
extractors = {}
[decoding]
temperature = 0.0
[categories]
sense = "Sense"
[instructions]
[benchmark.physics]
title = "Physics"
category = "sense"
module = "piqa"
answer_type = "likeliest"
items = 6
metric = "accuracy"
split = "all"
licence = "none"
sources = ["rows"]
layout = "Q: {question}\\nA:"
continuation = " {option}"
[benchmark.physics-norm]
title = "Physics, per character"
category = "sense"
module = "piqa"
answer_type = "likeliest"
items = 6
metric = "accuracy, length-normalised"
split = "all"
licence = "none"
sources = ["rows"]
layout = "Q: {question}\\nA:"
continuation = " {option}"
normalisation = "characters"
"""
SOURCES = """
[source.rows]
kind = "folder"
licence_protocol = "none"
licence_repository = "none"
[[source.rows.file]]
path = "rows.jsonl"
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "two_ways"
    folder.mkdir()
    rows = [
        {"goal": f"goal {n}", "sol1": f"one {n}", "sol2": f"another one {n}", "label": n % 2}
        for n in range(6)
    ]
    (folder / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "edition.toml").write_text(EDITION)
    (folder / "sources.lock.toml").write_text(SOURCES)
    return Suite(editions.load(folder))


WHO = Entry(
    name="tiny",
    title="tiny",
    artefact="transformers",
    mode="base",
    context=64,
    decoding=EntryDecoding(values=Decoding(), source="edition"),
    digest="d0",
)


@pytest.fixture(autouse=True)
def _bytes_for_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PairEncoder(lambda texts: [tuple(text.encode()) for text in texts], (), 256, WHO.context)
    monkeypatch.setattr("nanolm.run.run.pair_encoder", lambda entry: made)


def ran(folder: Path, suite: Suite, engine: object, who: Entry = WHO) -> Run:
    run = Run(suite, who, Record(folder, write=True), lambda: engine, name="r")  # type: ignore[arg-type]
    try:
        run.prepare({slug: suite.ids(slug) for slug in suite.edition.benchmarks})
    except RecordError:
        run.close()
        raise
    run.start()
    assert run.wait(60)
    run.close()
    return run


def output(folder: Path, slug: str, item: str) -> Output:
    found = Record(folder).get(slug, item, 0)
    assert found is not None
    return found


def test_options_are_scored_recorded_and_judged(suite: Suite, tmp_path: Path) -> None:
    run = ran(tmp_path / "record", suite, TransformersEngine("none", context=64, reader=reading.Reader()))
    assert (run.error, len(run.missing)) == ("", 12)
    found = output(tmp_path / "record", "physics", "0003")
    scored = msgspec.json.decode(found.text, type=Scored)
    context = b"Q: goal 3\nA:"
    for option, value in zip((b" one 3", b" another one 3"), scored.loglikelihoods, strict=True):
        assert value == pytest.approx(reading.log_likelihood(tuple(context + option), len(context)))
    assert (found.max_tokens, found.output_tokens, found.finish_reason) == (0, 6 + 14, "stop")
    assert found.prompt_tokens == 2 * len(context) + 20
    assert len(found.rendered_digest) == 16
    with Judge() as judge:
        for slug, rule in (("physics", "greatest-sum"), ("physics-norm", "greatest-per-character")):
            item = suite.item(slug, "0003")
            verdict = judge.verdict(item, output(tmp_path / "record", slug, "0003"))
            assert verdict.rule == rule
            values = [
                value / (1 if slug == "physics" else length)
                for value, length in zip(scored.loglikelihoods, (5, 13), strict=True)
            ]
            assert verdict.answer == "AB"[values.index(max(values))]


def test_equal_requests_are_computed_once_and_recorded_for_each(suite: Suite, tmp_path: Path) -> None:
    reader = reading.Reader()
    ran(tmp_path / "record", suite, TransformersEngine("none", context=64, reader=reader))
    predicted = sum(len(row.targets) for batch in reader.batches for row in batch)
    assert predicted == sum(len(f" one {n}") + len(f" another one {n}") for n in range(6))
    record = Record(tmp_path / "record")
    assert len(record) == 12
    for item in suite.ids("physics"):
        both = [record.get(slug, item, 0) for slug in ("physics", "physics-norm")]
        assert both[0] is not None
        assert both[1] is not None
        assert both[0].text == both[1].text


def test_a_second_run_asks_nothing(suite: Suite, tmp_path: Path) -> None:
    ran(tmp_path / "record", suite, TransformersEngine("none", context=64, reader=reading.Reader()))
    reader = reading.Reader()
    run = ran(tmp_path / "record", suite, TransformersEngine("none", context=64, reader=reader))
    assert (run.missing, reader.batches) == ([], [])


def test_another_model_is_refused(suite: Suite, tmp_path: Path) -> None:
    ran(tmp_path / "record", suite, TransformersEngine("none", context=64, reader=reading.Reader()))
    other = msgspec.structs.replace(WHO, digest="d1")
    with pytest.raises(RecordError, match="under other conditions"):
        ran(tmp_path / "record", suite, TransformersEngine("none", context=64), other)


def test_an_option_that_can_not_be_scored_is_unsupported(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = PairEncoder(lambda texts: [tuple(text.encode()) for text in texts], (), 256, 10)
    monkeypatch.setattr("nanolm.run.run.pair_encoder", lambda entry: short)
    ran(tmp_path / "record", suite, TransformersEngine("none", context=10, reader=reading.Reader()))
    found = output(tmp_path / "record", "physics", "0000")
    assert (found.finish_reason, found.error) == (
        "unsupported",
        "the continuation has 14 tokens, the context 10",
    )


def test_a_failure_reaches_every_twin(suite: Suite) -> None:
    class Failing:
        name, version = "failing", "1"

        def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
            for request in requests:
                yield Generation(request=request, text="", finish_reason="error", error="no")

        def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
            return 0.0

        def close(self) -> None: ...

    same = (Alternative((1, 2), 1),)
    requests = [
        Request(
            benchmark=slug,
            item="1",
            sample=0,
            seed=1,
            prompt_ids=(),
            prompt_digest="",
            max_tokens=0,
            decoding=Decoding(),
            stop_ids=(),
            alternatives=same,
        )
        for slug in ("physics", "physics-norm")
    ]
    found = list(likelihood.once(Failing(), requests))
    assert [(one.request.benchmark, one.error) for one in found] == [
        ("physics", "no"),
        ("physics-norm", "no"),
    ]


@pytest.mark.parametrize(("name", "index"), [("oracle", 100.0), ("constant", 0.0)])
def test_the_synthetic_entries_reach_what_they_must(
    suite: Suite, tmp_path: Path, name: str, index: float
) -> None:
    from nanolm.engines.synthetic import SyntheticEngine
    from nanolm.entries.synthetic import synthetic

    who = synthetic(name)
    ran(tmp_path / name, suite, SyntheticEngine(who.name, suite.items), who)  # type: ignore[arg-type]
    with Judge() as judge:
        right = sum(
            judge.verdict(suite.item(slug, item), output(tmp_path / name, slug, item)).correct
            for slug in suite.edition.benchmarks
            for item in suite.ids(slug)
        )
    assert right == (12 if index else 6)
