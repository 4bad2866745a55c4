"""Requests for the log-likelihoods of given options, and each of them computed once."""

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from nanolm.editions import prompt
from nanolm.engines import Engine, Generation
from nanolm.entries import Entry, seed
from nanolm.entries.pairs import PairEncoder
from nanolm.records import Key
from nanolm.run.suite import Suite
from nanolm.schema import Alternative, Request

_AT_ONCE = 512
"""Items that are tokenised together."""


def asks_likelihoods(suite: Suite, slug: str) -> bool:
    """Whether a benchmark's items are scored, and nothing is generated for them."""
    return suite.edition.benchmarks[slug].answer_type == "likeliest"


def requests(
    suite: Suite, entry: Entry, encoder: PairEncoder, slug: str, keys: Sequence[Key]
) -> Iterator[tuple[Request, str]]:
    """A request for each of one benchmark's keys, and why it can't be scored (empty when it can)."""
    clip = suite.edition.benchmarks[slug].clip
    for start in range(0, len(keys), _AT_ONCE):
        chunk = keys[start : start + _AT_ONCE]
        pairs = [prompt.alternatives(suite.edition, suite.item(slug, item)) for _, item, _ in chunk]
        found = iter(encoder.encode_all(list(itertools.chain.from_iterable(pairs)), clip))
        for (_, item, sample), each in zip(chunk, pairs, strict=True):
            encoded = [next(found) for _ in each]
            problem = next((one for one in encoded if isinstance(one, str)), "")
            request = Request(
                benchmark=slug,
                item=item,
                sample=sample,
                seed=seed(slug, item, sample),
                prompt_ids=(),
                prompt_digest=suite.prompt(slug, item).digest,
                max_tokens=0,
                decoding=entry.decoding.values,
                stop_ids=entry.stop_ids,
                alternatives=tuple(one for one in encoded if isinstance(one, Alternative)),
            )
            yield request, problem


def once(engine: Engine, requests: Sequence[Request]) -> Iterator[Generation]:
    """As `engine.generate`, with equal alternatives scored once and given to all that ask for them."""
    twins: dict[tuple[Alternative, ...], list[Request]] = {}
    asked = []
    for request in requests:
        if not request.alternatives:
            asked.append(request)
            continue
        same = twins.setdefault(request.alternatives, [])
        if not same:
            asked.append(request)
        same.append(request)
    for generation in engine.generate(asked):
        yield generation
        for twin in twins.get(generation.request.alternatives, [])[1:]:
            yield msgspec.structs.replace(generation, request=twin, seconds=0.0)
