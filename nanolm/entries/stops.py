"""Where a reply ends: end of sequence and the template's end of turn, as token ids (protocol §5)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

_FIRST_WORD = re.compile(r"\s*(\S+)")
_MARKER = re.compile(r"\s*(<[^\s<>]*>|\[[^\s\[\]]*\])")


class Stops(msgspec.Struct, frozen=True, kw_only=True):
    """Stop ids, the texts they have, and how they were found."""

    ids: tuple[int, ...]
    markers: tuple[str, ...]
    """Texts stripped from the end of a reply (§6.1, ruling 9)."""
    why: str
    warnings: tuple[str, ...] = ()


def find(
    eos: Mapping[str, Any],
    added: Mapping[str, int],
    text_of: Callable[[int], str | None],
    after_turn: str,
) -> Stops:
    """The stop ids that a model's artefacts name.

    `eos`: file to its `eos_token_id`, an id, a list, or None. `added`: the tokenizer's special and
    added tokens by text. `text_of`: the text of an id, None when there is no such token. `after_turn`:
    what the template writes after an assistant's message; its first token ends a turn, and may differ
    from the end of sequence.
    """
    found: dict[int, list[str]] = {}
    warnings = []
    known = set(added.values())
    for file, value in eos.items():
        warnings += [
            f"{file} names {odd!r} as end of sequence, which is no token id; left out" for odd in _odd(value)
        ]
        for token in _ids(value):
            if text_of(token) is None or (known and token not in known):
                warnings.append(
                    f"{file} names {token} as end of sequence, which is no special token; left out"
                )
            else:
                found.setdefault(token, []).append(file)
    turn, marker, warning = _end_of_turn(after_turn, added)
    if turn is not None:
        found.setdefault(turn, []).append("end of turn in the template")
    if warning:
        warnings.append(warning)
    texts = [text for token in found if (text := text_of(token))]
    return Stops(
        ids=tuple(found),
        markers=tuple(dict.fromkeys([*([marker] if marker else []), *texts])),
        why="; ".join(f"{text_of(token)} {token}: {', '.join(files)}" for token, files in found.items()),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _ids(value: Any) -> list[int]:
    return [item for item in _listed(value) if _is_id(item)]


def _odd(value: Any) -> list[Any]:
    return [item for item in _listed(value) if not _is_id(item)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _end_of_turn(after: str, added: Mapping[str, int]) -> tuple[int | None, str, str]:
    """(id, text, warning) of what ends a turn."""
    rest = after.lstrip()
    starts = [text for text in added if text and rest.startswith(text)]
    if starts:
        text = max(starts, key=len)
        return added[text], text, ""
    word = _MARKER.match(after) or _FIRST_WORD.match(after)
    if word is None:
        return None, "", ""
    text = word[1]
    alike = [token for token in added if _letters(token) == _letters(text) and _letters(text)]
    if len(alike) == 1:
        return (
            added[alike[0]],
            text,
            f"the template ends a turn with {text}, which is no token of its own; the token spelled "
            f"{alike[0]} ({added[alike[0]]}) is taken as the end of turn",
        )
    return (
        None,
        text,
        f"the template ends a turn with {text!r}, which is no token: only the end of sequence stops",
    )


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum()).casefold()
