"""Items whose prompt is longer than the edition's limit on an eligible tokenizer (§3, §10, ruling 77)."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from nanolm.editions import exclusions
from nanolm.editions.edition import Edition
from nanolm.editions.frozen import read_frozen
from nanolm.editions.items import build_all
from nanolm.editions.read import suite_folder
from nanolm.errors import EditionError, EntryError, NanoLMError, counted
from nanolm.schema import Prompt

RULE = "prompt-too-long"

Counters = Mapping[str, Callable[[Sequence[str]], Sequence[int]]]
"""For each eligible tokenizer's name: from user messages to the tokens of the whole rendered prompts."""


class Found(msgspec.Struct, frozen=True):
    """What was found."""

    found: dict[str, dict[str, str]] = {}
    """Item ids by benchmark, each with the first tokenizer that counts too many."""
    missing: dict[str, str] = {}
    """Benchmarks whose over-long items could not be found, and why."""


def over_long(prompts: Sequence[Prompt], counters: Counters, limit: int) -> dict[str, str]:
    """The ids of items whose prompt is over `limit` tokens, each with the first such tokenizer."""
    found: dict[str, str] = {}
    texts = [prompt.text for prompt in prompts]
    for name, count in counters.items():
        for prompt, tokens in zip(prompts, count(texts), strict=True):
            if tokens > limit:
                found.setdefault(prompt.item, name)
    return {prompt.item: found[prompt.item] for prompt in prompts if prompt.item in found}


def still_open(edition: Edition, slug: str) -> int | None:
    """How many items a benchmark has over the edition's number while its over-long items are not known.

    None when they are known, when it has no more than the edition says, or when it was frozen. Errors as in
    `build_items`.
    """
    folder = suite_folder(edition)
    rule = exclusions.read(folder).rules.get(RULE)
    frozen = read_frozen(folder)
    if rule is None or rule.verified or (frozen is not None and slug in frozen.benchmarks):
        return None
    more = len(build_all(edition, slug)[1]) - edition.benchmarks[slug].items
    return more if more > 0 else None


def fill(edition: Edition, benchmarks: Sequence[str], counters: Callable[[], Counters] | None) -> Found:
    """Find the over-long items of these benchmarks and list them in `exclusions.toml`.

    Nothing happens when the edition has no such rule, or has its items already. They are listed only when
    they are as many as the rule says.
    """
    listed = exclusions.read(edition.folder)
    rule = listed.rules.get(RULE)
    if rule is None or rule.verified or counters is None:
        return Found()
    prompts: dict[str, Sequence[Prompt]] = {}
    for slug in benchmarks:
        try:
            prompts[slug] = build_all(edition, slug)[1]
        except NanoLMError:
            continue  # no data, or bad rows: said when it is built
    longer = {
        slug: each
        for slug, each in prompts.items()
        if len(each) != edition.benchmarks[slug].items and slug not in rule.excluded
    }
    if not longer:
        return Found()
    try:
        counted = counters()
        found = {slug: over_long(each, counted, edition.prompt_limit) for slug, each in longer.items()}
    except EntryError as error:
        why = f"its over-long items need every eligible tokenizer: {error}"
        return Found(missing=dict.fromkeys(longer, why))
    found = {slug: each for slug, each in found.items() if each}
    if sum(map(len, found.values())) != rule.items:
        return Found(missing=dict.fromkeys(longer, _other_count(edition, rule, found, len(counted))))
    written = msgspec.structs.replace(
        rule, verified=True, excluded={**rule.excluded, **{slug: tuple(each) for slug, each in found.items()}}
    )
    try:
        exclusions.write(msgspec.structs.replace(listed, rules={**listed.rules, RULE: written}))
    except OSError as error:
        raise EditionError(f"can't write {listed.path}: {error.strerror}") from None
    return Found(found=found)


def _other_count(
    edition: Edition, rule: exclusions.Rule, found: Mapping[str, Mapping[str, str]], tokenizers: int
) -> str:
    ids = [f"{item} ({name})" for each in found.values() for item, name in each.items()]
    shown = f": {', '.join(ids[:8])}{', …' if len(ids) > 8 else ''}" if ids else ""
    return (
        f"found {counted(len(ids), 'item')} over {edition.prompt_limit:,} tokens on "
        f"{counted(tokenizers, 'eligible tokenizer')}"
        f"{shown}; expected the {rule.items} of the rule {RULE}"
    )
