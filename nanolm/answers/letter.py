r"""The letter of an option (protocol §6, letter). Rules in order; the first that matches decides.

1. `answer-line`, `answer-is`: the last `Answer: X` or `answer is X`. Between the words and X there may
   be white space, line breaks, wrappers (bold, brackets, quotes, backticks, `$`, `\boxed{}`, `\text{}`,
   tags), a colon, and one of option/choice/letter, nothing else (rulings 11, 13). X touches no letter
   or digit, so a word is never read as its first letter (ruling 16). A small letter counts after
   `Answer:` unless it is the article of a phrase, and after `answer is` only if nothing but
   punctuation follows on its line (ruling 12). `A cat sat` is no A when it opens an option's text
   (ruling 17). What does not match is passed over.
2. `box`: a single letter in the last `\boxed{}`, also in wrappers or followed by exactly its own
   option's text (ruling 19).
3. `one-letter`: a reply that is just one letter.
4. `letter-and-text`: a reply that is a letter followed by exactly that option's text.
5. `option-text`: a reply that is exactly one option's text (ruling 74: not of two).
6. `none`: unparseable.

Two rules settle a reply as unparseable wherever 1 to 3 match, without falling back (rulings 14, 15):
`two-letters`: another capital follows after or, and, `/`, `,` or `&`; `beyond-options`: no such option.

Rules 3 to 5 look at the whole reply without outer white space, punctuation and Markdown, texts in any
case (ruling 18). Before the rules, one enclosing tag or code fence is taken off (ruling 21).
Look-alikes from other alphabets are no letters (ruling 20); full-width forms are.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from nanolm.answers import boxes, markup, refuse, settle
from nanolm.schema import Answer, Item, Verdict

RULES = (
    "answer-line",
    "answer-is",
    "box",
    "one-letter",
    "letter-and-text",
    "option-text",
    "two-letters",
    "beyond-options",
    "none",
)

_WHITE = re.escape(markup.WHITE)
_BLANK = re.escape(markup.BLANK)
_ENDS = re.escape(markup.LINE_ENDS)
_SIGNS = re.escape(markup.QUOTES + markup.BRACKETS.replace("<", "").replace(">", "") + "*_~$" + markup.COLONS)
_LETTER = "[A-Za-zＡ-Ｚａ-ｚ]"
# A tag of one letter (`<b>`) is a tag only if it closes again nearby: `<B>` alone is B in brackets.
# Written out for each letter: a group inside a possessive repeat can end CPython 3.11's re in a SystemError.
_PAIRED = "|".join(rf"{letter}>(?=[^\n]{{1,40}}?</{letter}>)" for letter in "abcdefghijklmnopqrstuvwxyz")
_TAG = rf"</?+[A-Za-z][A-Za-z0-9_-]{{1,31}}[ /]*+>|<(?:{_PAIRED})|</[a-z]>"
_COMMAND = r"\\(?:boxed|text[a-z]{0,9}|math[a-z]{0,9}|bf|rm)[ \t]*+\{|\\[^\w\s]"
# No part of a word: 'I'm', 'B-cells', 'C++', 'U.S.', 'e.g.', an accent put on with a combining mark.
_WORD = r"[^\W_\u0e00-\u0eff\u2e80-\ud7ff\uf900-\ufaff]"  # not of scripts that set no blanks
_ALONE = rf"(?!{_WORD}|[\u0300-\u036f]|['’\-\u2010\u2011]{_WORD}|[+#]|_+{_WORD}|\.\d|\.[^\W\d_](?!{_WORD}))"


def _wrappers(white: str = _WHITE) -> str:
    """A run of what may stand before a letter."""
    return rf"(?:[{white}{_SIGNS}]|{_COMMAND}|{_TAG}|[<>#])*+"


_NOUN = r"(?:(?:[Oo]ption|OPTION|[Cc]hoice|CHOICE|[Ll]etter|LETTER)(?![A-Za-z])"
_CUE = re.compile(
    rf"{markup.ANSWER}(?:(?P<is>[{_WHITE}*_]++[Ii][Ss](?![\w'’]))"
    rf"|(?:[{_BLANK}*_]|</[A-Za-z][A-Za-z0-9]{{0,15}}>)*+[{markup.COLONS}])"
    rf"{_wrappers()}{_NOUN}{_wrappers()})?+(?:(?P<letter>{_LETTER}){_ALONE})?"
)
# Behind a letter: what closes its wrappers or ends it (`**B.**`, `(B):`, `\text{B}}`); no comma.
_CLOSERS = re.compile(rf"(?:[{_BLANK}{_SIGNS}.!?。．\-–—]|\\[^\w\s]|</[A-Za-z][A-Za-z0-9_-]{{0,31}}>|[<>])*+")
_SECOND = re.compile(
    rf"(?:[,/&;|、，；／＆][{_BLANK}]*+)?+(?P<word>(?:[Oo][Rr]|[Aa][Nn][Dd](?:/[Oo][Rr])?)(?![A-Za-z]))?+"
    rf"{_wrappers(_BLANK)}{_NOUN}{_wrappers(_BLANK)})?+(?P<letter>{_LETTER}){_ALONE}"
)
_ONE = re.compile(rf"(?:[-–—•+][{_BLANK}]++)?+{_wrappers()}(?P<letter>{_LETTER}){_ALONE}")
_BETWEEN = re.compile(
    rf"(?:[{_WHITE}{_SIGNS}.,;!?。．，、\-–—]|\\[^\w\s]|</[A-Za-z][A-Za-z0-9_-]{{0,31}}>|[<>])*+"
)
_LINE_OF_PUNCTUATION = re.compile(
    rf"(?:[^\w{_ENDS}<\\]|_|\\[^\w\s]|</?[A-Za-z][A-Za-z0-9_-]{{0,31}}>|<)*+(?=[{_ENDS}]|\Z)"
)
_SEPARATOR = re.compile(r"[\s.:)]*+(?:[-–—]\s++)?+")
_FIRST_WORD = re.compile(_LETTER + _ALONE)
_PHRASE = re.compile(rf"[{_BLANK}]++[^\W_]")


class _Options(NamedTuple):
    """The texts of an item's options in the forms in which replies are compared with them."""

    whole: dict[str, int | None]
    """Text to index; None where two options have the same."""
    bare: dict[str, int | None]
    """The same without outer punctuation."""
    folded: tuple[str, ...]
    starts_like_letter: tuple[str, ...]
    """Texts such as "a cat sat" that open with a letter of their own (ruling 17)."""


def extract(reply: str, item: Item) -> Answer:
    """The letter the reply gives, as a capital."""
    start, end = markup.unwrap(reply)
    options = _options(item.options)
    return (
        _cued(reply, start, end, options)
        or _boxed(reply, start, end, options)
        or _whole_reply(reply, start, end, options)
        or Answer(None, "none", None, "unparseable")
    )


def judge(answer: Answer, item: Item) -> Verdict:
    """Right when the letter is the gold letter."""
    return settle(answer, answer.value == item.gold)


def check(item: Item) -> None:
    """Refuse an item with fewer than two options, or whose gold is not among their letters."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(item.options)]
    if not 2 <= len(item.options) <= 26:
        raise refuse(item, f"{len(item.options)} options", "2 to 26")
    if any(not text.strip() for text in item.options):
        raise refuse(item, "an empty option", "a text for every option")
    if not isinstance(item.gold, str) or len(item.gold) != 1 or item.gold not in letters:
        raise refuse(item, f"gold {item.gold!r}", f"one of {', '.join(letters)}")


def _cued(reply: str, start: int, end: int, options: _Options) -> Answer | None:
    """Rule 1: the last `Answer: X` or `answer is X`."""
    last: re.Match[str] | None = None
    for cue in _CUE.finditer(reply, start, end):
        if cue["letter"] and _is_letter(reply, cue, end, options):
            last = cue
    if last is None:
        return None
    rule = "answer-is" if last["is"] else "answer-line"
    return _settled(reply, last, end, rule, options)


def _is_letter(reply: str, cue: re.Match[str], end: int, options: _Options) -> bool:
    """Whether the letter behind a cue is meant as one (rulings 12 and 17)."""
    at, behind = cue.span("letter")
    if reply[at].islower():
        if cue["is"]:
            return _LINE_OF_PUNCTUATION.match(reply, behind, end) is not None
        if reply[at] in "aａ" and _PHRASE.match(reply, behind, end):
            return False
    return not any(_text_at(reply, at, end, text) for text in options.starts_like_letter)


def _boxed(reply: str, start: int, end: int, options: _Options) -> Answer | None:
    """Rule 2: a single letter in the last box."""
    box = boxes.last(reply, start)
    if box is None or isinstance(box, str) or box.end > end:
        return None
    one = _ONE.match(reply, box.inner_start, box.inner_end)
    if one is None:
        return None
    rest = _BETWEEN.match(reply, one.end(), box.inner_end)
    if (
        (rest and rest.end() == box.inner_end)
        or _own_text(reply, one, box.inner_end, options)
        or _second(reply, one, box.inner_end, options)
    ):
        return _settled(reply, one, box.inner_end, "box", options)
    return None


def _whole_reply(reply: str, start: int, end: int, options: _Options) -> Answer | None:
    """Rules 3 to 5: what the whole reply is (ruling 18)."""
    inner = markup.strip_outer(reply, start, end)
    one = _ONE.match(reply, start, end)
    if one and "\\boxed" in one.group():
        one = None  # boxes were looked for above: one that never closes is none
    if one:
        rest = _BETWEEN.match(reply, one.end(), end)
        if rest and rest.end() == end:
            return _settled(reply, one, end, "one-letter", options)
        if _own_text(reply, one, end, options):
            return Answer(_capital(one["letter"]), "letter-and-text", inner)
    index = options.whole.get(_fold(reply[start:end]), -1)
    if index == -1:
        index = options.bare.get(_fold(reply[inner[0] : inner[1]]), -1)
    if index == -1:
        if one and _second(reply, one, end, options, to_the_end=True):
            return Answer(None, "two-letters", inner, "unparseable")
        return None
    if index is None:
        return Answer(None, "option-text", inner, "unparseable")
    return Answer(chr(ord("A") + index), "option-text", inner)


def _settled(reply: str, found: re.Match[str], end: int, rule: str, options: _Options) -> Answer:
    """The answer of a letter that was given, unless it is one of two or names no option."""
    span = found.span("letter")
    letter = _capital(found["letter"])
    if _second(reply, found, end, options):
        return Answer(None, "two-letters", span, "unparseable")
    if ord(letter) - ord("A") >= len(options.folded):
        return Answer(None, "beyond-options", span, "unparseable")
    return Answer(letter, rule, span)


def _second(
    reply: str, first: re.Match[str], end: int, options: _Options, *, to_the_end: bool = False
) -> bool:
    """Whether another letter is given together with the first (ruling 15), each perhaps with its text."""
    at = _skip(reply, first.end("letter"), end)
    index = ord(_capital(first["letter"])) - ord("A")
    if index < len(options.folded) and _text_at(reply, at, end, options.folded[index]):
        at = _skip(reply, at + len(options.folded[index]), end)
    second = _SECOND.match(reply, at, end)
    if second is None or _capital(second["letter"]) == _capital(first["letter"]):
        return False
    if _capital(second["letter"]) == "I" and len(options.folded) < 9:
        return False  # "B, I think": the pronoun
    joined = second["word"] is not None or reply[at] in ",/&;|、，；／＆"
    if joined and not to_the_end and second["letter"].isupper():
        return True
    if second["letter"].islower() and first["letter"].isupper():
        return False
    tail = _LINE_OF_PUNCTUATION.match(reply, second.end(), end)
    return tail is not None and (not to_the_end or tail.end() == end)


def _skip(reply: str, at: int, end: int) -> int:
    closers = _CLOSERS.match(reply, at, end)
    return closers.end() if closers else at


def _own_text(reply: str, one: re.Match[str], end: int, options: _Options) -> bool:
    """Whether exactly the letter's own option's text follows it, up to `end`."""
    index = ord(_capital(one["letter"])) - ord("A")
    if index >= len(options.folded):
        return False
    own = options.folded[index]
    text = _fold(reply[one.end() : end])
    return _SEPARATOR.sub("", text, count=1) == own or _bare(text) == _bare(own)


def _text_at(reply: str, at: int, end: int, folded: str) -> bool:
    """Whether an option's text stands at `at` and ends where a word ends."""
    behind = at + len(folded)
    if behind > end or not folded or _fold(reply[at:behind]) != folded:
        return False
    return behind == end or not (reply[behind].isalnum() and folded[-1].isalnum())


def _capital(letter: str) -> str:
    return unicodedata.normalize("NFKC", letter).upper()


def _fold(text: str) -> str:
    """Case folded, composed, white space collapsed, invisible marks removed (ruling 18)."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    return " ".join(text.split()).casefold()


_INVISIBLE = dict.fromkeys(map(ord, markup.INVISIBLE), None)


def _bare(folded: str) -> str:
    start, end = markup.strip_outer(folded, 0, len(folded))
    return folded[start:end].removeprefix("- ").removeprefix("– ").strip()


@lru_cache(maxsize=256)  # an item's samples are read one after another
def _options(texts: tuple[str, ...]) -> _Options:
    whole: dict[str, int | None] = {}
    bare: dict[str, int | None] = {}
    folded = tuple(map(_fold, texts))
    for index, text in enumerate(folded):
        whole[text] = None if text in whole else index
        bare[_bare(text)] = None if _bare(text) in bare else index
    whole.pop("", None)
    bare.pop("", None)
    opens = tuple(
        _bare(text)
        for text in folded
        if len(_bare(text)) > 1 and re.match(rf"{_LETTER}{_ALONE}", _bare(text))
    )
    return _Options(whole, bare, folded, opens)
