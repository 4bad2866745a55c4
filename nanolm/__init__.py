"""nanolm: the Nano LM Index as a test suite. See docs/architecture.md for the rooms."""

__version__ = "0.1.0"
