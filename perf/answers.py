"""Verdicts per second and core, per answer type, on replies of about 500 characters.

    python perf/answers.py [TYPE ...]

Each type has a table of replies in the forms that small models write; a figure counts extraction and
judging, in processor time of this one process, and is the best of five rounds. To add a type, add a
function to `REPLIES` that gives pairs of reply and item, and the wanted figure to `WANTED`.
"""

import sys
import time
from collections.abc import Callable

from nanolm import answers
from nanolm.schema import Item

Pairs = list[tuple[str, Item]]

WANTED = {"letter": 50_000, "label": 50_000, "number": 30_000}
"""Verdicts per second and core."""
PROSE = (
    "Let us look at this step by step. The question asks which of the options fits best. First, we should "
    "note that some of them can be ruled out at once, because they do not match the facts given above. "
    "After that, two of them are left, and we compare them with care: one names a cause, the other only a "
    "result. The cause comes first in time, so the result can't be the reason for it. "
)


def _padded(ending: str, length: int = 500) -> str:
    text = (PROSE * (length // len(PROSE) + 1))[: length - len(ending)]
    return text + ending


def _letter() -> Pairs:
    options = ("The water boils over.", "A fire starts.", "The cat sleeps.", "They leave the room.")
    endings = (
        "\n\nAnswer: B", "\n\n**Answer: B**", " So the answer is B.", "\n\nAnswer: \\boxed{C}",
        " The correct answer is **C. The cat sleeps.**", " Hence $\\boxed{D}$.",
        "\n\nAnswer: B or C", " I am not sure.",
    )  # fmt: skip
    return [(_padded(ending), _item("letter", "B", options=options)) for ending in endings]


def _label() -> Pairs:
    labels = tuple(sorted(f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS))
    endings = (
        "\nAnswer: lost_card", "\n**Answer:** Lost Card", "\nAnswer: `lost_card`", "\nAnswer: lost card.",
        "\nAnswer: \\text{lost\\_card}", "\nAnswer: lost_card or late_card", "\nAnswer:", " I am not sure.",
    )  # fmt: skip
    return [(_padded(ending), _item("label", "lost_card", labels=labels)) for ending in endings]


def _number() -> Pairs:
    endings = (
        "\n\\boxed{72}", "\n$$\\boxed{1,234.50}$$", "\nAnswer: 72", "\n**Answer: \\$72 per day.**",
        " In all she sold 72 clips.", " The total is 1 250 000.", "\n\\boxed{\\frac{3}{4}}", "\n48 + 24 = 72",
    )  # fmt: skip
    return [(_padded(ending), _item("number", "72")) for ending in endings]


_VERBS = ("lost", "late", "new", "old", "stolen", "blocked", "missing", "wrong", "second", "virtual")
_NOUNS = ("card", "payment", "refund", "transfer", "pin", "cash", "fee")

REPLIES: dict[str, Callable[[], Pairs]] = {"letter": _letter, "label": _label, "number": _number}


def _item(answer_type: str, gold: str, **fields: tuple[str, ...]) -> Item:
    return Item(benchmark="perf", id="0", answer_type=answer_type, question="", gold=gold, **fields)  # type: ignore[arg-type]


def verdicts_per_second(answer_type: str, seconds: float = 0.4, rounds: int = 5) -> float:
    """Processor time of this process; the best round, since other work only ever slows it down."""
    module = answers.get(answer_type)
    pairs = REPLIES[answer_type]()
    best = 0.0
    for _ in range(rounds):
        done, start = 0, time.process_time()
        while (spent := time.process_time() - start) < seconds / rounds:
            for reply, item in pairs:
                module.judge(module.extract(reply, item), item)
            done += len(pairs)
        best = max(best, done / spent)
    return best


def main() -> None:
    """Print a line a type; exit status 1 when a wanted figure is missed."""
    missed = False
    for answer_type in sys.argv[1:] or REPLIES:
        figure = verdicts_per_second(answer_type)
        wanted = WANTED[answer_type]
        missed |= figure < wanted
        print(f"{answer_type:16} {figure:>10,.0f} verdicts/s per core (wanted {wanted:,})")
    sys.exit(missed)


if __name__ == "__main__":
    main()
