"""Tools & Automation. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_when2call(item: object, recorded: Recorded) -> None:
    """When2Call: call a tool, ask back, or decline; the letter of one of four replies."""
    recorded.check()


def test_toolalpaca(item: object, recorded: Recorded) -> None:
    """ToolAlpaca: requests to documented APIs; the same calls as the gold."""
    recorded.check()
