"""An entry in a few plain lines: what was derived and why, for the head of a run."""

from nanolm.entries.entry import Entry
from nanolm.schema import Decoding


def short(values: Decoding) -> str:
    """Decoding in few words: `T 0.6, top-p 0.95, top-k 20`; what is off is left out."""
    if values.greedy:
        return "greedy"
    parts = [f"T {values.temperature:g}"]
    parts += [f"top-p {values.top_p:g}"] if values.top_p < 1 else []
    parts += [f"top-k {values.top_k}"] if values.top_k else []
    parts += [f"min-p {values.min_p:g}"] if values.min_p else []
    parts += [f"rep. {values.repetition_penalty:g}"] if values.repetition_penalty != 1 else []
    return ", ".join(parts)


def lines(entry: Entry) -> list[str]:
    """What was derived for an entry that no file states; empty for all others, whose file says it."""
    if not entry.reasons:
        return []
    why = entry.reasons
    times = "1 sample" if entry.samples == 1 else f"{entry.samples} samples"
    return [
        f"nanolm: {entry.name}, derived from {entry.path or f'{entry.repo}@{entry.revision}'}",
        f"  mode        {entry.mode} ({why['mode']})",
        f"  decoding    {short(entry.decoding.values)}, {times} an item ({why['decoding']})",
        f"  stop ids    {', '.join(map(str, entry.stop_ids))} ({why['stop_ids']})",
        f"  context     {entry.context:,} tokens ({why['context']})",
        f"  parameters  {entry.parameters:,} ({why['parameters']})",
        *(f"  note: {warning}" for warning in entry.warnings),
    ]
