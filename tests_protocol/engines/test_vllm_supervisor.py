"""The supervisor of vLLM's workers, with a stand-in worker: nothing is lost, nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from nanolm.engines import frames, vllm_replica
from nanolm.engines.gather import Gathered, fitting
from nanolm.engines.vllm import VLLMEngine
from nanolm.errors import EngineError
from nanolm.schema import Alternative, Decoding, Request, Scored

ROOT = Path(__file__).resolve().parents[2]
WORKER = "tests_protocol.engines.stand_in_worker"


def ask(item: int, *prompt: int) -> Request:
    return Request(
        benchmark="b",
        item=str(item),
        sample=0,
        seed=item,
        prompt_ids=prompt,
        prompt_digest="",
        max_tokens=4,
        decoding=Decoding(),
        stop_ids=(0,),
    )


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VLLMEngine]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    engine = VLLMEngine(
        str(tmp_path),
        max_model_len=64,
        log=tmp_path / "engine.log",
        worker=WORKER,
        version="0.31.0",
    )
    yield engine
    engine.close()


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def worker_pids(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def test_every_request_is_answered_once(engine: VLLMEngine) -> None:
    requests = [ask(i, *range(5, 5 + i % 7)) for i in range(300)]
    done = {g.request.item: g.text for g in engine.generate(requests)}
    assert done == {str(i): f"{i % 7} {i}" for i in range(300)}
    assert [g.text for g in engine.generate([ask(1, 7, 7)])] == ["2 1"]


def note_work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each message to a worker holds, as they are sent."""
    sent: list[int] = []
    send = vllm_replica.Replica.send

    def noted(self: vllm_replica.Replica, message: frames.ToWorker) -> None:
        if isinstance(message, frames.Work):
            sent.append(len(message.messages))
        send(self, message)

    monkeypatch.setattr(vllm_replica.Replica, "send", noted)
    return sent


def test_what_is_at_hand_goes_over_in_one_message(
    engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the worker's first step: four times its batch of eight, and then what there is room for."""
    sent = note_work(monkeypatch)
    assert len(list(engine.generate([ask(i, 5) for i in range(40)]))) == 40
    assert sent == [32, *[1] * 8]


def test_replicas_share_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that is ready leaves the others' part, of a run that would fit into its window too."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    engine = VLLMEngine(
        str(tmp_path),
        max_model_len=8,
        log=tmp_path / "log",
        worker=WORKER,
        version="0",
        replicas=2,
    )
    sent = note_work(monkeypatch)
    assert len(list(engine.generate([ask(i, 4) for i in range(30)]))) == 30
    assert sent[0] == 15
    assert len(list(engine.generate([ask(i, 4) for i in range(150)]))) == 150
    assert len(worker_pids(tmp_path)) == 2
    engine.close()
    assert not any(alive(pid) for pid in worker_pids(tmp_path))


def test_a_worker_that_dies_is_started_anew_and_asked_again(engine: VLLMEngine, tmp_path: Path) -> None:
    requests = [ask(0, 5), ask(1, 2), ask(2, 5, 5)]
    done = {g.request.item: g.text for g in engine.generate(requests)}
    assert done == {"0": "1 0", "1": "1 1", "2": "2 2"}
    assert engine.restarts == ["exit status 1; last line: CUDA out of memory"]
    assert len(worker_pids(tmp_path)) == 2
    # Out of memory: the next worker holds half as many sequences.
    assert engine.settings["max_num_seqs"] == 4


def test_a_request_that_kills_the_worker_three_times_is_an_error(engine: VLLMEngine) -> None:
    done = {g.request.item: g for g in engine.generate([ask(0, 1), ask(1, 5)])}
    assert done["0"].finish_reason == "error"
    assert "asked 3 times" in (done["0"].error or "")
    assert engine.restarts == ["exit status 9; last line: none"] * 3
    assert engine.settings["max_num_seqs"] == 8


def test_only_the_request_that_ends_the_worker_is_an_error(engine: VLLMEngine) -> None:
    """Those that were in hand with it each time are answered."""
    requests = [ask(0, 5), ask(1, 1), ask(2, 1), *(ask(i, 5) for i in range(3, 60))]
    done = {g.request.item: g for g in engine.generate(requests)}
    assert len(done) == 60
    assert [item for item, g in done.items() if g.finish_reason == "error"] == ["1", "2"]
    assert len(engine.restarts) in (4, 5, 6)


def test_a_hung_worker_is_replaced(engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_replica, "STALL_SECONDS", 0.5)
    (done,) = engine.generate([ask(0, 3)])
    assert done.finish_reason == "error"
    assert "no step for" in (done.error or "")
    assert engine.settings["max_num_seqs"] == 8  # a hung engine was not out of memory


def test_a_model_that_can_not_be_loaded_is_one_error(engine: VLLMEngine, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    with pytest.raises(EngineError, match=r"without finishing anything .*no such model"):
        list(engine.generate([ask(0, 5)]))


def test_leaving_early_and_coming_back(engine: VLLMEngine) -> None:
    for generation in engine.generate([ask(i, 5) for i in range(50)]):
        assert generation.text.startswith("1 ")
        break
    assert sorted(g.request.item for g in engine.generate([ask(77, 5), ask(78, 5)])) == ["77", "78"]


def test_scores_come_in_the_order_asked(engine: VLLMEngine) -> None:
    assert engine.scores([((1, 2), (3,)), ((1,), (2, 3))]) == [-2.0, -1.0]
    with pytest.raises(EngineError, match="at least one prompt token"):
        engine.score((), (1,))


def test_workers_die_with_a_killed_main_process(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from nanolm.engines.vllm import VLLMEngine
from tests_protocol.engines.test_vllm_supervisor import WORKER, ask
engine = VLLMEngine({str(tmp_path)!r}, max_model_len=8, log=Path({str(tmp_path / "log")!r}),
                    worker=WORKER, version="0")
list(engine.generate([ask(0, 3)]))
"""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    main = subprocess.Popen([sys.executable, "-c", program], env=environment)
    until = time.monotonic() + 30
    while not worker_pids(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    (pid,) = worker_pids(tmp_path)
    assert alive(pid)
    main.send_signal(signal.SIGKILL)
    main.wait()
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


def alternatives(item: int, *starts: int) -> Request:
    """The stand-in's log-likelihood is minus the start."""
    made = tuple(Alternative(tuple(range(10, 20 + item)), start) for start in starts)
    return msgspec.structs.replace(ask(item), max_tokens=0, alternatives=made)


def test_alternatives_are_scored_and_told_together(engine: VLLMEngine) -> None:
    requests = [alternatives(1, 2, 5, 3), ask(2, 7, 8), alternatives(3, 4, 1)]
    found = {one.request.item: one for one in engine.generate(requests)}
    scored = msgspec.json.decode(found["1"].text, type=Scored)
    assert scored.loglikelihoods == (-2.0, -5.0, -3.0)
    assert scored.tokens == (9, 6, 8)
    assert found["1"].output_tokens == 23
    assert found["2"].text == "2 2"
    assert msgspec.json.decode(found["3"].text, type=Scored).loglikelihoods == (-4.0, -1.0)


def test_a_worker_that_dies_among_alternatives_is_asked_again(engine: VLLMEngine) -> None:
    requests = [ask(0, 2), *(alternatives(number, 1, 2) for number in range(1, 12))]
    found = list(engine.generate(requests))
    assert sorted(int(one.request.item) for one in found) == list(range(12))
    assert {one.finish_reason for one in found} == {"stop"}
    assert len(engine.restarts) == 1


def test_what_is_longer_than_the_context_keeps_its_end() -> None:
    ids, start = fitting(Alternative(tuple(range(10)), 7), 6)
    assert (list(ids), start) == ([4, 5, 6, 7, 8, 9], 3)
    assert fitting(Alternative(tuple(range(10)), 2), 6)[1] == 0


def test_the_first_failure_is_the_requests_own() -> None:
    gathered = Gathered(alternatives(1, 1, 2, 3), 0.0)
    assert gathered.add(0, -1.0, None, 0.1) is None
    failed = gathered.add(2, None, "too long", 0.1)
    assert failed is not None
    assert (failed.finish_reason, failed.error) == ("error", "too long")
    assert gathered.add(1, -1.0, None, 0.1) is None
