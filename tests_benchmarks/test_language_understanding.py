"""Language Understanding. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_hellaswag_pro(item: object, recorded: Recorded) -> None:
    """HellaSwag-Pro: commonsense in seven variants; the letter of the option."""
    recorded.check()


def test_global_piqa(item: object, recorded: Recorded) -> None:
    """Global PIQA: everyday physical sense; the letter of one of two or four options."""
    recorded.check()
