"""The nouns everyone speaks in. Frozen structs, no I/O, no logic.

All structs are `msgspec.Struct`s: `msgspec.json.encode` gives their JSON, and a decoder made with
the type checks what it reads. Field docs give units and the protocol section (§) or ruling number.
"""

from typing import Any, Literal

import msgspec

AnswerType = Literal[
    "letter", "label", "number", "math_expression", "code", "tool_calls", "featherweight_letter", "likeliest"
]
"""Protocol §3, column "Answer type", and the ways of other suites to read an answer."""

Normalisation = Literal["none", "characters", "bytes"]
"""What an option's log-likelihood is divided by before options are compared: 1, or the option's length."""

Reason = Literal["wrong", "unparseable", "truncated", "unsupported", "error"]
"""Why a verdict is not "correct" (§6.3 and `wrong`); a closed set."""

FinishReason = Literal["stop", "length", "unsupported", "error"]
"""How an output ended: by itself, at the budget, the prompt did not fit (§5), or the engine failed."""


class FunctionSignature(msgspec.Struct, frozen=True):
    """A function's parameters as its API documents them (§3, ToolAlpaca)."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    """Never scored: API keys, app ids (§3, ruling 61)."""


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question of a benchmark, options already in the order they are shown."""

    benchmark: str
    """The edition's slug, e.g. `gsm8k-platinum`."""
    id: str
    """Unique in its benchmark; letters, digits, `.`, `_` and `-` only, so that it fits a test id."""
    answer_type: AnswerType
    question: str
    """The text that is asked: question, problem, text to classify, task code, or user request."""
    gold: Any
    """letter: "A"; label: the label; number, math_expression: the text; tool_calls: a list of
    `{"name", "arguments"}`; code: None, the evaluator holds the tests."""
    options: tuple[str, ...] = ()
    """letter: the options' texts in the order shown, A first."""
    labels: tuple[str, ...] = ()
    """label: all labels in alphabetical order; one shared tuple for all items of a benchmark."""
    documentation: str = ""
    """tool_calls, and letter about tools: the functions as they stand in the prompt. likeliest: the passage
    that a question is about."""
    functions: dict[str, FunctionSignature] = {}
    """tool_calls: the documented functions by name."""
    function: str | None = None
    """code: the name that must be defined (§6 code)."""
    preamble: str = ""
    """code: what stands before the extracted code when it runs (§7)."""
    dataset: str = ""
    """code: which evaluator data set holds the task, e.g. `mbpp-plus` or `evoeval-difficult`."""
    task: str = ""
    """code: the evaluator's task id, e.g. `Mbpp/2` or `EvoEval/12`."""
    reference: str = ""
    """code: the source's own solution, for the oracle entry only; never in a prompt."""
    normalisation: Normalisation = "none"
    """likeliest: set from the edition's benchmark table, not by the benchmark's module."""
    group: str = ""
    """Subject, variant or subset, where the source has one."""
    source: str = ""
    """Where it came from: `file:place`, the line (else the row) counted from 1. No part of any digest."""


class Prompt(msgspec.Struct, frozen=True):
    """The one user message of an item (§4).

    likeliest: its contexts and continuations as people read them (`nanolm.editions.prompt.alternatives`).
    """

    benchmark: str
    item: str
    text: str
    digest: str
    """SHA-256 of `text` in UTF-8, the first 16 hex digits. Part of a record's key."""


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """Sampling values as sent to the engine; every field is always sent (§5)."""

    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 is off."""
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    @property
    def greedy(self) -> bool:
        """True when nothing is sampled, so that one sample is all there is (§5)."""
        return self.temperature == 0.0


class Alternative(msgspec.Struct, frozen=True):
    """A token sequence whose end is to be scored."""

    ids: tuple[int, ...]
    """Context and continuation, at least one token of each."""
    start: int
    """Where the continuation begins: the log-likelihood of `ids[start:]` given `ids[:start]`."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One generation that an engine is asked for, or the log-likelihoods of given alternatives."""

    benchmark: str
    item: str
    sample: int
    """0-based."""
    seed: int
    """From benchmark, item and sample (never the edition): a patch edition finds the same record."""
    prompt_ids: tuple[int, ...]
    """The rendered template, tokenised without adding special tokens (§5)."""
    prompt_digest: str
    """`Prompt.digest` of the user message."""
    max_tokens: int
    """min(budget, context - prompt) new tokens (§5); at most 0 means the prompt does not fit."""
    decoding: Decoding
    stop_ids: tuple[int, ...]
    """End of sequence and the template's end of turn, nothing else (§5)."""
    alternatives: tuple[Alternative, ...] = ()
    """Not empty: nothing is generated (`max_tokens` is 0, `prompt_ids` empty); the output's text is the JSON
    of a `Scored`."""


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine answers to alternatives, as compact JSON in `Output.text`; lists in their order."""

    loglikelihoods: tuple[float, ...]
    """Nats, natural logarithm."""
    tokens: tuple[int, ...]
    """Tokens of each continuation."""
    greedy: tuple[bool, ...] = ()
    """Whether each token was the likeliest one there; empty where the engine does not say."""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a record: what the engine wrote, as it was written. Never edited."""

    benchmark: str
    item: str
    sample: int
    seed: int
    entry: str
    """The entry's digest."""
    prompt_digest: str
    rendered_digest: str
    """SHA-256 of the prompt token ids as text joined by spaces, the first 16 hex digits; empty for
    engines that use none. Of alternatives: all of them, joined by line breaks, `|` before a continuation."""
    decoding: Decoding
    max_tokens: int
    text: str
    """Special tokens kept (§6.1 works on it)."""
    finish_reason: FinishReason
    prompt_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    """What the engine said, when `finish_reason` is `error` or `unsupported`."""
    started: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0
    """From being handed over to being finished."""
    engine: str = ""
    engine_version: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What an extractor read from a reply."""

    value: Any
    """None when nothing could be read; else in the form `Item.gold` has (code: the program)."""
    rule: str
    """The rule that decided, e.g. `answer-line`; for people who ask "why?"."""
    span: tuple[int, int] | None = None
    """Where in the reply it stands, `reply[start:end]`."""
    reason: Reason | None = None
    """Set when the reply is settled without judging: `unparseable`, `truncated`, …"""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one output is right, and if not, why (§6.3)."""

    correct: bool
    reason: Reason | None
    """None exactly when `correct`."""
    answer: Any = None
    rule: str = ""
    span: tuple[int, int] | None = None
    """In `Output.text`, reasoning included."""
    detail: str = ""
    """What a judge outside adds: an evaluator's status and wall time, a time-out of the math judge."""


class Interval(msgspec.Struct, frozen=True):
    """A value with its 95% bootstrap interval (§8); bounds are None until computed."""

    value: float
    low: float | None = None
    high: float | None = None


class BenchmarkScore(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's line in `score.json`."""

    skill: float
    raw: float
    chance: float
    chance_rule: str
    """`constant`, `uniform` or `open-ended` (§8)."""
    items: int
    low: float | None = None
    high: float | None = None
    raw_low: float | None = None
    raw_high: float | None = None
    """Bounds of the 95% bootstrap interval of `raw`, from the same resamples as those of `skill`."""
    mean_output_tokens: float = 0.0
    truncated_share: float = 0.0
    reasons: dict[str, int] = {}
    """Samples that are not correct, by reason."""


class EntryScore(msgspec.Struct, frozen=True, kw_only=True):
    """`score.json` (docs/architecture.md, public contract)."""

    edition: str
    edition_digest: str
    entry: str
    mode: str
    complete: bool
    publishable: bool
    not_publishable_because: tuple[str, ...] = ()
    index: Interval | None
    """None while a category has no benchmark."""
    raw_index: float | None
    categories: dict[str, Interval]
    benchmarks: dict[str, BenchmarkScore]
    decoding: dict[str, Any]
    """`{values, source, quote, link}`."""
    model: dict[str, Any]
    """`{repo, revision, parameters, context, licence}`."""
    engine: dict[str, Any]
    """`{name, version}`."""
    samples: int
