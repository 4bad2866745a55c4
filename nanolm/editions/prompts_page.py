"""The page docs/prompts.md: one prompt of each benchmark, from the mini edition's own items.

Written anew with `python -m nanolm.editions.prompts_page > docs/prompts.md`.
"""

import json
import sys

from nanolm.editions.edition import Edition
from nanolm.editions.items import load_items
from nanolm.editions.read import load
from nanolm.schema import Item

_HEAD = """\
# Prompts

One real prompt of each benchmark, as the user message that a model is sent. The items are the mini edition's,
which were written for this project; layouts, stems and instructions are those of V1, word for word (protocol
section 4). This page is written by `python -m nanolm.editions.prompts_page > docs/prompts.md`.
"""


def page(edition: Edition) -> str:
    """The page as Markdown; the first item of each benchmark."""
    parts = [_HEAD]
    for slug, spec in edition.benchmarks.items():
        first = load_items(edition, slug, limit=1)
        gold = _gold(first.items[0])
        fence = _fence(first.prompts[0].text)
        parts.append(
            f"## {spec.title}\n\nAnswer type: {spec.answer_type.replace('_', ' ')}. Gold: {gold}.\n\n"
            f"{fence}text\n{first.prompts[0].text}\n{fence}\n"
        )
    return "\n".join(parts)


def _gold(item: Item) -> str:
    if item.gold is None:
        return "none, the evaluator's tests decide"
    return f"`{item.gold if isinstance(item.gold, str) else json.dumps(item.gold)}`"


def _fence(text: str) -> str:
    """Longer than any run of backticks in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


if __name__ == "__main__":
    sys.stdout.write(page(load("mini")))
