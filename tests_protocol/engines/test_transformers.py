"""The engine of log-likelihoods: with a stand-in for the model, then with torch and a tiny model."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from nanolm.engines.transformers import TransformersEngine
from nanolm.errors import EngineError
from nanolm.schema import Alternative, Decoding, Request, Scored
from tests_protocol.engines import reading, tiny_model


def ask(item: int, alternatives: tuple[Alternative, ...] = (), **fields: Any) -> Request:
    values: dict[str, Any] = {
        "benchmark": "b",
        "item": str(item),
        "sample": 0,
        "seed": 1,
        "prompt_ids": (),
        "prompt_digest": "",
        "max_tokens": 0,
        "decoding": Decoding(),
        "stop_ids": (257,),
        "alternatives": alternatives,
    }
    return Request(**(values | fields))


def options(number: int) -> tuple[Alternative, ...]:
    """A context and some continuations, of several lengths."""
    context = tuple((7 * number + 3 * at) % 256 for at in range(2 + number % 5))
    ends = [tuple((11 * option + at) % 256 for at in range(1 + (number + option) % 4)) for option in range(4)]
    return tuple(Alternative((*context, *end), len(context)) for end in ends)


def engine(reader: reading.Reader, **settings: Any) -> TransformersEngine:
    return TransformersEngine("none", context=64, reader=reader, **settings)


def answers(found: TransformersEngine, requests: list[Request]) -> dict[str, Scored]:
    generations = list(found.generate(requests))
    assert [one.error for one in generations] == [None] * len(requests)
    return {one.request.item: msgspec.json.decode(one.text, type=Scored) for one in generations}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("batch_tokens", [1, 40, 1024])
def test_every_alternative_gets_its_own_log_likelihood(shared: bool, batch_tokens: int) -> None:
    requests = [ask(number, options(number)) for number in range(12)]
    reader = reading.Reader(shared)
    found = answers(engine(reader, batch_tokens=batch_tokens), requests)
    for request in requests:
        expected = [reading.log_likelihood(one.ids, one.start) for one in request.alternatives]
        scored = found[request.item]
        assert scored.loglikelihoods == pytest.approx(expected)
        assert scored.tokens == tuple(len(one.ids) - one.start for one in request.alternatives)
        assert len(scored.greedy) == 4


def test_a_shared_context_is_read_once() -> None:
    context = tuple(range(50))
    four = tuple(Alternative((*context, 60 + option, 61), 50) for option in range(4))
    together, apart = reading.Reader(True), reading.Reader(False)
    assert answers(engine(together), [ask(1, four)]) == answers(engine(apart), [ask(1, four)])
    assert together.read_tokens == 54
    assert apart.read_tokens == 4 * 51


def test_a_layer_that_sees_a_short_span_only_reads_chains() -> None:
    reader = reading.Reader(True, window=3)
    requests = [ask(number, options(number)) for number in range(6)]
    answers(engine(reader), requests)
    deep = [row for batch in reader.batches for row in batch if row.depth > 3]
    assert deep
    assert all(row.chain for row in deep)


def test_the_longest_come_first_and_branching_rows_go_together() -> None:
    reader = reading.Reader(True)
    letters = [ask(number, options(number)[:1]) for number in range(6)]
    trees = [ask(10 + number, options(number)) for number in range(6)]
    answers(engine(reader, batch_tokens=24), letters + trees)
    assert all(len({row.chain for row in batch}) == 1 for batch in reader.batches)
    widths = [max(len(row.tokens) for row in batch) for batch in reader.batches]
    assert widths == sorted(widths, reverse=True)


def test_a_batch_that_fails_is_an_error_of_its_requests_alone() -> None:
    class Failing(reading.Reader):
        def read(self, rows):  # type: ignore[no-untyped-def]
            if any(row.targets[0] == 299 for row in rows):
                raise IndexError("index out of range in self")
            return super().read(rows)

    requests = [ask(1, (Alternative((1, 2, 299), 2),)), ask(2, (Alternative((5, 6), 1),))]
    found = {one.request.item: one for one in engine(Failing(), batch_tokens=1).generate(requests)}
    assert found["1"].finish_reason == "error"
    assert "outside the model's vocabulary" in str(found["1"].error)
    assert found["2"].finish_reason == "stop"


def test_a_model_that_gives_no_number_is_an_error() -> None:
    class Broken(reading.Reader):
        def read(self, rows):  # type: ignore[no-untyped-def]
            return [[(float("nan"), False) for _ in row.places] for row in rows]

    (found,) = engine(Broken()).generate([ask(1, options(1))])
    assert found.finish_reason == "error"
    assert "the model gave nan, which is no log-likelihood" in str(found.error)


def test_score_is_the_same_sum() -> None:
    found = engine(reading.Reader())
    assert found.score((1, 2), (3, 4, 5)) == pytest.approx(reading.log_likelihood((1, 2, 3, 4, 5), 2))
    with pytest.raises(EngineError, match="at least one token"):
        found.score((), (1,))


def test_closing_ends_after_the_batch() -> None:
    found = engine(reading.Reader(), batch_tokens=1)
    generations = found.generate([ask(number, options(number)[:1]) for number in range(5)])
    next(generations)
    found.close()
    assert list(generations) == []


# with torch and transformers, and a tiny model with random weights

LIBRARIES = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("vllm") is not None
real = [pytest.mark.vllm, pytest.mark.skipif(not LIBRARIES, reason="torch is missing: make test-vllm")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.write(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def tiny(model: Path) -> TransformersEngine:
    return TransformersEngine(str(model), context=512)


def plainly(model: Path, one: Alternative) -> float:
    """By transformers' own forward, one sequence at a time."""
    import torch
    from transformers import AutoModelForCausalLM

    causal = AutoModelForCausalLM.from_pretrained(str(model), dtype=torch.float32)
    with torch.inference_mode():
        chances = torch.log_softmax(causal(torch.tensor([one.ids])).logits[0], dim=-1)
    return sum(float(chances[at - 1, one.ids[at]]) for at in range(one.start, len(one.ids)))


class TestWithTorch:
    pytestmark = real

    def test_the_quick_ways_hold_for_a_llama(self, tiny: TransformersEngine) -> None:
        assert tiny.reader.shared
        assert tiny.reader.direct
        assert tiny.settings["shares_prefixes"] is True

    @pytest.mark.parametrize("batch_tokens", [1, 64, 1024])
    def test_values_are_those_of_the_models_own_forward(
        self, tiny: TransformersEngine, model: Path, batch_tokens: int
    ) -> None:
        tiny.batch_tokens = batch_tokens
        requests = [ask(number, options(number)) for number in range(9)]
        for item, scored in answers(tiny, requests).items():
            expected = [plainly(model, one) for one in options(int(item))]
            assert scored.loglikelihoods == pytest.approx(expected, abs=1e-4)

    def test_chains_and_trees_agree(self, tiny: TransformersEngine) -> None:
        requests = [ask(number, options(number)) for number in range(9)]
        shared = answers(tiny, requests)
        tiny.reader.shared = False
        try:
            apart = answers(tiny, requests)
        finally:
            tiny.reader.shared = True
        for item, scored in shared.items():
            assert scored.loglikelihoods == pytest.approx(apart[item].loglikelihoods, abs=1e-4)
            assert scored.greedy == apart[item].greedy

    def test_greedy_text_is_that_of_one_request_alone(self, tiny: TransformersEngine) -> None:
        texts = [
            ask(number, prompt_ids=tuple((5 * number + at) % 256 for at in range(3 + number)), max_tokens=6)
            for number in range(5)
        ]
        together = {one.request.item: one.text for one in tiny.generate(texts)}
        alone = {one.item: next(iter(tiny.generate([one]))).text for one in texts}
        assert together == alone
        assert all(together.values())

    def test_sampling_is_refused(self, tiny: TransformersEngine) -> None:
        text = ask(1, prompt_ids=(1, 2), max_tokens=4, decoding=Decoding(temperature=0.7))
        (found,) = tiny.generate([text])
        assert found.finish_reason == "error"
        assert "greedily only" in str(found.error)

    def test_a_checkpoint_that_lacks_a_tensor_is_refused(self, tmp_path: Path) -> None:
        """transformers would fill it with random numbers, others each time."""
        from safetensors.numpy import load_file, save_file

        file = tiny_model.write(tmp_path) / "model.safetensors"
        tensors = load_file(file)
        lacking = {k: v for k, v in tensors.items() if "layers.1.mlp.down" not in k}
        save_file(lacking, file, metadata={"format": "pt"})
        with pytest.raises(EngineError, match=r"lacks 1 tensor .*model\.layers\.1\.mlp\.down_proj\.weight"):
            TransformersEngine(str(tmp_path), context=64).reader  # noqa: B018
        save_file(tensors | {"model.norm.weight": np.ones(3, np.float32)}, file, metadata={"format": "pt"})
        with pytest.raises(EngineError, match="has other shapes of 1 tensor"):
            TransformersEngine(str(tmp_path), context=64).reader  # noqa: B018
        save_file(tensors | {"more.weight": np.ones(3, np.float32)}, file, metadata={"format": "pt"})
        whole = TransformersEngine(str(tmp_path), context=64)
        assert whole.reader.left_out == ["more.weight"]
        assert whole.settings["tensors_left_out"] == ["more.weight"]

    def test_attention_that_is_capped_is_read_as_capped(self, tmp_path: Path) -> None:
        """torch's fused attention leaves the cap out; the model's own plain forward has it."""
        import torch
        from transformers import AutoModelForCausalLM, Gemma2Config, Gemma2ForCausalLM

        torch.manual_seed(1)
        config = Gemma2Config(
            vocab_size=260, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, head_dim=32, query_pre_attn_scalar=1, attn_logit_softcapping=0.5,
            initializer_range=0.5,
        )  # fmt: skip
        Gemma2ForCausalLM(config).save_pretrained(tmp_path)
        eager = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager").eval()
        one = options(1)[0]
        with torch.inference_mode():
            chances = torch.log_softmax(eager(torch.tensor([one.ids])).logits[0].double(), dim=-1)
        expected = sum(float(chances[at - 1, one.ids[at]]) for at in range(one.start, len(one.ids)))
        found = TransformersEngine(str(tmp_path), context=512)
        assert found.score(one.ids[: one.start], one.ids[one.start :]) == pytest.approx(expected, abs=1e-4)
        assert found.reader.model.config._attn_implementation == "eager"

    def test_a_folder_that_is_no_model_is_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
        broken = TransformersEngine(str(tmp_path), context=64)
        with pytest.raises(EngineError, match="transformers can't load"):
            list(broken.generate([ask(1, options(1))]))
