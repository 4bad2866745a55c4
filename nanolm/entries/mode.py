"""A model's mode, read from its chat template and proven by rendering it (protocol §2).

The template decides, never a maintainer: an official switch makes a hybrid with two entries; a
template that always opens or demands reasoning makes a reasoning-only model; all others do not reason.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from jinja2 import nodes

from nanolm.entries.entry import Mode, Reasoning
from nanolm.entries.template import ChatTemplate
from nanolm.errors import EntryError

PROBE = "nanolm-probe: what is 2 + 2?"
"""The user message of trial renderings: no template will hold it by chance, none will want to trim it."""
_ANSWER = "nanolm-answer"

_PAIRS = (
    *(("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>", "</thought>")),
    *(("<reasoning>", "</reasoning>"), ("<reason>", "</reason>"), ("[THINK]", "[/THINK]")),
    *(("<|begin_of_thought|>", "<|end_of_thought|>"), ("<seed:think>", "</seed:think>")),
    *(("◁think▷", "◁/think▷"), ("<|thinking|>", "<|/thinking|>"), ("<longcat_think>", "</longcat_think>")),
)
"""Delimiters a template may use (ruling 8: the list of a model is taken from its template)."""

_ABOUT_REASONING = re.compile(r"think|reason", re.IGNORECASE)
_TURNS_OFF = re.compile(r"(^|_)(no|non|not|without|disable|skip)(_|$)|nothink", re.IGNORECASE)


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """An official switch: a variable of the template that turns reasoning on and off."""

    name: str
    on: dict[str, Any]
    """The template's arguments for `think`."""
    off: dict[str, Any]


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """What the template says about reasoning."""

    kind: str
    """`hybrid`, `reasoning-only`, `non-reasoning` or `base`."""
    entries: tuple[Mode, ...]
    default: Mode
    """The mode the template takes when it is told nothing."""
    why: str
    switch: Switch | None = None
    delimiters: tuple[str, str] | None = None

    def arguments(self, mode: Mode) -> dict[str, Any]:
        """The template's arguments for a mode: the official switch, or none."""
        if self.switch is None:
            return {}
        return self.switch.on if mode == "think" else self.switch.off


def base(why: str) -> Modes:
    """Of a model that is asked with the bare text."""
    return Modes(kind="base", entries=("base",), default="base", why=why)


def read(template: ChatTemplate) -> Modes:
    """The modes of a template. Raises `EntryError` when it refuses a single user message."""
    plain = template.user(PROBE)
    if PROBE not in plain:
        raise EntryError(f"the chat template of {template.where} drops the user message; expected it kept")
    pair = _delimiters(template)
    switch = _switch(template, pair)
    if switch is not None:
        off = template.user(PROBE, switch.off) == plain
        names = " and ".join(f"{switch.name}={value[switch.name]}" for value in (switch.on, switch.off))
        return Modes(
            kind="hybrid",
            entries=("think", "no-think"),
            default="no-think" if off else "think",
            why=f"the template has an official switch: {names} render differently",
            switch=switch,
            delimiters=pair,
        )
    if pair and opened(plain, pair):
        why = f"the template always opens {pair[0]} and has no switch"
    elif pair and _demanded(plain, pair):
        why = f"the template's own system text demands {pair[0]}…{pair[1]} and has no switch"
    else:
        why = "the template neither opens nor demands reasoning and has no switch"
        if pair:
            why += f" (it only handles {pair[1]} in what a model wrote before)"
        return Modes(
            kind="non-reasoning", entries=("no-think",), default="no-think", why=why, delimiters=pair
        )
    return Modes(kind="reasoning-only", entries=("think",), default="think", why=why, delimiters=pair)


def reasoning(template: ChatTemplate, modes: Modes, mode: Mode) -> Reasoning | None:
    """The delimiters of a mode, and whether its prompt ends inside the block (§6.1, ruling 3)."""
    if modes.delimiters is None:
        return None
    opener, closer = modes.delimiters
    prompt = template.user(PROBE, modes.arguments(mode))
    return Reasoning(opener=opener, closer=closer, opened_by_template=opened(prompt, modes.delimiters))


def opened(prompt: str, pair: tuple[str, str]) -> bool:
    """True when a rendered prompt ends inside a reasoning block: its last opener has no closer."""
    opener, closer = pair
    return prompt.rfind(opener) > prompt.rfind(closer) and prompt.rfind(opener) > prompt.rfind(PROBE)


def end_of_turn(template: ChatTemplate) -> str:
    """What the template writes after an assistant's message; empty when it can't be told.

    It is where the end-of-turn token stands, which may differ from the end-of-sequence token.
    """
    turn = [{"role": "user", "content": PROBE}, {"role": "assistant", "content": _ANSWER}]
    try:
        text = template.render(turn, generation_prompt=False)
    except EntryError:
        return ""
    _, found, after = text.rpartition(_ANSWER)
    return after if found else ""


def _demanded(prompt: str, pair: tuple[str, str]) -> bool:
    before = prompt[: prompt.find(PROBE)]
    return pair[0] in before and pair[1] in before


def _delimiters(template: ChatTemplate) -> tuple[str, str] | None:
    """The first pair whose closer stands in a text of the template; comments and names don't count."""
    texts = "\n".join(_texts(template.tree))
    return next((pair for pair in _PAIRS if pair[1] in texts or pair[0] in texts), None)


def _texts(tree: nodes.Template) -> Iterator[str]:
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str):
            yield constant.value
    for data in tree.find_all(nodes.TemplateData):
        yield data.data


def _switch(template: ChatTemplate, pair: tuple[str, str] | None) -> Switch | None:
    """A variable that the template reads and whose two values render differently, about reasoning.

    About reasoning means: its name says so, or the renderings differ in a reasoning delimiter. A
    variable that only steers how earlier turns are shown renders the same, and is no switch.
    """
    for name in _variables(template):
        values = [{name: True}, {name: False}]
        try:
            yes, no = (template.user(PROBE, value) for value in values)
        except EntryError:
            continue  # a variable of another type, e.g. a list of tools
        if yes == no or PROBE not in yes or PROBE not in no:
            continue
        by_delimiter = pair is not None and any(yes.count(mark) != no.count(mark) for mark in pair)
        if not (by_delimiter or _ABOUT_REASONING.search(name)):
            continue
        on, off = values if not _TURNS_OFF.search(name) else reversed(values)
        return Switch(name=name, on=on, off=off)
    return None


_GIVEN = frozenset({"messages", "tools", "documents", "add_generation_prompt", "loop", "range", "dict"})


def _variables(template: ChatTemplate) -> list[str]:
    """Names the template reads that are neither its own nor what every template gets, in order."""
    known: Mapping[str, str] = template.special_tokens
    names = dict.fromkeys(node.name for node in template.tree.find_all(nodes.Name) if node.ctx == "load")
    ordered = [name for name in names if name not in _GIVEN and name not in known]
    return sorted(ordered, key=lambda name: not _ABOUT_REASONING.search(name))
