"""Knowledge. A test is one item; all its samples are judged in it."""

from nanolm.plugin.session import Recorded


def test_mmlu_cf(item: object, recorded: Recorded) -> None:
    """MMLU-CF: school and university questions free of contamination; the letter of one of four options."""
    recorded.check()


def test_arc_easy(item: object, recorded: Recorded) -> None:
    """ARC-Easy: grade-school science questions; the letter of the option."""
    recorded.check()


def test_arc(item: object, recorded: Recorded) -> None:
    """ARC by log-likelihood: the gold option must be the likeliest, by its letter or by its text."""
    recorded.check()


def test_sciq(item: object, recorded: Recorded) -> None:
    """SciQ by log-likelihood: the right answer must be the likeliest text behind passage and question."""
    recorded.check()
