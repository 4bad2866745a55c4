"""Chat templates: renderings, modes and reasoning, with templates written here."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nanolm.entries import Entry, budget, mode
from nanolm.entries.renderer import with_bos
from nanolm.entries.template import ChatTemplate
from nanolm.errors import EntryError

from .conftest import CHATML

_LOOP = "{% for m in messages %}"
_GENERATE = "{% if add_generation_prompt %}"


def _chatml(first: str = "", last: str = "", generate: str = "<|im_start|>assistant\n") -> str:
    """ChatML with text before, a default system message, or another generation prompt."""
    system = "{% if messages[0].role != 'system' %}<|im_start|>system\n" + last + "<|im_end|>\n{% endif %}"
    turns = _LOOP + "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    return first + (system if last else "") + turns + _GENERATE + generate + "{% endif %}"


def _qwen3() -> str:
    closed = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    return _chatml(generate="<|im_start|>assistant\n" + closed)


def _granite() -> str:
    role = "<|start_of_role|>{{ r }}<|end_of_role|>"
    system = "You are a helpful assistant. Please ensure responses are professional, accurate, and safe."
    return (
        "{% if messages[0].role != 'system' %}"
        + role.replace("{{ r }}", "system")
        + system
        + "<|end_of_text|>\n"
        "{% endif %}"
        + _LOOP
        + role.replace("r }}", "m.role }}")
        + "{{ m.content }}<|end_of_text|>\n{% endfor %}"
        + _GENERATE
        + role.replace("{{ r }}", "assistant")
        + "{% endif %}"
    )


_ERNIE = (
    "{{ cls_token }}" + _LOOP + "{% if m.role == 'system' %}{{ m.content + '\n' }}"
    "{% elif m.role == 'user' %}{{ 'User: ' + m.content + '\n' }}"
    "{% else %}{{ 'Assistant: ' + m.content + '<|end_of_sentence|>' }}{% endif %}{% endfor %}"
    + _GENERATE
    + "{{ 'Assistant: ' }}{% endif %}"
)
_GEMMA = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set before = messages[0].content + '\n\n' %}"
    "{% set turns = messages[1:] %}{% else %}{% set before = '' %}{% set turns = messages %}{% endif %}"
    "{% for m in turns %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{{ (before if loop.first else '') + m.content | trim }}<end_of_turn>\n{% endfor %}"
    + _GENERATE
    + "<start_of_turn>model\n{% endif %}"
)
_GENERATION = (
    "{{ bos_token }}" + _LOOP + "<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>\n{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    + _GENERATE
    + "<|im_start|>assistant\n{% endif %}"
)
_SMOL = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

TEMPLATES: dict[str, tuple[str, dict[str, str]]] = {
    "Baguettotron": (_chatml(generate="<|im_start|>assistant\n<think>\n"), {}),
    "ERNIE-4.5-0.3B-PT": (_ERNIE, {"cls_token": "<|begin_of_sentence|>"}),
    "Falcon-H1-0.5B-Instruct": (_chatml("{{ bos_token }}"), {"bos_token": "<|begin_of_text|>"}),
    "LFM2-350M": (_chatml("{{ bos_token }}"), {"bos_token": "<|startoftext|>"}),
    "LFM2.5-350M": (_GENERATION, {"bos_token": "<|startoftext|>"}),
    "MiniCPM4-0.5B": (_chatml(), {"bos_token": "<s>"}),
    "Qwen2.5-0.5B-Instruct": (_chatml(last=_QWEN), {}),
    "Qwen3-0.6B": (_qwen3(), {}),
    "SmolLM2-360M-Instruct": (_chatml(last=_SMOL), {}),
    "gemma-3-270m-it": (_GEMMA, {"bos_token": "<bos>"}),
    "granite-4.0-350m": (_granite(), {}),
    "granite-4.0-h-350m": (_granite(), {}),
}
"""Written here to render as the official templates do; the special tokens they see."""


def _template(source: str, special: dict[str, str] | None = None) -> ChatTemplate:
    return ChatTemplate(source, special or {}, "test")


@pytest.mark.shared_data
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_renderings(name: str, shared_data: Path) -> None:
    file = shared_data.parent / "facts" / "rendered_prompts.json"
    expected = json.loads(file.read_text(encoding="utf-8"))[name]
    template = _template(*TEMPLATES[name])
    system = [{"role": "system", "content": "S."}, {"role": "user", "content": "Q?"}]
    arguments = {
        "user_only": {},
        "default": {},
        "think (enable_thinking=True)": {"enable_thinking": True},
        "no-think (enable_thinking=False)": {"enable_thinking": False},
    }
    found = {key: template.user("Q?", arguments[key]) for key in expected if key in arguments}
    found["with_system"] = template.render(system)
    assert found == {key: text for key, text in expected.items() if key != "sha256"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_ours_render_as_transformers_does(name: str) -> None:
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    source, special = TEMPLATES[name]
    messages = [{"role": "user", "content": "Q? <b>&amp;</b>\n  x"}]
    (theirs,), _ = utilities.render_jinja_template(
        conversations=[messages], chat_template=source, add_generation_prompt=True, **special
    )
    assert _template(source, special).render(messages) == theirs


KINDS = {
    "Baguettotron": ("reasoning-only", ("think",), True),
    "Qwen3-0.6B": ("hybrid", ("think", "no-think"), False),
    "SmolLM2-360M-Instruct": ("non-reasoning", ("no-think",), None),
    "gemma-3-270m-it": ("non-reasoning", ("no-think",), None),
    "LFM2.5-350M": ("non-reasoning", ("no-think",), None),
}


@pytest.mark.parametrize("name", KINDS)
def test_modes(name: str) -> None:
    kind, entries, opened = KINDS[name]
    template = _template(*TEMPLATES[name])
    modes = mode.read(template)
    assert (modes.kind, modes.entries) == (kind, entries)
    found = mode.reasoning(template, modes, entries[0])  # type: ignore[arg-type]
    assert (None if found is None else found.opened_by_template) == opened


def test_qwen3s_switch_is_proven_by_two_renderings() -> None:
    template = _template(_qwen3())
    modes = mode.read(template)
    assert modes.switch is not None
    assert (modes.switch.on, modes.switch.off) == ({"enable_thinking": True}, {"enable_thinking": False})
    assert modes.default == "think"
    assert template.user("Q", modes.arguments("think")) != template.user("Q", modes.arguments("no-think"))


def test_a_variable_that_changes_nothing_is_no_switch() -> None:
    """Some templates steer only how earlier turns are shown, and mention `</think>` for it."""
    source = (
        _LOOP
        + "{% if m.role == 'assistant' and not keep_past_thinking %}{{ m.content.split('</think>')[-1] }}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}"
    )
    modes = mode.read(_template(source))
    assert modes.kind == "non-reasoning"
    assert modes.delimiters == ("<think>", "</think>"), "a reply may still hold them (ruling 8)"


def test_a_switch_that_is_no_reasoning_switch() -> None:
    source = CHATML.replace("{% for", "{% if cite_sources %}Cite.{% endif %}{% for", 1)
    assert mode.read(_template(source)).kind == "non-reasoning"


def test_a_switch_that_turns_off() -> None:
    source = CHATML.replace("assistant\n", "assistant\n{% if not disable_thinking %}<think>\n{% endif %}")
    modes = mode.read(_template(source))
    assert modes.switch is not None
    assert modes.switch.on == {"disable_thinking": False}


def test_a_switch_with_a_default_set_in_the_template() -> None:
    source = "{% if enable_thinking is not defined %}{% set enable_thinking = false %}{% endif %}" + _qwen3()
    modes = mode.read(_template(source))
    assert (modes.kind, modes.default) == ("hybrid", "no-think")


def test_a_system_text_that_demands_reasoning() -> None:
    source = _chatml(last="Reason inside <think> and </think>, then answer.")
    assert mode.read(_template(source)).kind == "reasoning-only"


def test_the_clock_stands_still() -> None:
    source = "Today is {{ strftime_now('%d %B %Y') }}. " + CHATML
    assert _template(source).user("Q").startswith("Today is 01 January 2026. ")


def test_a_template_that_refuses_is_one_clear_line() -> None:
    template = _template("{{ raise_exception('System role not supported') }}")
    with pytest.raises(EntryError, match="refused a conversation of user: TemplateError: System role"):
        template.user("hi")


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content.__class__.__mro__ }}",
        "{{ ''.join(range(999999999)) }}",
        "{% for x in messages %}",
        "{{ undefined_function() }}",
        "{{ 1 / 0 }}",
        "{{ 'x' * 10**12 }}",
        "{{ 10**12 * [1] }}",
        "{{ (9**9) ** (9**9) }}",
    ],
)
def test_hostile_or_broken_templates_are_entry_errors(source: str) -> None:
    with pytest.raises(EntryError):
        _template(source + "{{ messages[0].content }}").user("x")


def test_what_a_template_may_still_multiply() -> None:
    assert (
        _template("{{ 2**10 }} {{ 3 * 'ab' }} {{ 1.5 * 2 }} {{ [0] * 2 }}").user("x")
        == "1024 ababab 3.0 [0, 0]"
    )


def test_a_template_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanolm.entries.template._PATIENCE", 0.2)
    loop = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(EntryError, match=r"did not end within 0\.2 s of processor time"):
        _template(loop).user("x")
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert _template("{{ messages[0].content }}").user("x") == "x"


def test_a_template_outside_the_main_thread_renders_too() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_template("{{ messages[0].content }}").user, "x").result() == "x"


def test_a_template_that_drops_the_message() -> None:
    with pytest.raises(EntryError, match="drops the user message"):
        mode.read(_template("Hello"))


def _cases(file: Path, kind: str) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["type"] == kind]


def _entry(context: int) -> Entry:
    return Entry(name="x", title="x", artefact="transformers", context=context)


def _bos_count(case: dict[str, Any]) -> Any:
    """Ids as a tokenizer would give them: 1 for each `<s>`, 9 for the rest."""
    text, context = case["input"], case["context"]
    ids = [1] * text.count(context["bos_token"]) + [9]
    return {"bos_count": with_bos(ids, 1 if context["tokenizer_adds_bos"] else None).count(1)}


def _keeps_system(case: dict[str, Any]) -> Any:
    text = _template(_chatml(last="DEFAULT")).render(case["input"]["messages"])
    return {"keep_default_system": "DEFAULT" in text}


def _refuses(case: dict[str, Any]) -> Any:
    template = _template("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}x")
    with pytest.raises(EntryError):
        template.render(case["input"]["messages"])
    return {"error": True, "reason": "error"}


def _opens(case: dict[str, Any]) -> Any:
    opened = mode.opened(case["input"], ("<think>", "</think>"))
    return {"mode": "think" if opened else "no-think", "template_opens_block": opened}


def _entries(case: dict[str, Any]) -> Any:
    inner = "{{ messages[0].content }}"
    source = case["input"].replace("...", "<think>\n\n</think>")
    return {"entries": list(mode.read(_template(source + inner)).entries)}


def _no_injection(case: dict[str, Any]) -> Any:
    """The mode comes from the template alone: the message goes through untouched and switches nothing."""
    template = _template(_qwen3())
    text = template.user(case["input"], {"enable_thinking": True})
    assert case["input"] in text
    return {"allowed": not text.endswith("<|im_start|>assistant\n")}


def _budget(case: dict[str, Any]) -> Any:
    tokens, context = int(case["input"].split()[2]), case["context"]["context_window"]
    found = budget(_entry(context), case["context"].get("asked", 32_768), tokens)
    expected = case["expected"]["value"]
    known = {"budget": found, "prompt_tokens_sent": tokens, "correct": found > 0}
    return {key: known[key] for key in expected}


_CHECKS = {
    **dict.fromkeys(("template-003", "template-007"), _bos_count),
    "template-008": _keeps_system,
    "template-009": _refuses,
    **dict.fromkeys(("template-011", "template-012"), _opens),
    **dict.fromkeys(("template-013", "template-015"), _entries),
    "template-016": _no_injection,
    **dict.fromkeys(("template-020", "template-021", "template-022"), _budget),
}


@pytest.mark.shared_data
def test_the_template_cases(shared_cases: Path) -> None:
    cases = _cases(shared_cases, "template")
    assert {case["id"] for case in cases} == set(_CHECKS)
    for case in cases:
        assert _CHECKS[case["id"]](case) == case["expected"]["value"], case["id"]


def test_budget_never_exceeds_the_editions() -> None:
    assert budget(_entry(131_072), 32_768, 400) == 32_768
    assert budget(_entry(4_096), 32_768, 4_096) == 0
    assert budget(_entry(4_096), 32_768, 5_000) < 0
