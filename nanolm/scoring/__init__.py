"""Chance correction, categories, index, bootstrap, ranks and comparison (protocol §8). Pure: no files.

    tally = Tally(spec, chance, chance_rule, item_ids, samples)     # one per benchmark
    tally.add(item_id, sample, verdict, output_tokens)              # for every output
    scores = score_entry(edition, {slug: tally.result(), ...})      # §8, with intervals
    entry_score(edition, entry, scores, complete=..., ...)          # what score.json holds

Several entries at once are scored with `score_entries`; differences with `compare`.
"""

from nanolm.scoring.bootstrap import RESAMPLES
from nanolm.scoring.ranks import ranks
from nanolm.scoring.result import BenchmarkResult, Tally
from nanolm.scoring.score import (
    Resampled,
    Scores,
    entry_score,
    raw_interval,
    resampled_raws,
    score_entries,
    score_entry,
    skill,
    without,
)

__all__ = [
    "RESAMPLES",
    "BenchmarkResult",
    "Resampled",
    "Scores",
    "Tally",
    "entry_score",
    "ranks",
    "raw_interval",
    "resampled_raws",
    "score_entries",
    "score_entry",
    "skill",
    "without",
]
