"""From an item to the one user message (§4). The words stand in the edition's `edition.toml`.

A benchmark's layout is text with places for its parts, in blocks between blank lines:

    {stem}            one fixed line before the question (HellaSwag-Pro, Global PIQA)
    {task}            label: the one instruction line
    {question}        question, problem, text to classify, code task or user request
    {options}         letter: `A. …` lines
    {choices}         the same as `A) …` lines
    {labels}          label: one a line
    {documentation}   the functions that can be called
    {instruction}     what the answer type asks for

A block that is nothing but a place whose part is empty is left out.

Of the answer type `likeliest` the layout is the context and the table's `continuation` is what is scored,
both taken literally, once for each option:

    {option} {letter} the option's text, and its letter
    {before} {after}  what stands before the blank, `_`, of the question, and after it without outer blanks
"""

import json
import re
from hashlib import sha256

from nanolm.benchmarks.shuffle import LETTERS
from nanolm.editions.edition import BenchmarkSpec, Edition
from nanolm.errors import EditionError, unknown
from nanolm.schema import Item, Prompt

LAYOUTS = {
    "letter": "{stem}\n\n{question}\n\n{options}\n\n{instruction}",
    "featherweight_letter": "{question}\n\n{choices}\n\n{instruction}",
    "label": "{task}\n\n{question}\n\n{labels}\n\n{instruction}",
    "number": "{question}\n\n{instruction}",
    "math_expression": "{question}\n\n{instruction}",
    "code": "```python\n{question}\n```\n\n{instruction}",
    "tool_calls": "{documentation}\n\n{question}\n\n{instruction}",
}
"""The plain layout of each answer type, for a benchmark whose table has none of its own."""

PLACES = ("stem", "task", "question", "options", "choices", "labels", "documentation", "instruction")
"""What a layout may show."""
LIKELIEST_PLACES = ("question", "options", "before", "after", "documentation", "option", "letter")
"""What the context and the continuation of `likeliest` may show."""

_PLACE = re.compile(r"\{(\w+)\}")


def places_of(spec: BenchmarkSpec) -> tuple[str, ...]:
    """The places that the texts of a benchmark may have."""
    return LIKELIEST_PLACES if spec.answer_type == "likeliest" else PLACES


def places_in(text: str) -> tuple[str, ...]:
    """The places that a text has, in their order."""
    return tuple(_PLACE.findall(text))


def layout_of(spec: BenchmarkSpec) -> str:
    """The benchmark's own layout, else the plain one of its answer type."""
    return spec.layout or LAYOUTS.get(spec.answer_type, "")


def make(edition: Edition, item: Item) -> Prompt:
    """The prompt of an item.

    Raises `UsageError` for a benchmark that is not in the suite and `EditionError` for a layout with an
    unknown place or an answer type without an instruction.
    """
    spec = edition.benchmarks.get(item.benchmark)
    if spec is None:
        raise unknown("benchmark", item.benchmark, edition.benchmarks)
    if item.answer_type == "likeliest":
        text = _readable(alternatives(edition, item))
        return Prompt(benchmark=item.benchmark, item=item.id, text=text, digest=digest(text))
    parts = _parts(edition, spec, item)
    blocks = []
    # One pass over the layout, never over what was put in: braces in an item's own text are text.
    for block in layout_of(spec).strip("\n").split("\n\n"):
        only = _PLACE.fullmatch(block)
        text = _PLACE.sub(lambda match: _part(edition, spec, parts, match[1]), block)
        if text or only is None:
            blocks.append(text)
    text = "\n\n".join(blocks)
    return Prompt(benchmark=item.benchmark, item=item.id, text=text, digest=digest(text))


def alternatives(edition: Edition, item: Item) -> tuple[tuple[str, str], ...]:
    """Context and continuation of each option of a `likeliest` item; a context may be empty.

    Errors as in `make`.
    """
    spec = edition.benchmarks[item.benchmark]
    before, _, after = item.question.partition("_")
    lines = "\n".join(f"{LETTERS[slot]}. {text}" for slot, text in enumerate(item.options))
    parts = {"question": item.question, "options": lines, "before": before, "after": after.strip()}
    parts["documentation"] = item.documentation
    found = []
    for slot, option in enumerate(item.options):
        now = {**parts, "option": option, "letter": LETTERS[slot]}
        context, continuation = (
            _PLACE.sub(lambda match: _part(edition, spec, now, match[1]), text)  # noqa: B023
            for text in (spec.layout, spec.continuation)
        )
        found.append((context, continuation))
    return tuple(found)


def _readable(pairs: tuple[tuple[str, str], ...]) -> str:
    """All contexts and continuations, for readers and for the digest: no two sets of pairs give one text."""
    contexts = {context for context, _ in pairs}
    lines = [context for context in contexts if context] if len(contexts) == 1 else []
    for slot, (context, continuation) in enumerate(pairs):
        shown = json.dumps(continuation, ensure_ascii=False)
        if len(contexts) > 1:
            shown = f"{json.dumps(context, ensure_ascii=False)} ⇒ {shown}"
        lines.append(f"⇒ {LETTERS[slot]}: {shown}")
    return "\n".join(lines)


def digest(text: str) -> str:
    """SHA-256 of a prompt in UTF-8, the first 16 hex digits."""
    return sha256(text.encode("utf-8")).hexdigest()[:16]


def _parts(edition: Edition, spec: BenchmarkSpec, item: Item) -> dict[str, str]:
    """What the places of a layout stand for."""
    if item.answer_type not in edition.instructions:
        raise EditionError(
            f"{edition.folder / 'edition.toml'}: found no instruction for {item.answer_type!r}, which "
            f"{spec.slug} needs, expected one in [instructions]"
        )
    instruction = edition.instructions[item.answer_type].strip().replace("{name}", item.function or "")
    if spec.instruction_addition:
        instruction = f"{instruction} {spec.instruction_addition}"
    return {
        "stem": spec.stem,
        "task": spec.instruction,
        "question": item.question.strip("\n"),
        "options": "\n".join(f"{LETTERS[slot]}. {text}" for slot, text in enumerate(item.options)),
        "choices": "\n".join(f"{LETTERS[slot]}) {text}" for slot, text in enumerate(item.options)),
        "labels": "\n".join(item.labels),
        "documentation": item.documentation.strip("\n"),
        "instruction": instruction,
    }


def _part(edition: Edition, spec: BenchmarkSpec, parts: dict[str, str], place: str) -> str:
    if place not in parts:
        raise EditionError(
            f"{edition.folder / 'edition.toml'}: found the place {{{place}}} in the layout of {spec.slug}, "
            f"expected one of {', '.join(parts)}"
        )
    return parts[place]
