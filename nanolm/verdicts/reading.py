"""What reading alone makes of an output: pure, and the same in a run, a rescore and a check of evidence."""

from collections.abc import Sequence

from nanolm import answers
from nanolm.answers import reasoning
from nanolm.entries.entry import Reasoning
from nanolm.schema import Answer, Item, Output, Verdict

JUDGED_OUTSIDE = ("math_expression", "code")
"""Answer types whose answers are judged by others: math-verify and the evaluators."""


def read(
    item: Item, output: Output, block: Reasoning | None, end_markers: Sequence[str]
) -> "Verdict | Answer":
    """The verdict where reading settles it (§6); else the answer that math-verify or the evaluators judge.

    `block` and `end_markers` are the entry's. Spans are positions in the output, reasoning included.
    """
    if output.finish_reason == "unsupported" or output.finish_reason == "error":  # ruling 10
        return Verdict(
            correct=False,
            reason=output.finish_reason,
            rule=output.finish_reason,
            detail=output.error or "",
        )
    reply = _reply(item, output, block, end_markers)
    if reply.truncated or item.answer_type not in JUDGED_OUTSIDE:
        return answers.verdict(reply, item)
    answer = _moved(answers.get(item.answer_type).extract(reply.text, item), reply.offset)
    return answer if answer.reason is None else answers.settle(answer, False)


def _reply(
    item: Item, output: Output, block: Reasoning | None, end_markers: Sequence[str]
) -> reasoning.Reply:
    if answers.reads_whole_output(item.answer_type):
        return reasoning.whole(output.text, end_markers)
    return reasoning.remove(
        output.text,
        output.finish_reason,
        opener=block.opener if block else "",
        closer=block.closer if block else "",
        opened_by_template=block.opened_by_template if block else False,
        end_markers=end_markers,
    )


def _moved(answer: Answer, offset: int) -> Answer:
    """With its span in the output, reasoning included."""
    if answer.span is None or offset == 0:
        return answer
    start, end = answer.span
    return Answer(answer.value, answer.rule, (start + offset, end + offset), answer.reason)
