"""Tokens per second of our vLLM engine against vLLM's own offline `generate`, in one run.

    .venv-vllm/bin/python perf/vllm_throughput.py MODEL_FOLDER [--requests 256] [--dtype bfloat16]

Both sides get the same token ids, sampling values, seeds and engine settings, in processes of their own, in
turn (A B A B ...). The ratio of the medians is the figure: 1.0 means that the supervisor costs nothing.
Loading is not counted on either side.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from nanolm.engines import frames, vllm_worker
from nanolm.engines.vllm import VLLMEngine
from nanolm.schema import Decoding, Request

Raw = argparse.RawDescriptionHelpFormatter
DECODING = Decoding(temperature=0.7, top_p=0.9)


def requests(count: int, tokens: int) -> list[Request]:
    """Prompts of 20 to 83 tokens that no end of sequence cuts short."""
    return [
        Request(
            benchmark="perf",
            item=str(i),
            sample=0,
            seed=i,
            prompt_ids=tuple(100 + (31 * i + 7 * place) % 9000 for place in range(20 + i % 64)),
            prompt_digest="",
            max_tokens=tokens,
            decoding=DECODING,
            stop_ids=(),
        )
        for i in range(count)
    ]


def ours(arguments: argparse.Namespace) -> tuple[int, float]:
    engine = VLLMEngine(
        arguments.model, max_model_len=arguments.context, dtype=arguments.dtype, log=Path(arguments.log)
    )
    work = requests(arguments.requests, arguments.tokens)
    list(engine.generate(work[:2]))
    begin = time.perf_counter()
    tokens = sum(generation.output_tokens for generation in engine.generate(work))
    seconds = time.perf_counter() - begin
    engine.close()
    return tokens, seconds


def offline(arguments: argparse.Namespace) -> tuple[int, float]:
    """vLLM's `LLM.generate` with the same settings."""
    import os

    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    from vllm import LLM

    llm = LLM(
        model=arguments.model,
        dtype=arguments.dtype,
        max_model_len=arguments.context,
        max_num_seqs=64,
        max_num_batched_tokens=arguments.context,
        enforce_eager=True,
        enable_chunked_prefill=False,
        generation_config="vllm",
        seed=0,
    )
    work = requests(arguments.requests, arguments.tokens)
    prompts: list[Any] = [{"prompt_token_ids": list(request.prompt_ids)} for request in work]
    parameters = [
        vllm_worker.sampling(
            frames.Ask(
                number=0,
                prompt_ids=(),
                max_tokens=request.max_tokens,
                seed=request.seed,
                decoding=request.decoding,
                stop_ids=request.stop_ids,
            )
        )
        for request in work
    ]
    llm.generate(prompts[:2], parameters[:2], use_tqdm=False)
    begin = time.perf_counter()
    outputs = llm.generate(prompts, parameters, use_tqdm=False)
    seconds = time.perf_counter() - begin
    return sum(len(output.outputs[0].token_ids) for output in outputs), seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", default="/tmp/nanolm-perf-vllm.log")
    parser.add_argument("--side", choices=["ours", "offline"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        tokens, seconds = (ours if arguments.side == "ours" else offline)(arguments)
        print(json.dumps({"tokens": tokens, "seconds": seconds}))
        return
    rates: dict[str, list[float]] = {"ours": [], "offline": []}
    for place in range(arguments.rounds):
        for side in rates:
            command = [sys.executable, __file__, *sys.argv[1:], "--side", side]
            with Path(arguments.log).open("a") as log:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, text=True, check=True)
            result = json.loads(done.stdout.strip().splitlines()[-1])
            rates[side].append(result["tokens"] / result["seconds"])
            print(f"round {place + 1}: {side:8} {rates[side][-1]:8.1f} tokens/s ({result['tokens']} tokens)")
    ours_median, offline_median = (statistics.median(rates[side]) for side in ("ours", "offline"))
    ratio = ours_median / offline_median
    print(f"median: ours {ours_median:.1f}, offline {offline_median:.1f}, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
