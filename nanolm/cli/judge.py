"""`nanolm judge`: replies in, verdicts out, one JSON object a line."""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, BinaryIO

import click
import msgspec

from nanolm import answers
from nanolm.answers import reasoning
from nanolm.entries.entry import Reasoning
from nanolm.errors import ItemError, UsageError
from nanolm.schema import Decoding, FinishReason, FunctionSignature, Item, Output, Verdict

TYPES = ("letter", "label", "number", "math", "code", "tool_calls", "reasoning", "featherweight_letter")


class Fields(msgspec.Struct, frozen=True):
    """The `item` of a line: what judging needs of an item, by answer type."""

    gold: Any = None
    options: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    function: str | None = None
    functions: dict[str, FunctionSignature] = {}
    opener: str = reasoning.THINK[0]
    closer: str = reasoning.THINK[1]
    template_opens_block: bool = False
    finish_reason: FinishReason = "stop"


class Line(msgspec.Struct, frozen=True):
    """A line of standard input."""

    reply: str
    item: Fields = Fields()
    finish_reason: FinishReason | None = None

    @property
    def ended(self) -> FinishReason:
        """How the reply ended; the line's own word goes before its item's."""
        return self.finish_reason or self.item.finish_reason


_NEEDS = {
    "letter": ("options", "gold"),
    "label": ("labels", "gold"),
    "number": ("gold",),
    "math": ("gold",),
    "code": ("function",),
    "tool_calls": ("gold", "functions"),
    "featherweight_letter": ("choices", "gold"),
    "reasoning": (),
}


@click.command(
    epilog="""Fields of "item": letter: options, gold; label: labels, gold; number, math: gold; code:
    function; tool_calls: gold, functions; reasoning: opener, closer, template_opens_block;
    featherweight_letter: choices, gold. Reasoning between <think> and </think> is removed first."""
)
@click.option("--type", "kind", type=click.Choice(TYPES), required=True, help="The answer type.")
@click.option(
    "--explain", is_flag=True, help="Show each reply with what was read, and the rule that decided."
)
def command(kind: str, explain: bool) -> None:
    """Judge replies read from standard input.

    In:  {"reply": "Answer: B", "finish_reason": "stop", "item": {"options": ["x", "y"], "gold": "B"}}

    Out: {"answer": "B", "correct": true, "reason": null}

    "reason" is wrong, unparseable, truncated, unsupported or error. Without an evaluator a program is
    read but not judged: "correct" is null.
    """
    for number, (line, verdict) in enumerate(_verdicts(kind, sys.stdin.buffer), 1):
        if explain:
            click.echo(explained(number, kind, line, verdict))
        else:
            click.echo(json.dumps(_shown(kind, verdict), default=_json_number))


def _lines(kind: str, stream: BinaryIO) -> Iterator[Line]:
    for number, raw in enumerate(stream, 1):
        if not raw.strip():
            continue
        try:
            text = raw.decode("utf-8-sig", "surrogatepass")
        except UnicodeDecodeError:
            raise UsageError(
                f"standard input, line {number} is not UTF-8; expected one JSON object a line, in UTF-8"
            ) from None
        try:
            line = msgspec.convert(json.loads(text, parse_float=Decimal), Line)
        except (ValueError, RecursionError) as error:  # msgspec's and json's errors are ValueErrors
            raise UsageError(
                f"standard input, line {number}: {error}; expected one JSON object a line, "
                '{"reply": text, "finish_reason": "stop", "item": {…}} (nanolm judge --help)'
            ) from None
        fields = line.item
        missing = [name for name in _NEEDS[kind] if getattr(fields, name) in (None, (), {})]
        if kind == "featherweight_letter" and fields.options:
            missing = [name for name in missing if name != "choices"]
        if missing:
            raise UsageError(
                f"standard input, line {number}: its item lacks {' and '.join(missing)}, "
                f"which --type {kind} needs (nanolm judge --help)"
            )
        if kind != "reasoning":
            _check(kind, fields, number)
        yield line


def _check(kind: str, fields: Fields, number: int) -> None:
    """Refuse what no edition could ask either, such as a gold letter beyond the options.

    But labels that are equal after normalisation are judged: a text that equals two equals none (ruling 27).
    """
    item = _item(kind, fields, f"standard input, line {number}")
    if kind == "label" and fields.gold in fields.labels:
        return
    try:
        answers.get(item.answer_type).check(item)
    except ItemError as error:
        raise UsageError(str(error)) from None


def _verdicts(kind: str, stream: BinaryIO) -> Iterator[tuple[Line, Verdict]]:
    if kind == "reasoning":
        yield from ((line, _removed(line)) for line in _lines(kind, stream))
    elif kind == "featherweight_letter":
        # Its own rules: no reasoning removal, no truncation (ruling 65).
        module = answers.get(kind)
        for line in _lines(kind, stream):
            item = _item(kind, line.item)
            yield line, module.judge(module.extract(line.reply, item), item)
    else:
        from nanolm.verdicts.judge import Judge

        waiting: list[Line] = []

        def pairs() -> Iterator[tuple[Item, Output]]:
            for line in _lines(kind, stream):
                waiting.append(line)
                yield _item(kind, line.item), _output(line)

        block = Reasoning(opener=reasoning.THINK[0], closer=reasoning.THINK[1])
        with Judge(reasoning=block, end_markers=reasoning.END_MARKERS) as judge:
            for _, verdict in judge.verdicts(pairs(), at_once=100):
                yield waiting.pop(0), verdict


def _item(kind: str, fields: Fields, source: str = "") -> Item:
    return Item(
        benchmark="stdin",
        id="line",
        answer_type="math_expression" if kind == "math" else kind,  # type: ignore[arg-type]
        question="",
        gold=fields.gold,
        options=fields.options or fields.choices,
        labels=fields.labels,
        function=fields.function,
        functions=fields.functions,
        source=source,
        dataset="stdin",  # a program is read but not run: its evaluator needs no name
        task="line",
    )


def _output(line: Line) -> Output:
    return Output(
        benchmark="stdin",
        item="line",
        sample=0,
        seed=0,
        entry="",
        prompt_digest="",
        rendered_digest="",
        decoding=Decoding(),
        max_tokens=0,
        text=line.reply,
        finish_reason=line.ended,
    )


def _removed(line: Line) -> Verdict:
    reply = reasoning.remove(
        line.reply,
        line.ended,
        opener=line.item.opener,
        closer=line.item.closer,
        opened_by_template=line.item.template_opens_block,
        end_markers=reasoning.END_MARKERS,
    )
    is_open = reply.rule == "open-block"
    return Verdict(
        correct=not reply.truncated,
        reason="truncated" if reply.truncated else None,
        answer=None if is_open else reply.text,
        rule=reply.rule,
        span=None if is_open else (reply.offset, reply.offset + len(reply.text)),
    )


def _shown(kind: str, verdict: Verdict) -> dict[str, Any]:
    correct: bool | None = verdict.correct
    reason: str | None = verdict.reason
    if kind == "reasoning":
        correct = None
    elif _is_unjudged(kind, verdict):
        correct = reason = None
    elif kind == "featherweight_letter" and reason == "unparseable":
        reason = "parse_error"  # that benchmark's own word
    return {"answer": verdict.answer, "correct": correct, "reason": reason}


def _is_unjudged(kind: str, verdict: Verdict) -> bool:
    return kind == "code" and verdict.reason == "error" and verdict.answer is not None


def _json_number(value: Any) -> Any:
    """Decimals, which keep a number exactly as the reply wrote it."""
    if isinstance(value, Decimal) and abs(value.adjusted()) < 300:
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def explained(number: int, kind: str, line: Line, verdict: Verdict) -> str:
    """A reply for people: the verdict, the rule that decided, and what was read marked as ⟦…⟧."""
    if kind == "reasoning":
        word = "truncated" if verdict.reason else "left to parse"
    elif _is_unjudged(kind, verdict):
        word = "read, not run"
    else:
        word = "right" if verdict.correct else verdict.reason or "wrong"
    head = f"line {number}: {word}, rule {verdict.rule}"
    if kind != "reasoning":
        head += f"; answer {_short(verdict.answer)}"
        head += f", gold {_short(line.item.gold)}" if line.item.gold is not None else ""
    if verdict.detail:
        head += f" ({verdict.detail})"
    start, end = verdict.span or (len(line.reply), len(line.reply))
    before, read, behind = line.reply[:start], line.reply[start:end], line.reply[end:]
    text = _cut(before, front=True) + (f"⟦{_cut(read)}⟧" if verdict.span else "") + _cut(behind)
    body = "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)
    return head + "\n" + "\n".join(f"    {part}" for part in body.split("\n"))


_LONGEST = 1500
"""Characters of a reply that are shown on either side of what was read."""


def _cut(text: str, *, front: bool = False) -> str:
    if len(text) <= _LONGEST:
        return text
    dropped = f"[{len(text) - _LONGEST:,} characters]"
    return dropped + text[-_LONGEST:] if front else text[:_LONGEST] + dropped


def _short(value: Any) -> str:
    text = json.dumps(value, default=_json_number, ensure_ascii=False)
    text = text if len(text) <= 120 else text[:117] + "..."
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
