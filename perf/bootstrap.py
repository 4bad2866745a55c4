"""CPU seconds of the bootstrap: 10,000 resamples × 33,485 items, for 13 entries and for one.

    python perf/bootstrap.py

Made-up verdicts at the size of edition V1; prints CPU and wall seconds. The bar is 4 CPU seconds for 13.
"""

import time
from pathlib import Path

import numpy as np

from nanolm.editions.edition import BenchmarkSpec, Category, Edition
from nanolm.scoring import BenchmarkResult, score_entries

# benchmark: category, items, chance (protocol §3 and §8)
SUITE = {
    "mmlu-cf": ("knowledge", 10_000, 0.2563),
    "arc-easy": ("knowledge", 2_376, 0.2618),
    "hellaswag-pro": ("language-understanding", 5_600, 0.2429),
    "global-piqa": ("language-understanding", 203, 0.4187),
    "gsm8k-platinum": ("math-and-reasoning", 1_209, 0.0),
    "math-500": ("math-and-reasoning", 500, 0.0),
    "when2call": ("tools-and-automation", 3_646, 0.2680),
    "toolalpaca": ("tools-and-automation", 170, 0.0),
    "mbpp-plus": ("coding", 377, 0.0),
    "evoeval": ("coding", 824, 0.0),
    "banking77": ("classification-and-extraction", 3_080, 0.0130),
    "clinc150": ("classification-and-extraction", 5_500, 0.1818),
}


def edition() -> Edition:
    """An edition with V1's sizes and chance levels, and nothing to ask."""
    specs = {
        slug: BenchmarkSpec(
            slug=slug,
            title=slug,
            category=category,
            module=slug.replace("-", "_"),
            answer_type="letter",
            items=items,
            metric="accuracy",
            split="test",
            licence="none stated",
            sources=(),
        )
        for slug, (category, items, _) in SUITE.items()
    }
    categories = dict.fromkeys(category for category, _, _ in SUITE.values())
    return Edition(
        name="size-of-v1",
        title="Size of V1",
        version="1.0.0",
        summary="",
        categories=tuple(Category(slug=slug, title=slug) for slug in categories),
        benchmarks=specs,
        instructions={},
        budget=32_768,
        prompt_limit=4_096,
        parameter_limit=600_000_000,
        samples_sampled=4,
        samples_greedy=1,
        engine="vllm",
        engine_version="0.31.0",
        dtype="bfloat16",
        extractors={},
        folder=Path(),
        digest="0" * 16,
    )


def results(ability: float, samples: int, seed: int) -> dict[str, BenchmarkResult]:
    """Verdicts of an entry that is right with a chance that differs from item to item."""
    generator = np.random.default_rng(seed)
    found = {}
    for slug, (category, items, chance) in SUITE.items():
        right = chance + (1 - chance) * generator.beta(ability * 4, (1 - ability) * 4, items)
        found[slug] = BenchmarkResult(
            slug=slug,
            category=category,
            chance=chance,
            chance_rule="constant" if chance else "open-ended",
            items=tuple(str(i) for i in range(items)),
            correct=generator.binomial(samples, right).astype(np.uint8),
            samples=samples,
        )
    return found


def main() -> None:
    suite = edition()
    entries = {f"entry-{k}": results(0.1 + 0.05 * k, 4 if k % 3 else 1, k) for k in range(13)}
    for names in (list(entries), ["entry-1"]):
        cpu, wall = time.process_time(), time.perf_counter()
        scores = score_entries(suite, {name: entries[name] for name in names})
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        index = scores["entry-1"].index
        print(f"{len(names):3d} entries: {cpu:.2f} CPU s, {wall:.2f} s; entry-1: {index}")


if __name__ == "__main__":
    main()
