"""Grammar. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_blimp(item: object, recorded: Recorded) -> None:
    """BLiMP: minimal pairs of sentences; the grammatical one must be likelier."""
    recorded.check()
