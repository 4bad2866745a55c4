"""The real vLLM on a processor, with a tiny random model. `make test-vllm` sets up what it needs."""

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from nanolm.engines.vllm import VLLMEngine
from nanolm.schema import Decoding, Request
from tests_protocol.engines import tiny_model

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is missing: make test-vllm"),
]

GREEDY = Decoding()
SAMPLED = Decoding(temperature=0.9, top_p=0.95, top_k=40, min_p=0.01, repetition_penalty=1.1)


def ask(item: int, decoding: Decoding = GREEDY, max_tokens: int = 12, length: int = 0) -> Request:
    prompt = tuple((7 * item + 13 * place) % 256 for place in range(length or 4 + item % 9))
    return Request(
        benchmark="b",
        item=str(item),
        sample=0,
        seed=1000 + item,
        prompt_ids=prompt,
        prompt_digest="",
        max_tokens=max_tokens,
        decoding=decoding,
        stop_ids=(257,),
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.write(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def engine(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VLLMEngine]:
    log = tmp_path_factory.mktemp("log") / "engine.log"
    engine = VLLMEngine(str(model), max_model_len=512, dtype="float32", log=log)
    yield engine
    engine.close()


def test_the_same_requests_give_the_same_texts_in_any_order(engine: VLLMEngine) -> None:
    requests = [ask(i, SAMPLED if i % 2 else GREEDY) for i in range(24)]
    first = {g.request.item: g.text for g in engine.generate(requests)}
    again = {g.request.item: g.text for g in engine.generate(requests[::-1])}
    assert len(first) == 24
    assert first == again
    assert engine.version.startswith("0.31.0")
    assert engine.settings["dtype"] == "float32"


def test_the_budget_reaches_the_sampler(engine: VLLMEngine) -> None:
    lengths = {
        g.request.item: g.output_tokens for g in engine.generate([ask(i, max_tokens=30) for i in range(8)])
    }
    reasons = {
        g.request.item: g.finish_reason for g in engine.generate([ask(i, max_tokens=30) for i in range(8)])
    }
    assert all(lengths[item] == 30 for item, reason in reasons.items() if reason == "length")
    assert "length" in reasons.values()


def test_tokens_are_counted_as_they_come(engine: VLLMEngine) -> None:
    """For the progress line, which would else know of finished outputs only."""
    seen = set()
    for _ in engine.generate([ask(i, SAMPLED, max_tokens=300) for i in range(200)]):
        seen.add(engine.unfinished_tokens)
    assert max(seen) > 0


def test_the_models_own_generation_config_is_not_applied(engine: VLLMEngine) -> None:
    # It says temperature 2 and would be the default for what is not sent: two seeds would differ.
    requests = [msgspec.structs.replace(ask(5), seed=seed, sample=seed) for seed in range(6)]
    assert len({g.text for g in engine.generate(requests)}) == 1


def test_a_request_that_does_not_fit_is_an_error_of_its_own(engine: VLLMEngine) -> None:
    done = {g.request.item: g for g in engine.generate([ask(1, length=600), ask(2)])}
    assert done["1"].finish_reason == "error"
    assert "512" in (done["1"].error or "")
    assert done["2"].finish_reason in ("stop", "length")
    assert engine.restarts == []


def test_log_likelihoods_agree_with_transformers(engine: VLLMEngine, model: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    pairs = [(ask(i).prompt_ids, ask(i + 3).prompt_ids[: 1 + i % 4]) for i in range(20)]
    for (prompt, continuation), value in zip(pairs, engine.scores(pairs), strict=True):
        ids = torch.tensor([[*prompt, *continuation]])
        with torch.no_grad():
            logs = reference(ids).logits[0].log_softmax(-1)
        expected = sum(
            float(logs[len(prompt) - 1 + place, token]) for place, token in enumerate(continuation)
        )
        assert value == pytest.approx(expected, abs=1e-3)


def test_a_killed_engine_loses_nothing(model: Path, tmp_path: Path) -> None:
    engine = VLLMEngine(str(model), max_model_len=512, dtype="float32", log=tmp_path / "log")
    requests = [ask(i, SAMPLED, max_tokens=60) for i in range(200)]
    done = {}
    for generation in engine.generate(requests):
        done[generation.request.item] = generation
        if len(done) == 3:
            os.killpg(next(iter(engine._replicas.values())).process.pid, signal.SIGKILL)
    engine.close()
    assert len(done) == 200
    assert all(g.finish_reason in ("stop", "length") for g in done.values())
    assert len(engine.restarts) == 1
