"""How long prompts are on the tokenizers of an edition's entries (§10: a prompt must fit on each)."""

from collections.abc import Callable, Sequence

from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.entries.reference import names, resolve
from nanolm.entries.renderer import renderer


def counters(edition: Edition) -> dict[str, Callable[[Sequence[str]], list[int]]]:
    """For each entry of the edition: from user messages to the token counts of its rendered prompts.

    Tokenizers are read when they are first used. Raises `EntryError` then for one that can't be had.
    """
    entries = [resolve(name, edition) for name in names(edition)]
    return {entry.name: _counter(entry) for entry in entries if entry.artefact == "transformers"}


def _counter(entry: Entry) -> Callable[[Sequence[str]], list[int]]:
    def count(messages: Sequence[str]) -> list[int]:
        return [len(rendered.ids) for rendered in renderer(entry).encode_all(messages)]

    return count
