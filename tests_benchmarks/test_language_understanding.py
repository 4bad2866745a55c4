"""Language Understanding. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_hellaswag_pro(item: object, recorded: Recorded) -> None:
    """HellaSwag-Pro: commonsense in seven variants; the letter of the option."""
    recorded.check()


def test_global_piqa(item: object, recorded: Recorded) -> None:
    """Global PIQA: everyday physical sense; the letter of one of two or four options."""
    recorded.check()


def test_piqa(item: object, recorded: Recorded) -> None:
    """PIQA by log-likelihood: the solution that works must be the likelier one."""
    recorded.check()


def test_hellaswag(item: object, recorded: Recorded) -> None:
    """HellaSwag by log-likelihood: the true ending must be the likeliest."""
    recorded.check()


def test_winogrande(item: object, recorded: Recorded) -> None:
    """WinoGrande by log-likelihood: the sentence must go on likeliest with the right word in its blank."""
    recorded.check()
