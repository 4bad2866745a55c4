"""Classification & Extraction. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_banking77(item: object, recorded: Recorded) -> None:
    """Banking77: bank customers' intents; one of 77 labels."""
    recorded.check()


def test_clinc150(item: object, recorded: Recorded) -> None:
    """CLINC150: 150 intents, and texts that have none of them; the label or `oos`."""
    recorded.check()
