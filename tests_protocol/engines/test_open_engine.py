"""Which engine runs which entry, and what is said when one can't."""

import subprocess
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from nanolm import editions
from nanolm.engines import check_installed, check_options, open_engine
from nanolm.engines.llamacpp import DRAFTS_FROM, LlamaCppEngine, parameters
from nanolm.engines.replay import ReplayEngine
from nanolm.entries import Entry
from nanolm.entries.synthetic import synthetic
from nanolm.errors import EngineError, UsageError
from nanolm.records import Record
from nanolm.schema import Decoding, Output, Request

MINI = editions.load("mini")


def opened(entry: Entry, folder: Path, name: str = "auto"):  # type: ignore[no-untyped-def]
    return open_engine(entry, MINI, name=name, folder=folder, items_of=lambda _: ())


def request(**fields: object) -> Request:
    values: dict[str, object] = {
        "benchmark": "b",
        "item": "i",
        "sample": 0,
        "seed": 5,
        "prompt_ids": (1, 2, 3),
        "prompt_digest": "p0",
        "max_tokens": 9,
        "decoding": Decoding(temperature=0.3, min_p=0.15, repetition_penalty=1.05),
        "stop_ids": (2,),
    }
    return Request(**(values | fields))  # type: ignore[arg-type]


def test_an_unknown_engine_names_the_close_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean llamacpp"):
        opened(synthetic("oracle"), tmp_path, "lamacpp")


def test_a_synthetic_entry_takes_no_engine(tmp_path: Path) -> None:
    assert opened(synthetic("oracle"), tmp_path).name == "synthetic"
    with pytest.raises(EngineError, match="leave out --engine=vllm"):
        opened(synthetic("oracle"), tmp_path, "vllm")


def test_an_artefact_and_an_engine_that_do_not_fit(tmp_path: Path) -> None:
    entry = Entry(name="m", title="M", artefact="gguf", path=str(tmp_path / "m.gguf"))
    with pytest.raises(EngineError, match="use --engine=llamacpp"):
        opened(entry, tmp_path, "vllm")
    other = msgspec.structs.replace(entry, artefact="transformers")
    with pytest.raises(EngineError, match="use --engine=vllm"):
        opened(other, tmp_path, "llamacpp")


def test_what_can_be_told_before_an_engine_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Entry(name="m", title="M", artefact="transformers", path=str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    check_options(model, MINI, recorded=None)
    with pytest.raises(EngineError, match="2 replicas were asked for"):
        check_options(model, MINI, recorded=None, replicas=2)
    with pytest.raises(EngineError, match=r"slm-specs asks for log-likelihoods, which llama\.cpp does not"):
        check_options(
            msgspec.structs.replace(model, artefact="gguf"), editions.load("slm-specs"), recorded=None
        )
    with pytest.raises(EngineError, match="holds no recorded outputs"):
        check_options(model, MINI, name="replay", recorded=None, replay_from=tmp_path)
    assert not list(tmp_path.iterdir())

    def none(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", none)
    check_installed(synthetic("oracle"), MINI)
    for name, said in (("vllm", "vLLM"), ("transformers", "transformers")):
        with pytest.raises(EngineError, match=f"{said} is not installed"):
            check_installed(model, MINI, name=name)
    with pytest.raises(EngineError, match=r"llama\.cpp is not installed"):
        check_installed(msgspec.structs.replace(model, artefact="gguf"), MINI)


def test_a_file_that_is_no_gguf_is_refused_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    with pytest.raises(EngineError, match="can't be read: No such file"):
        LlamaCppEngine(path, log=tmp_path / "log")
    path.write_bytes(b"PK\x03\x04 and more")
    with pytest.raises(EngineError, match="is no GGUF file"):
        LlamaCppEngine(path, log=tmp_path / "log")


def test_a_truncated_model_is_an_error_that_says_where_the_log_is(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    engine = LlamaCppEngine(path, log=tmp_path / "engine.log")
    with pytest.raises(
        EngineError, match=r"llama\.cpp ended with status .*engine\.log\)\. Is .*m\.gguf whole\?$"
    ):
        list(engine.generate([request()]))
    engine.close()
    engine.close()


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LlamaCppEngine:
    monkeypatch.setattr("nanolm.engines.llamacpp.installed_version", lambda: "1")
    monkeypatch.setattr(LlamaCppEngine, "worker", "tests_protocol.engines.stand_in_llamacpp")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    return LlamaCppEngine(tmp_path / "model.gguf", log=tmp_path / "log")


def test_a_llamacpp_worker_that_dies_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it had answered before; each request is answered once."""
    engine = stand_in(tmp_path, monkeypatch)
    (tmp_path / "dies").write_text("5 3")
    requests = [request(item=str(number)) for number in range(30)]
    assert [g.request.item for g in engine.generate(requests)] == [str(number) for number in range(30)]
    assert len(engine.restarts) == 5
    engine.close()


def test_what_a_worker_answered_is_kept_when_it_dies_while_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe then breaks before all is sent."""
    engine = stand_in(tmp_path, monkeypatch)
    (tmp_path / "dies").write_text("5 3")

    def late(self: LlamaCppEngine, worker: "subprocess.Popen[str]", message: dict[str, object]) -> None:
        if message["number"] == 29 and len(self.restarts) < 5:
            worker.wait(10)
        send(self, worker, message)

    send = LlamaCppEngine._send
    monkeypatch.setattr(LlamaCppEngine, "_send", late)
    requests = [request(item=str(number)) for number in range(30)]
    assert [g.request.item for g in engine.generate(requests)] == [str(number) for number in range(30)]
    assert len(engine.restarts) == 5
    engine.close()


@pytest.mark.parametrize(
    ("temperature", "budget", "drafts"),
    [(0.0, DRAFTS_FROM, True), (0.0, DRAFTS_FROM - 1, False), (0.3, DRAFTS_FROM, False)],
)
def test_only_long_greedy_replies_are_drafted(
    temperature: float, budget: int, drafts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where tokens are drawn at random, a draft would change which ones are."""
    engine = stand_in(tmp_path, monkeypatch)
    greedy = request(max_tokens=budget, decoding=Decoding(temperature=0.0))
    list(engine.generate([greedy, request(max_tokens=9, decoding=Decoding(temperature=temperature))]))
    assert engine.settings["drafts"] is drafts
    engine.close()


def test_a_llamacpp_worker_that_only_dies_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = stand_in(tmp_path, monkeypatch)
    (tmp_path / "dies").write_text("9 0")
    with pytest.raises(EngineError, match=r"llama\.cpp ended with status -6"):
        list(engine.generate([request()]))
    assert (tmp_path / "dies").read_text() == "6 0"


def test_every_sampling_value_is_sent() -> None:
    sent = parameters(request())
    assert sent["prompt"] == [1, 2, 3]
    assert (sent["max_tokens"], sent["seed"]) == (9, 5)
    assert (sent["temperature"], sent["top_p"], sent["top_k"]) == (0.3, 1.0, 0)
    assert (sent["min_p"], sent["repeat_penalty"]) == (0.15, 1.05)


def test_replay_gives_the_recorded_text_and_refuses_another_prompt(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="holds no recorded outputs"):
        ReplayEngine(tmp_path)
    with Record(tmp_path, write=True) as record:
        record.append(
            Output(
                benchmark="b",
                item="i",
                sample=0,
                seed=5,
                entry="e",
                prompt_digest="p0",
                rendered_digest="",
                decoding=request().decoding,
                max_tokens=9,
                text="Answer: B",
                finish_reason="length",
                output_tokens=4,
            )
        )
    engine = ReplayEngine(tmp_path)
    asked = [request(), request(prompt_digest="p1"), request(sample=1), request(decoding=Decoding())]
    found = list(engine.generate(asked))
    assert (found[0].text, found[0].finish_reason, found[0].output_tokens) == ("Answer: B", "length", 4)
    assert [one.finish_reason for one in found[1:]] == ["error"] * 3
    assert "another prompt" in (found[1].error or "")
    engine.close()
