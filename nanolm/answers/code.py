"""Reading a Python program from a reply (protocol §6 code, rulings 44 to 48, 81, 98).

The rules in order; the first that matches wins:

1. `defining-block`: the first fenced block that defines the required function.
2. `longest-block`: else the longest fenced block, the first on a tie; `empty-block` when it is blank.
3. `whole-reply`: else the whole reply; `empty-reply` when it is blank.

Beside the rulings: a fence may open and close in one line; a block whose info string says `text` or the
like defines nothing, but can be the longest. `fences.py` finds the blocks. Only statements at the module's
top level define.

Nothing in the program is edited: no dedent beyond the fence's own indentation, no removal of tests,
main guards or prints, no joining of blocks (ruling 48). Running it is the sandbox's work (§7).
"""

import keyword

from nanolm.answers import refuse
from nanolm.answers.definitions import Definitions
from nanolm.answers.fences import Scan
from nanolm.schema import Answer, Item, Verdict

RULES = ("defining-block", "longest-block", "empty-block", "whole-reply", "empty-reply")


def extract(reply: str, item: Item) -> Answer:
    """The program a reply holds, by the rules above.

    `reply` is free of reasoning; `item.function` is the name that must be defined. Never raises.
    """
    definitions = Definitions(item.function or "")
    scan = Scan(reply, definitions)
    for block in scan.blocks:
        if not block.prose and definitions.found_in(block.text):
            return Answer(block.text, "defining-block", (block.start, block.end))
    if scan.blocks:
        longest = max(scan.blocks, key=lambda block: len(block.text))  # the first on a tie (ruling 47)
        span = (longest.start, longest.end)
        if not longest.text.strip():
            return Answer(None, "empty-block", span, "unparseable")
        return Answer(longest.text, "longest-block", span)
    text, span = scan.rest()
    if not text.strip():
        return Answer(None, "empty-reply", None, "unparseable")
    return Answer(text, "whole-reply", span)


def program(answer: Answer, item: Item) -> str:
    """What is run: the task's own preamble, then the extracted code (§7)."""
    preamble = item.preamble
    if preamble and not preamble.endswith("\n"):
        preamble += "\n"
    return preamble + str(answer.value)


def check(item: Item) -> None:
    """Raises `ItemError` for an item whose function name is no identifier, or that no evaluator knows."""
    name = item.function
    if name is None or not name.isidentifier() or keyword.iskeyword(name):
        raise refuse(item, f"function name {name!r}", "a Python identifier")
    if not item.dataset or not item.task:
        raise refuse(item, f"data set {item.dataset!r}, task {item.task!r}", "the evaluator's names of both")


def verdict(answer: Answer, status: str, detail: str = "") -> Verdict:
    """The verdict on a program by its evaluator's status: `pass`, `fail`, `timeout` or `error` (§7).

    `error` is a program that brought its checker down: it did not pass, so it is `wrong`, and `detail`
    names the status. Where the sandbox itself failed, see `not_run`.
    """
    return Verdict(
        correct=status == "pass",
        reason=None if status == "pass" else "wrong",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=detail,
    )


NOT_RUN = "not run: "
"""How the detail of a verdict begins whose program was not run."""


def judge(answer: Answer, item: Item) -> Verdict:
    """Without an evaluator only a reply that holds no program can be judged; the rest is not run."""
    if answer.reason is not None:
        return Verdict(correct=False, reason=answer.reason, rule=answer.rule, span=answer.span)
    return not_run(answer, "no evaluator was given; run: nanolm evaluators install")


def not_run(answer: Answer, why: str) -> Verdict:
    """No verdict on the program, and so no measurement (ruling 10: `error`, like an engine that failed)."""
    return Verdict(
        correct=False,
        reason="error",
        answer=answer.value,
        rule=answer.rule,
        span=answer.span,
        detail=NOT_RUN + why,
    )
