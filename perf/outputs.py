"""The one maker of made-up outputs for the measurements here."""

from typing import Any

from nanolm.entries.entry import Entry
from nanolm.run import Suite
from nanolm.schema import Decoding, Item, Output


def output(
    item: Item, text: str, sample: int = 0, asked: tuple[Suite, Entry] | None = None, **told: Any
) -> Output:
    """What an engine wrote. `asked`: by whom, of which edition; without it, of no record."""
    suite, entry = asked or (None, None)
    fields: dict[str, Any] = {
        "seed": sample,
        "entry": entry.digest if entry else "",
        "prompt_digest": suite.prompt(item.benchmark, item.id).digest if suite else "",
        "rendered_digest": "",
        "decoding": Decoding(),
        "max_tokens": suite.edition.budget if suite else 1,
        "finish_reason": "stop",
    }
    return Output(benchmark=item.benchmark, item=item.id, sample=sample, text=text, **{**fields, **told})
