"""How many new tokens a prompt leaves room for (protocol §5)."""

from nanolm.entries.entry import Entry


def budget(entry: Entry, edition_budget: int, prompt_tokens: int) -> int:
    """New tokens for a prompt: min(edition's budget, context - prompt); at most 0 means `unsupported`.

    The prompt is never cut to make room (ruling 10), so the result can be negative: by how many
    tokens the prompt is too long.
    """
    return min(edition_budget, entry.context - prompt_tokens)
