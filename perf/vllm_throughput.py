"""Tokens per second through pytest against vLLM's own offline `generate`, in one run.

    .venv-vllm/bin/python perf/vllm_throughput.py MODEL_FOLDER [--requests 256] [--tokens 32] [--rounds 3]

Both sides answer the same multiple-choice questions: the same token ids, sampling values, seeds, stop ids
and engine settings, in processes of their own, in turn (A B A B ...). On pytest's side, rendering, the
supervisor, the record, judging and progress are at work; the clock runs from the first request handed over
to the last output, so loading is not counted on either side. The ratio of the medians is the figure: 1.0
means that the harness costs nothing. On a busy machine the tokens per CPU second (all processes of a side)
say more.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from nanolm import editions, entries
from nanolm.engines import frames, vllm_worker
from nanolm.entries import budget, renderer, seed
from nanolm.run import Suite

ROOT = Path(__file__).resolve().parents[1]
MINI = ROOT / "nanolm" / "editions" / "mini"
SLUG = "arc-easy-mini"


def edition(folder: Path, requests: int, tokens: int, dtype: str) -> Path:
    """An edition of one benchmark with so many questions of our own."""
    folder.mkdir(parents=True)
    text = (MINI / "edition.toml").read_text().replace('name = "mini"', 'name = "throughput"')
    text = re.sub(r"(?m)^budget = .*", f"budget = {tokens}", text).replace("bfloat16", dtype)
    tables = re.split(r"(?m)^(?=\[)", text)
    kept = [table for table in tables if not table.startswith("[benchmark.") or f".{SLUG}]" in table]
    (folder / "edition.toml").write_text(re.sub(r"(?m)^items = .*", f"items = {requests}", "".join(kept)))
    (folder / "sources.lock.toml").write_text(
        '[source.arc-easy]\nkind = "folder"\nlicence_protocol = "CC0"\nlicence_repository = "CC0"\n\n'
        '[[source.arc-easy.file]]\npath = "test.jsonl"\n'
    )
    with (folder / "test.jsonl").open("w") as file:
        for number in range(requests):
            options = [str(number * step) for step in (2, 3, 5, 7)]
            question = f"A box holds {number} bags" + " and some string" * (number % 12)
            row = {
                "id": f"q{number}",
                "question": f"{question}. Each bag holds 3 stones. How many stones are in the box?",
                "choices": {"text": options, "label": list("ABCD")},
                "answerKey": "B",
            }
            file.write(json.dumps(row) + "\n")
    return folder


def asks(folder: Path, model: str) -> tuple[int, list[frames.Ask]]:
    """The context and what the run asks, made from its parts."""
    known = editions.load(str(folder))
    entry = entries.resolve(model, known)
    suite, encode = Suite(known), renderer(entry).encode
    found: list[frames.Ask] = []
    for item in suite.ids(SLUG):
        ids = encode(suite.prompt(SLUG, item).text).ids
        for sample in range(entry.samples):
            found.append(
                frames.Ask(
                    number=len(found),
                    prompt_ids=tuple(ids),
                    max_tokens=budget(entry, known.budget, len(ids)),
                    seed=seed(SLUG, item, sample),
                    decoding=entry.decoding.values,
                    stop_ids=entry.stop_ids,
                )
            )
    return entry.context, found


def offline(folder: Path, model: str, dtype: str) -> dict[str, float]:
    """vLLM's `LLM.generate` with the settings of our worker on a processor."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    context, work = asks(folder, model)
    from vllm import LLM

    llm = LLM(
        model=model,
        dtype=dtype,
        max_model_len=context,
        max_num_seqs=64,
        max_num_batched_tokens=context,
        enforce_eager=True,
        enable_chunked_prefill=False,
        generation_config="vllm",
        seed=0,
    )
    prompts: list[Any] = [{"prompt_token_ids": list(ask.prompt_ids)} for ask in work]
    parameters = [vllm_worker.sampling(ask) for ask in work]
    begin, cpu = time.perf_counter(), time.process_time()
    outputs = llm.generate(prompts, parameters, use_tqdm=False)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {
        "tokens": sum(len(output.outputs[0].token_ids) for output in outputs),
        "seconds": seconds,
        "cpu": cpu,
    }


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and those below it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(tree_cpu, children))


def through_pytest(folder: Path, model: str, reports: Path) -> dict[str, float]:
    """A run as a user starts one."""
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests_benchmarks", f"--entry={model}",
        f"--edition={folder}", "--engine=vllm", f"--reports-dir={reports}",
    ]  # fmt: skip
    used: list[tuple[float, float]] = []
    with (reports.parent / "log").open("a") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.2):
                used.append((time.time(), tree_cpu(process.pid)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        status = process.wait()
        ended.set()
        watcher.join()
    if status:
        sys.exit(f"exit status {status}; see {reports.parent / 'log'}")
    (record,) = reports.glob("*/*/outputs.jsonl")
    outputs = [json.loads(line) for line in record.read_text().splitlines()]
    begin = min(output["started"] for output in outputs)
    end = max(output["started"] + output["seconds"] for output in outputs)
    # At the end the engine's processes go, and their seconds with them: the most that was seen until then.
    cpu = max(c for t, c in used if begin <= t <= end + 0.4) - max(c for t, c in used if t <= begin)
    tokens = sum(output["output_tokens"] for output in outputs)
    return {"tokens": tokens, "seconds": end - begin, "cpu": cpu}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--offline", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.offline:
        print(json.dumps(offline(options.offline, options.model, options.dtype)))
        return
    rates: dict[str, list[tuple[float, float]]] = {"pytest": [], "offline": []}
    with tempfile.TemporaryDirectory(prefix="nanolm-throughput-") as name:
        work = Path(name)
        folder = edition(work / "edition", options.requests, options.tokens, options.dtype)
        for number in range(1, options.rounds + 1):
            for side, found in rates.items():
                if side == "pytest":
                    result = through_pytest(folder, options.model, work / f"reports-{number}")
                else:
                    command = [sys.executable, __file__, options.model, f"--dtype={options.dtype}"]
                    with (work / "offline.log").open("a") as log:
                        done = subprocess.run(
                            [*command, "--offline", str(folder)],
                            stdout=subprocess.PIPE,
                            stderr=log,
                            check=True,
                            start_new_session=True,  # as our worker: the kernel shares by session
                        )
                    result = json.loads(done.stdout.splitlines()[-1])
                found.append((result["tokens"] / result["seconds"], result["tokens"] / result["cpu"]))
                print(
                    f"round {number}: {side:8} {found[-1][0]:8.1f} tokens/s {found[-1][1]:8.1f} tokens per"
                    f" CPU s ({result['tokens']:,.0f} tokens, {result['seconds']:.1f} s)",
                    flush=True,
                )
    ours, theirs = (
        [statistics.median(column) for column in zip(*rates[side], strict=True)] for side in rates
    )
    print(
        f"median: pytest {ours[0]:.1f}, offline {theirs[0]:.1f} tokens/s, ratio {ours[0] / theirs[0]:.3f};"
        f" per CPU s ratio {ours[1] / theirs[1]:.3f}; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
