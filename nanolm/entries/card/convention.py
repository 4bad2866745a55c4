"""The convention that a model card states of a benchmark number: normalisation, formulation, shots; and of a
perplexity its unit, context and stride."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

Said = TypeVar("Said")

_NOT_NORMALISED = re.compile(
    r"(?:(?:\b(?:no|not|without|non)|w/o)[- ](?:any )?(?:length[- ]?)?|\bun-?)normali[sz]\w*"
    r"|normali[sz]ation:? none",
    re.I,
)
_OTHER_NORM = re.compile(
    r"(?:rms|layer|batch|input|unicode|nfk?c|pre|post|weight|qk)[- ]?norm\w*(?:[- ]normali[sz]\w*)?"
    r"|\btext normali[sz]\w*",
    re.I,
)
_NORMALISED = re.compile(
    r"acc(?:uracy)?[-_, ]norm|normali[sz]|(?<!\w)norm(?!\w)|per[- ]character|by characters", re.I
)
_ACC = re.compile(r"\bacc\b(?![-_, ]?norm)", re.I)
_PLAIN = re.compile(r"\braw (?:sum|log)|\bsum of (?:the )?log", re.I)
_LETTER = re.compile(r"\bletters?\b", re.I)
_TEXT = re.compile(
    r"\bby (?:the )?(?:option(?:'s)? |answer |full )?texts?\b"
    r"|\b(?:option|answer|choice|full)(?:'s)?[- ]texts?\b"
    r"|\bcloze\b|-text\b|[(,]\s?(?:full |option )?text\s?[),]|\bQuestion\W{1,3}Answer\b",
    re.I,
)
_WORDS = {"zero": 0, "one": 1, "two": 2, "three": 3, "five": 5, "ten": 10, "few": -1, "multi": -1}
_SHOTS = re.compile(
    r"\b(?P<n>\d{1,3}|"
    + "|".join(_WORDS)
    + r")[- ]?shots?\b|\b(?:n_shots?|num_fewshot|n-shot|shots)[\s:=]{1,3}(?P<m>\d{1,3})\b",
    re.I,
)
_NO_SHOTS = re.compile(r"\b(?:no|not|without)[- ](?:few|multi)[- ]?shots?", re.I)
_BITS = re.compile(r"\bbpb\b|bits?[-_ /]per[-_ ]byte", re.I)
_BYTE = re.compile(
    r"\bbytes?[-_ ](?:level|ppl|perplexity|normali[sz]ed)|per[- ](?:utf-?8 )?byte"
    r"|[(,]\s?bytes?\s?[),]|byte_ppl|\bby bytes?\b",
    re.I,
)
_WORD = re.compile(r"\bword[-_ ](?:level|ppl|perplexity)|per[- ]word", re.I)
_TOKEN = re.compile(
    r"\btokens?[-_ ](?:level|ppl|perplexity)|per[- ]token"
    r"|[(,]\s?tokens?\s?[),]|\bby tokens?\b",
    re.I,
)
_WIDTH = r"[\s:=]{0,3}(?:(?:length|size|of|window|is)[\s:=]{1,3}){0,2}(?P<n>\d[\d,]{0,12})\s?(?P<k>k?)\b"
_CONTEXT = re.compile(r"\b(?:context|ctx|window)" + _WIDTH, re.I)
_STRIDE = re.compile(r"\bstride" + _WIDTH, re.I)


class Convention(msgspec.Struct, frozen=True, kw_only=True):
    """What is said; None for what is not, or in two ways."""

    normalised: bool | None = None
    form: str | None = None
    """`letter` or `text`."""
    shots: int | None = None
    """-1 for `few-shot`."""

    def words(self) -> str:
        """For people, of what is said."""
        norm = {True: "length-normalised", False: "not normalised", None: ""}[self.normalised]
        return ", ".join(part for part in (norm, f"by {self.form}" if self.form else "") if part)


def of(texts: Iterable[str]) -> Convention:
    """The convention of a number, from the texts it may be said in, the nearest first."""
    near = list(texts)
    return Convention(
        normalised=_first(near, _normalised), form=_first(near, _form), shots=_first(near, _shots)
    )


def unit(texts: Iterable[str]) -> str | None:
    """`bits`, `byte`, `word` or `token`: what a perplexity is per; None when it is not said."""
    return _first(list(texts), _unit)


def context(texts: Iterable[str]) -> int | None:
    """Tokens of a perplexity's context."""
    return _first(list(texts), lambda text: _numbers(_CONTEXT, text))


def stride(texts: Iterable[str]) -> int | None:
    """Tokens of a perplexity's stride."""
    return _first(list(texts), lambda text: _numbers(_STRIDE, text))


def _first(texts: list[str], said: Callable[[str], set[Said]]) -> Said | None:
    """Of the nearest text that says it; None when that one says it in several ways."""
    for text in texts:
        found = said(text)
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _normalised(text: str) -> set[bool]:
    plain = _NOT_NORMALISED.sub(" ", text)
    rest = _OTHER_NORM.sub(" ", plain)
    found = {True} if _NORMALISED.search(rest) else set()
    if plain != text or _PLAIN.search(text) or _ACC.search(rest):
        found.add(False)
    return found


def _form(text: str) -> set[str]:
    return {form for form, words in (("letter", _LETTER), ("text", _TEXT)) if words.search(text)}


def _shots(text: str) -> set[int]:
    found = set()
    for match in _SHOTS.finditer(_NO_SHOTS.sub(" ", text)):
        said = (match["n"] or match["m"]).lower()
        found.add(_WORDS[said] if said in _WORDS else int(said))
    return found


def _unit(text: str) -> set[str]:
    kinds = (("bits", _BITS), ("byte", _BYTE), ("word", _WORD), ("token", _TOKEN))
    return {kind for kind, words in kinds if words.search(_BITS.sub(" ", text) if kind == "byte" else text)}


def _numbers(words: re.Pattern[str], text: str) -> set[int]:
    return {int(match["n"].replace(",", "")) * (1024 if match["k"] else 1) for match in words.finditer(text)}
