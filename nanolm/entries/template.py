"""Chat templates: rendered as transformers renders them, with a frozen clock, and read as a tree.

A template is untrusted code from a model repository. It runs in jinja2's immutable sandbox with the
same extras that transformers offers (`raise_exception`, `strftime_now`, `tojson`, `{% generation %}`,
loop controls), so that one implementation serves model folders and GGUF files alike.
"""

import datetime
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from nanolm.errors import EntryError

CLOCK = datetime.datetime(2026, 1, 1)
"""What `strftime_now` and every other clock of a template shows: prompts must not drift by day."""

Message = Mapping[str, str]


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
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
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

        Raises `EntryError` when the template refuses, e.g. Gemma's on a system message.
        """
        try:
            return self._template.render(
                messages=[dict(message) for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=generation_prompt,
                **{**self.special_tokens, **(arguments or {})},
            )
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
