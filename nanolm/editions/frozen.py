"""`frozen.json`: what an edition's items, prompts and chance levels were when it was frozen."""

from pathlib import Path

import msgspec

from nanolm.errors import EditionError


class FrozenBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark as it was frozen."""

    items: int
    chance: float
    chance_rule: str
    """`constant`, `uniform` or `open-ended` (§8)."""
    published_chance: float | None
    difference: float | None
    """`chance - published_chance`."""
    digest: str
    """SHA-256 over the item digests, in order, the first 16 hex digits."""


class Frozen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `frozen.json`."""

    edition: str
    digest: str
    """SHA-256 over the benchmarks' digests, the first 16 hex digits."""
    benchmarks: dict[str, FrozenBenchmark]
    not_frozen: tuple[str, ...] = ()
    """Benchmarks whose data could not be had when it was written."""


def read_frozen(folder: Path) -> Frozen | None:
    """An edition's `frozen.json`, None when there is none yet."""
    path = folder / "frozen.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Frozen)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise EditionError(f"{path} can't be read: {error}; write it with `nanolm edition lock`") from None
