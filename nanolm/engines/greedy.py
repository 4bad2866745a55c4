"""Greedy text from a causal model of transformers, a small batch at a time."""

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any

from nanolm.engines.causal import Reader
from nanolm.engines.engine import Generation
from nanolm.schema import Request


def write(
    reader: Reader, model: str, revision: str | None, requests: Sequence[Request], context: int
) -> Iterator[Generation]:
    """One generation for each request, all of them at once; sampled ones are errors."""
    greedy = []
    for request in requests:
        if request.decoding.greedy and request.decoding.repetition_penalty == 1.0:
            greedy.append(request)
            continue
        problem = (
            f"--engine=transformers writes greedily only, this decoding is {request.decoding}; choose vllm"
        )
        yield Generation(request=request, text="", finish_reason="error", error=problem)
    if not greedy:
        return
    started, clock = time.time(), time.monotonic()
    try:
        written = _tokens(reader, greedy, context)
    except RuntimeError as error:  # torch: out of memory, an id outside the vocabulary
        problem = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        for request in greedy:
            yield Generation(request=request, text="", finish_reason="error", error=problem)
        return
    seconds = (time.monotonic() - clock) / len(greedy)
    tokenizer = _tokenizer(model, revision)
    for request, ids in zip(greedy, written, strict=True):
        stopped = bool(ids) and ids[-1] in request.stop_ids
        text = tokenizer.decode(
            ids[:-1] if stopped else ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        yield Generation(
            request=request,
            text=text,
            finish_reason="stop" if stopped else "length",
            output_tokens=len(ids),
            started=started,
            seconds=seconds,
        )


def _tokens(reader: Reader, requests: Sequence[Request], context: int) -> list[list[int]]:
    """New tokens of each request, up to its stop token or its budget."""
    import torch

    width = max(len(request.prompt_ids) for request in requests)
    most = min(max(request.max_tokens for request in requests), context - min(width, context - 1))
    stops = sorted({token for request in requests for token in request.stop_ids})
    pad = stops[0] if stops else 0
    ids = torch.full((len(requests), width), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for line, request in enumerate(requests):
        ids[line, width - len(request.prompt_ids) :] = torch.tensor(request.prompt_ids)
        mask[line, width - len(request.prompt_ids) :] = 1
    with torch.inference_mode():
        found = reader.model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=most,
            do_sample=False,
            num_beams=1,
            temperature=None,
            top_p=None,
            top_k=None,
            repetition_penalty=1.0,
            eos_token_id=stops or None,
            pad_token_id=pad,
        )
    return [_cut(line, request) for line, request in zip(found[:, width:].tolist(), requests, strict=True)]


def _cut(ids: list[int], request: Request) -> list[int]:
    for place, token in enumerate(ids[: request.max_tokens]):
        if token in request.stop_ids:
            return ids[: place + 1]
    return ids[: request.max_tokens]


@functools.lru_cache(maxsize=1)
def _tokenizer(model: str, revision: str | None) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model, revision=revision, trust_remote_code=False)
