"""The process that holds vLLM. Started by `nanolm.engines.vllm`, never by hand.

It reads `frames` from one pipe and writes them to another; what vLLM prints goes to a log file. One
loop adds requests as they come, steps the engine and sends each output as it finishes, so that vLLM
batches continuously.
"""

import os
import queue
import sys
import threading
import time
from typing import Any, BinaryIO

from nanolm.engines import frames

BEAT_SECONDS = 1.0


def sampling(ask: frames.Ask) -> Any:
    """vLLM's parameters of a request, every field that touches sampling said explicitly (§5).

    `ignore_eos` because the entry's stop ids already hold the end of sequence: nothing else stops.
    Watermarking, which vLLM turns on when it is configured to, is always off.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        n=1,
        temperature=ask.decoding.temperature,
        top_p=ask.decoding.top_p,
        top_k=ask.decoding.top_k,
        min_p=ask.decoding.min_p,
        repetition_penalty=ask.decoding.repetition_penalty,
        presence_penalty=0.0,
        frequency_penalty=0.0,
        seed=ask.seed,
        max_tokens=ask.max_tokens,
        min_tokens=0,
        stop=[],
        stop_token_ids=list(ask.stop_ids),
        ignore_eos=True,
        watermarking=False,
        skip_special_tokens=False,
        spaces_between_special_tokens=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def scoring() -> Any:
    """Parameters that make vLLM return the prompt's own log-probabilities."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=0.0,
        max_tokens=1,
        prompt_logprobs=0,
        detokenize=False,
        ignore_eos=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def start(settings: frames.Settings) -> Any:
    """vLLM's engine with these settings; generation_config="vllm" so that none of the model's own
    sampling values is applied behind our back."""
    from vllm import LLM
    from vllm.platforms import current_platform

    chosen: dict[str, Any] = {
        "max_num_seqs": settings.max_num_seqs,
        "max_num_batched_tokens": settings.max_num_batched_tokens,
        "enforce_eager": settings.enforce_eager,
        "enable_chunked_prefill": settings.enable_chunked_prefill,
        "enable_prefix_caching": settings.enable_prefix_caching,
        "gpu_memory_utilization": settings.gpu_memory_utilization,
    }
    if current_platform.is_cpu():
        # Seeded requests whose prefill is split crash on CPU (docs/vllm.md), and compiling takes
        # minutes without making anything faster.
        defaults = {
            "max_num_seqs": 64,
            "max_num_batched_tokens": settings.max_model_len,
            "enforce_eager": True,
            "enable_chunked_prefill": False,
        }
        chosen |= {name: value for name, value in defaults.items() if chosen[name] is None}
        chosen["gpu_memory_utilization"] = None
    llm = LLM(
        model=settings.model,
        revision=settings.revision,
        tokenizer_revision=settings.revision,
        dtype=settings.dtype,
        max_model_len=settings.max_model_len,
        seed=settings.seed,
        trust_remote_code=settings.trust_remote_code,
        generation_config="vllm",
        disable_log_stats=True,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    return llm.llm_engine


def resolved(engine: Any) -> dict[str, str | int | float | bool | None]:
    """The settings vLLM ended up with, for run.json."""
    config = engine.vllm_config
    return {
        "dtype": str(config.model_config.dtype).removeprefix("torch."),
        "max_model_len": config.model_config.max_model_len,
        "max_num_seqs": config.scheduler_config.max_num_seqs,
        "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "enable_chunked_prefill": bool(config.scheduler_config.enable_chunked_prefill),
        "enable_prefix_caching": bool(config.cache_config.enable_prefix_caching),
        "enforce_eager": bool(config.model_config.enforce_eager),
        "multiprocessing": os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1") != "0",
    }


def log_likelihood(output: Any, start: int) -> float:
    """Nats of the prompt tokens from `start` on, from vLLM's prompt log-probabilities."""
    ids = output.prompt_token_ids
    return float(sum(output.prompt_logprobs[i][ids[i]].logprob for i in range(start, len(ids))))


def unfinished_tokens(engine: Any) -> int:
    """Generated so far for the requests in hand, for the progress line; 0 where vLLM does not say."""
    try:
        states = engine.output_processor.request_states.values()
        return sum(state.detokenizer.num_output_tokens() for state in states if state.detokenizer)
    except AttributeError:
        return 0


class Loop:
    """Adds what arrives, steps, sends what is finished."""

    def __init__(self, engine: Any, inbox: "queue.SimpleQueue[frames.ToWorker | None]", out: BinaryIO):
        self.engine = engine
        self.inbox = inbox
        self.out = out
        self.starts: dict[int, int] = {}
        self.last_beat = 0.0
        self.steps = 0

    def take(self) -> bool:
        """Take in all that has arrived, waiting when there is nothing to do; False at the end."""
        while not self.inbox.empty() or not self.engine.has_unfinished_requests():
            message = self.inbox.get()
            if message is None:
                return False
            self.handle(message)
        return True

    def handle(self, message: frames.ToWorker) -> None:
        if isinstance(message, frames.Abort):
            self.engine.abort_request([str(number) for number in message.numbers])
            return
        assert isinstance(message, frames.Work)
        for one in message.messages:
            self.add(one)

    def add(self, message: frames.Ask | frames.Score) -> None:
        try:
            if isinstance(message, frames.Ask):
                ids, parameters = message.prompt_ids, sampling(message)
            else:
                if message.start < 1:
                    raise ValueError("the continuation leaves no room for a token of context")
                ids, parameters = message.ids, scoring()
                self.starts[message.number] = message.start
            self.engine.add_request(str(message.number), {"prompt_token_ids": list(ids)}, parameters)
        except Exception as error:
            # vLLM refuses this request (longer than the context, token id outside the vocabulary) with
            # errors of many kinds; the others go on.
            self.refuse(message, f"{type(error).__name__}: {error}")

    def refuse(self, message: frames.Ask | frames.Score, error: str) -> None:
        number = message.number
        if isinstance(message, frames.Score):
            self.starts.pop(number, None)
            frames.write(self.out, frames.Scored(number=number, value=None, error=error))
        else:
            done = frames.Done(number=number, text="", finish_reason="error", output_tokens=0, error=error)
            frames.write(self.out, done)

    def step(self) -> None:
        finished = [self.message(output) for output in self.engine.step() if output.finished]
        if finished:
            frames.write(self.out, *finished)
        self.steps += 1
        now = time.monotonic()
        if now - self.last_beat >= BEAT_SECONDS:
            self.last_beat = now
            frames.write(self.out, frames.Beat(self.steps, unfinished_tokens(self.engine)))

    def message(self, output: Any) -> frames.Done | frames.Scored:
        number = int(output.request_id)
        start = self.starts.pop(number, None)
        if start is not None:
            return frames.Scored(number=number, value=log_likelihood(output, start))
        completion = output.outputs[0]
        reason = completion.finish_reason
        known = reason in ("stop", "length")
        return frames.Done(
            number=number,
            text=completion.text,
            finish_reason=reason if known else "error",
            output_tokens=len(completion.token_ids),
            error=None if known else f"vLLM ended the request with finish reason {reason!r}",
        )


def serve(source: BinaryIO, out: BinaryIO) -> None:
    """Run until the supervisor closes its pipe."""
    settings = frames.read_for_worker(source)
    assert isinstance(settings, frames.Settings)
    try:
        engine = start(settings)
        import vllm

        frames.write(out, frames.Ready(version=vllm.__version__, settings=resolved(engine)))
        inbox: queue.SimpleQueue[frames.ToWorker | None] = queue.SimpleQueue()

        def listen() -> None:
            message: frames.ToWorker | None = settings
            while message is not None:
                message = frames.read_for_worker(source)
                inbox.put(message)

        threading.Thread(target=listen, daemon=True).start()
        loop = Loop(engine, inbox, out)
        while loop.take():
            loop.step()
    except Exception as error:
        frames.write(out, frames.Fatal(f"{type(error).__name__}: {error}"))
        raise


def main() -> None:
    """`python -m nanolm.engines.vllm_worker IN OUT` with two inherited file descriptors."""
    with os.fdopen(int(sys.argv[1]), "rb") as source, os.fdopen(int(sys.argv[2]), "wb") as out:
        serve(source, out)


if __name__ == "__main__":
    main()
