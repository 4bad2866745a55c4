"""A small edition and results for it, made in code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from nanolm.editions.edition import BenchmarkSpec, Category, Edition
from nanolm.scoring import BenchmarkResult

MakeEdition = Callable[[Mapping[str, Sequence[str]]], Edition]
MakeResult = Callable[..., BenchmarkResult]


@pytest.fixture
def make_edition() -> MakeEdition:
    """`make_edition({"category": ["benchmark", …]})`."""

    def make(suite: Mapping[str, Sequence[str]]) -> Edition:
        specs = {
            slug: BenchmarkSpec(
                slug=slug,
                title=slug.title(),
                category=category,
                module="gsm8k_platinum",
                answer_type="number",
                items=4,
                metric="accuracy",
                split="test",
                licence="MIT",
                sources=(),
            )
            for category, slugs in suite.items()
            for slug in slugs
        }
        return Edition(
            name="small",
            title="Small",
            version="1.0.0",
            summary="",
            categories=tuple(Category(slug=slug, title=slug.title()) for slug in suite),
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
            digest="feedfacefeedface",
        )

    return make


@pytest.fixture
def make_result() -> MakeResult:
    """`make_result("benchmark", [4, 0, 2], samples=4, chance=0.25)`."""

    def make(
        slug: str, correct: Sequence[int], samples: int = 1, chance: float = 0.0, category: str = "c"
    ) -> BenchmarkResult:
        return BenchmarkResult(
            slug=slug,
            category=category,
            chance=chance,
            chance_rule="constant" if chance else "open-ended",
            items=tuple(f"{i:04d}" for i in range(len(correct))),
            correct=np.array(correct, dtype=np.uint8),
            samples=samples,
        )

    return make
