"""Featherweight. A test is one question in one prompt format."""

from nanolm.plugin.session import Recorded


def test_featherweight(item: object, recorded: Recorded) -> None:
    """Featherweight: general knowledge and one-step reasoning; the letter of one of four choices."""
    recorded.check()
