"""Chat templates: rendered as transformers renders them, with a frozen clock, and read as a tree.

A template is untrusted code from a model repository. It runs in jinja2's immutable sandbox with the
same extras that transformers offers (`raise_exception`, `strftime_now`, `tojson`, `{% generation %}`,
loop controls), so that one implementation serves model folders and GGUF files alike. A template that
never ends is stopped.
"""

import datetime
import functools
import hashlib
import json
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from nanolm.errors import EntryError

CLOCK = datetime.datetime(2026, 1, 1)
"""What `strftime_now` and every other clock of a template shows: prompts must not drift by day."""

_PATIENCE = 3.0
"""Seconds of processor time for one rendering; an ordinary one takes a thousandth."""
_MOST_REPEATED = 1_000_000
"""Items of a text or list that `*` may make; bits of a number that `**` may make."""

Message = Mapping[str, str]


class _TooLong(BaseException):
    """Raised inside a template that does not end; no `except Exception` on the way swallows it."""


@contextmanager
def _in_time(where: str) -> Iterator[None]:
    """Stop what runs inside after `_PATIENCE`, where a main thread and its signals allow it."""
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not timed:
        yield
        return

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
    try:
        yield
    except _TooLong:
        raise EntryError(
            f"the chat template of {where} did not end within {_PATIENCE:g} s of processor time; "
            "take the model's official one"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, where `*` and `**` can't fill the memory or the processor either."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and isinstance(left, int) and isinstance(right, int):
            too_much = left.bit_length() * right > _MOST_REPEATED
        else:
            count = right if isinstance(right, int) else left
            items = left if count is right else right
            too_much = hasattr(items, "__len__") and len(items) * count > _MOST_REPEATED
        if too_much:
            raise SecurityError(f"{operator} would make more than {_MOST_REPEATED:,} items or bits")
        return super().call_binop(context, operator, left, right)


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks assistant text for training; it renders its body."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@functools.cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = CLOCK.strftime
    return environment


class ChatTemplate:
    """A chat template's source, compiled; `source` is the official text, `sha256` its digest."""

    def __init__(self, source: str, special_tokens: Mapping[str, str], where: str) -> None:
        """`special_tokens`: `bos_token` and the like, as the template sees them; `where` is for errors."""
        self.source = source
        self.sha256 = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        self.special_tokens = dict(special_tokens)
        self.where = where
        try:
            with _in_time(where):
                self.tree = _environment().parse(source)
                self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise EntryError(
                f"the chat template of {where} is not a valid jinja2 template: {error}; "
                "fix the file or take the model's official one"
            ) from error

    def render(
        self,
        messages: Sequence[Message],
        arguments: Mapping[str, Any] | None = None,
        *,
        generation_prompt: bool = True,
    ) -> str:
        """The messages as one text, ending where the model starts to write.

        Raises `EntryError` when the template refuses, e.g. Gemma's on a system message, or never ends.
        """
        try:
            with _in_time(self.where):
                return self._template.render(
                    messages=[dict(message) for message in messages],
                    tools=None,
                    documents=None,
                    add_generation_prompt=generation_prompt,
                    **{**self.special_tokens, **(arguments or {})},
                )
        except EntryError:
            raise
        except RecursionError as error:
            raise EntryError(f"the chat template of {self.where} recurses without end") from error
        except Exception as error:  # a template may call anything its sandbox allows, with any error
            raise EntryError(
                f"the chat template of {self.where} refused {_roles(messages)}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def user(self, text: str, arguments: Mapping[str, Any] | None = None) -> str:
        """One user message and no system message (§4); the template's own system text stays."""
        return self.render([{"role": "user", "content": text}], arguments)


def _roles(messages: Sequence[Message]) -> str:
    return "a conversation of " + ", ".join(message["role"] for message in messages)
