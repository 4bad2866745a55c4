"""The words an unofficial entry gives for its values: `reasons`, `warnings` and why it can't be published."""

from typing import Any

from nanolm.editions.edition import Edition
from nanolm.entries import gguf, tokens
from nanolm.entries import mode as modes_of
from nanolm.entries.entry import Mode
from nanolm.entries.parameters import Audit
from nanolm.entries.template import CLOCK, ChatTemplate


def of_mode(modes: modes_of.Modes, wanted: Mode | None) -> str:
    """Why an entry has its mode, and how to ask for the other."""
    if modes.switch is None:
        return f"{modes.kind}: {modes.why}"
    how = "as asked" if wanted else f"{modes.default} is the template's own default"
    return f"{modes.kind}: {modes.why}; {how}, the other entry is #think or #no-think behind the reference"


def of_bos(adds: bool, tokenizer: Any) -> str:
    """Why BOS is put in front of a rendered template, or is not."""
    if adds:
        return f"the tokenizer puts {tokenizer.bos_token} in front and the template omits it: added once"
    return "the tokenizer puts no BOS in front, or the template writes it"


def of_prefix(tokenizer: Any) -> str:
    """What stands in front of a bare text."""
    front = " ".join(tokenizer.convert_ids_to_tokens(list(tokens.prefix(tokenizer))))
    return f"as for every text, the tokenizer's own rule puts {front or 'nothing'} in front"


def left_out(count: Audit) -> str:
    """Which tensors are not counted (§2), the first three."""
    return ", ".join(f"left out {item.name} ({item.why})" for item in count.left_out[:3]) or "none left out"


def over_the_limit(count: Audit, edition: Edition | None) -> str:
    """Parameters that are over the limit with buffers only; empty when they are not."""
    limit = edition.parameter_limit if edition else 600_000_000
    if count.with_buffers <= limit or count.parameters > limit:  # `complete` says the latter
        return ""
    return f"{count.with_buffers:,} parameters with buffers, at most {limit:,} (protocol §2, ruling 68)"


def clock(template: ChatTemplate | None) -> str:
    """A template that asks for the date; empty when it does not."""
    if template is None or "strftime_now" not in template.source:
        return ""
    return f"the template asks for today's date; its clock stands at {CLOCK:%Y-%m-%d}, so prompts never drift"


def own_code(config: dict[str, Any]) -> str:
    """A model with code of its own; empty when it has none."""
    if not config.get("auto_map"):
        return ""
    return "config.json names code of the model's own (auto_map); it is never run, the engine uses its own"


def unused_sampling(file: gguf.GGUF) -> str:
    """Sampling values in a GGUF file; empty when there are none."""
    keys = sorted(key for key in file.metadata if key.startswith("general.sampling."))
    return f"the file carries sampling values that are not used: {', '.join(keys)}" if keys else ""
