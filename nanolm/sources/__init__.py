"""Where raw rows come from: hub, GitHub, local folder; pins, checksums, cache."""

from nanolm.sources.cache import cache_folder
from nanolm.sources.rows import placed_rows, read_json, read_rows
from nanolm.sources.source import SourceFile

__all__ = ["SourceFile", "cache_folder", "placed_rows", "read_json", "read_rows"]
