"""A model's context window, as its own configuration states it (protocol §5: the budget depends on it)."""

from typing import Any

from nanolm.errors import EntryError

RECURRENT = ("mamba", "mamba2", "falcon_mamba", "rwkv")
"""Model types that carry a state of one size along, and name no window: they read a text of any length."""
_ANY_LENGTH = 1 << 20
_CONTEXT = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx")


def read(config: dict[str, Any], where: str) -> tuple[int, str]:
    """(tokens, why) from a `config.json`, or from its `text_config`.

    A recurrent model may name none. Raises `EntryError` when another names no window, or one that is no
    number of tokens.
    """
    inner = config.get("text_config")
    for table, prefix in ((config, ""), (inner if isinstance(inner, dict) else {}, "text_config.")):
        for key in _CONTEXT:
            value = table.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise EntryError(
                    f"config.json of {where}: {prefix}{key} is {value!r}; expected a number of tokens above 0"
                )
            return value, f"{prefix}{key} in config.json{_scaling(table)}"
    if config.get("model_type") in RECURRENT:
        return (
            _ANY_LENGTH,
            f"no window in config.json: a {config['model_type']} reads any length, up to this here",
        )
    raise EntryError(
        f"config.json of {where} names no context window; expected one of {', '.join(_CONTEXT)}, in tokens"
    )


def _scaling(config: dict[str, Any]) -> str:
    """What a rope scaling could add to the context; the stated number is taken as it is."""
    found = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(found, dict):
        return ""
    factor = found.get("factor")
    if not isinstance(factor, int | float) or factor in (0, 1):
        return ""
    kind = found.get("rope_type") or found.get("type") or "unnamed"
    return f"; taken as stated, its {kind} rope scaling by {factor:g} aside"
