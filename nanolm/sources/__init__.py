"""Where raw rows come from: hub, GitHub, local folder; pins, checksums, cache."""

from nanolm.sources.cache import cache_folder
from nanolm.sources.rows import read_json, read_rows
from nanolm.sources.source import SourceFile

__all__ = ["SourceFile", "cache_folder", "read_json", "read_rows"]
