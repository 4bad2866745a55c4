"""A file of a source, checked and on this machine."""

from pathlib import Path

import msgspec


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A local file with verified bytes, and which form of the source it holds."""

    source: str
    """The source's name in `sources.lock.toml`."""
    name: str
    """Its path in the source's repository, e.g. `main/test-00000-of-00001.parquet`."""
    local: Path
    form: str = "official"
    """`official`, or the name of an accepted mirror form (another layout of the same rows)."""
