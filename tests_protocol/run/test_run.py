"""A run on the mini edition with engines made for the test."""

import resource
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from nanolm import editions
from nanolm.engines import Generation
from nanolm.entries import Entry
from nanolm.entries.entry import EntryDecoding
from nanolm.entries.synthetic import synthetic
from nanolm.errors import EngineError, RecordError
from nanolm.records import Record
from nanolm.run import Followed, Run, Suite
from nanolm.schema import Decoding, Output, Request

ARC = "arc-easy-mini"
GSM = "gsm8k-platinum-mini"


class Scripted:
    """Replies `Answer: A`; what goes wrong is scripted."""

    name, version = "scripted", "1"

    def __init__(self, dies_after: int = 10**9, fails: str = "", gate: threading.Event | None = None) -> None:
        self.dies_after, self.fails, self.gate = dies_after, fails, gate
        self.asked: list[Request] = []
        self.closed = 0

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        self.asked += requests
        for number, request in enumerate(requests):
            if self.gate is not None:
                self.gate.wait(20)
            if number == self.dies_after:
                raise EngineError("the engine is gone for good")
            failed = request.item == self.fails
            yield Generation(
                request=request,
                text="" if failed else "Answer: A",
                finish_reason="error" if failed else "stop",
                error="out of memory" if failed else None,
                output_tokens=3,
            )

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        raise EngineError("no")

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def suite() -> Suite:
    return Suite(editions.load("mini"), limit=4)


def entry(**fields: object) -> Entry:
    return msgspec.structs.replace(synthetic("oracle"), **fields)


def ran(folder: Path, suite: Suite, who: Entry, engine: Scripted, mode: str = "missing") -> Run:
    run = Run(
        suite, who, Record(folder, write=True, fresh=mode == "all"), lambda: engine, mode=mode, name="r"
    )  # type: ignore[arg-type]
    try:
        run.prepare({slug: suite.ids(slug) for slug in (ARC, GSM)})
    except RecordError:
        run.close()
        raise
    run.start()
    assert run.wait(20)
    return run


def test_only_what_is_missing_is_asked(tmp_path: Path, suite: Suite) -> None:
    first = Scripted(dies_after=3)
    run = ran(tmp_path, suite, entry(), first)
    assert run.error == "the engine is gone for good"
    assert len(run.record) == 3
    assert run.get(GSM, suite.ids(GSM)[3], 0) == "the engine is gone for good"
    run.close()
    second = Scripted()
    run = ran(tmp_path, suite, entry(), second)
    assert len(first.asked) == 8
    assert [(one.benchmark, one.item) for one in second.asked] == [
        (one.benchmark, one.item) for one in first.asked[3:]
    ]
    assert len(run.record) == 8
    run.close()
    assert second.closed >= 1


def test_stopped_while_the_engine_is_opened(tmp_path: Path, suite: Suite) -> None:
    """Nobody else could have closed it; it is asked for nothing."""
    engine, opening, go = Scripted(), threading.Event(), threading.Event()

    def opened() -> Scripted:
        opening.set()
        assert go.wait(20)
        return engine

    who = msgspec.structs.replace(entry(), artefact="transformers")
    run = Run(suite, who, Record(tmp_path, write=True), opened, name="r")  # type: ignore[arg-type]
    run.missing = [(ARC, suite.ids(ARC)[0], 0)]
    run.start()
    assert opening.wait(20)
    threading.Timer(0.5, go.set).start()
    assert run.busy
    run.close()
    assert not run.busy
    assert (engine.asked, engine.closed) == ([], 1)


def test_a_thread_that_cannot_be_cut_short_is_busy_after_the_end(
    tmp_path: Path, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanolm.run.run._LAST_BATCH", 0.1)
    go = threading.Event()
    who = msgspec.structs.replace(entry(), artefact="transformers")
    run = Run(suite, who, Record(tmp_path, write=True), lambda: go.wait(20) and Scripted(), name="r")  # type: ignore
    run.missing = [(ARC, suite.ids(ARC)[0], 0)]
    run.start()
    assert run._thread is not None
    waits: list[float] = []
    join = run._thread.join
    monkeypatch.setattr(run._thread, "join", lambda timeout: [waits.append(timeout), join(timeout)])
    for _ in range(3):  # pytest says that it ends, the session ends, the process does
        run.close()
    assert run.busy
    assert sum(waits) < 0.2, "each of them waited for the last batch"
    assert len(waits) == 3
    go.set()
    join(20)
    assert not run.busy


def test_sampled_entries_have_seeds_of_their_own(tmp_path: Path, suite: Suite) -> None:
    engine = Scripted()
    ran(tmp_path, suite, entry(samples=4), engine).close()
    assert len(engine.asked) == 32
    assert len({one.seed for one in engine.asked}) == 32
    assert {one.sample for one in engine.asked} == {0, 1, 2, 3}


def test_another_decoding_is_refused_with_what_differs(tmp_path: Path, suite: Suite) -> None:
    ran(tmp_path, suite, entry(), Scripted()).close()
    other = entry(decoding=EntryDecoding(values=Decoding(temperature=0.6), source="model card"))
    with pytest.raises(RecordError, match=r"temperature 0\.0 in the record, 0\.6 now.*--record-mode=all"):
        ran(tmp_path, suite, other, Scripted())


def test_another_entry_and_budget_are_refused(tmp_path: Path, suite: Suite) -> None:
    ran(tmp_path, suite, entry(), Scripted()).close()
    with pytest.raises(RecordError, match=r"entry '\w+' in the record, 'other' now"):
        ran(tmp_path, suite, entry(digest="other"), Scripted())
    with pytest.raises(RecordError, match="max_tokens 256 in the record, 100 now"):
        ran(tmp_path, suite, entry(context=100), Scripted())


def test_a_prompt_that_does_not_fit_is_recorded_and_never_sent(tmp_path: Path, suite: Suite) -> None:
    engine = Scripted()
    run = ran(tmp_path, suite, entry(context=0), engine)
    assert engine.asked == []
    output = run.get(ARC, suite.ids(ARC)[0], 0)
    assert isinstance(output, Output)
    assert output.finish_reason == "unsupported"
    run.close()


def test_a_failed_request_is_asked_again_in_the_next_run(tmp_path: Path, suite: Suite) -> None:
    item = suite.ids(ARC)[1]
    run = ran(tmp_path, suite, entry(), Scripted(fails=item))
    assert run.engine_errors == 1
    run.close()
    engine = Scripted()
    run = ran(tmp_path, suite, entry(), engine)
    assert [(one.benchmark, one.item) for one in engine.asked] == [(ARC, item)]
    output = run.get(ARC, item, 0)
    assert isinstance(output, Output)
    assert output.finish_reason == "stop"
    run.close()


def test_an_engine_that_breaks_in_an_unforeseen_way_ends_the_wait(tmp_path: Path, suite: Suite) -> None:
    class Broken(Scripted):
        def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
            raise ZeroDivisionError("oops")

    run = ran(tmp_path, suite, entry(), Broken())
    assert run.get(ARC, suite.ids(ARC)[0], 0) == "the engine failed: ZeroDivisionError: oops"
    run.close()


def test_a_full_disk_ends_the_run_with_the_reason(tmp_path: Path, suite: Suite) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500, before[1]))
        run = ran(tmp_path, suite, entry(), Scripted())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "are safe. Make room and run the same command again" in run.error
    kept = len(run.record)
    assert 0 < kept < 8
    run.close()
    run = ran(tmp_path, suite, entry(), Scripted())
    assert len(run.record) == 8
    run.close()


def test_an_engine_that_never_began_and_one_that_ended(tmp_path: Path, suite: Suite) -> None:
    """Only the first is to be mended before another try; a record from before changes nothing in that."""
    for dies_after, never_began in ((0, True), (2, False), (0, True), (99, False)):
        run = ran(tmp_path, suite, entry(), Scripted(dies_after=dies_after))
        assert run.never_began is never_began
        run.close()


def test_a_follower_sees_outputs_as_they_come_and_the_end(tmp_path: Path, suite: Suite) -> None:
    """What a worker of pytest-xdist does, here in a thread."""
    gate = threading.Event()
    engine = Scripted(gate=gate, dies_after=5)
    who = entry(artefact="transformers", path="nowhere")
    run = Run(suite, who, Record(tmp_path, write=True), lambda: engine, name="r")
    run._encode = lambda render, text: (1, 2)  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nanolm.run.run.renderer", lambda *_: None)
        run.prepare({ARC: suite.ids(ARC), GSM: suite.ids(GSM)})
        followed = Followed(tmp_path, "r")
        found: list[Output | str] = []
        last = suite.ids(GSM)[2]
        thread = threading.Thread(
            target=lambda: found.extend([followed.get(ARC, suite.ids(ARC)[0], 0), followed.get(GSM, last, 0)])
        )
        thread.start()
        run.start()
        gate.set()
        thread.join(20)
        assert run.wait(20)
    assert isinstance(found[0], Output)
    assert found[1] == "the engine is gone for good"
    followed.close()
    run.close()


def test_a_follower_of_a_dead_process_does_not_wait_for_ever(tmp_path: Path) -> None:
    Record(tmp_path, write=True).close()
    followed = Followed(tmp_path, "another run")
    assert followed.get(ARC, "0001", 0) == "the process that generates is gone"
    followed.close()


def test_code_is_generated_first(suite: Suite) -> None:
    order = suite.generation_order(dict.fromkeys(suite.edition.benchmarks, ()))
    assert order[:3] == ["mbpp-plus-mini", "evoeval-mini", "math-500-mini"]
    assert sorted(order) == sorted(suite.edition.benchmarks)


def test_a_new_run_asks_first_for_a_few_of_each_benchmark(tmp_path: Path, suite: Suite) -> None:
    """For an estimate; one that goes on knows its lengths from the record."""
    who = entry(artefact="transformers", path="nowhere")
    with Record(tmp_path, write=True) as record:
        run = Run(suite, who, record, lambda: Scripted(), name="r")
        run.prepare({ARC: suite.ids(ARC), GSM: suite.ids(GSM)})
        assert [key[0] for key in run.warm_up] == [ARC, ARC, GSM, GSM]
        assert run.missing[:4] == list(run.warm_up)
        assert sorted(run.missing) == sorted(run.keys)
