r"""The letter of an option (protocol §6, letter). Rules in order; the first that matches decides.

1. `answer-line`, `answer-is`: the last `Answer: X` or `answer is X`. Between the words and X there may
   be white space, line breaks, wrappers (bold, brackets, quotes, backticks, `$`, `\boxed{}`, `\text{}`,
   tags), a colon, and one of option/choice/letter, nothing else (rulings 11, 13). X touches no letter
   or digit, so a word is never read as its first letter (ruling 16). A small letter counts after
   `Answer:` unless it is the article of a phrase, and after `answer is` only if nothing but
   punctuation follows on its line (rulings 12, 90). `A cat sat` is no A when it opens an option's text
   (ruling 17) or a phrase (ruling 89). What does not match is passed over.
2. `box`: a single letter in the last `\boxed{}`, also in wrappers or followed by exactly its own
   option's text (ruling 19).
3. `one-letter`: a reply that is just one letter.
4. `letter-and-text`: a reply that is a letter followed by exactly that option's text.
5. `option-text`: a reply that is exactly one option's text (ruling 74: not of two).
6. `none`: unparseable.

Two rules settle a reply as unparseable wherever 1 to 3 match, without falling back (rulings 14, 15, 88,
92): `two-letters`: another letter follows after or, and, `/`, `,`, `&` or the like; `beyond-options`: no
such option.

Rules 3 to 5 look at the whole reply without outer white space, punctuation and Markdown (ruling 18);
texts are compared by `option_texts.py`. Before the rules, one enclosing tag or code fence is taken off
(ruling 21). Look-alikes from other alphabets are no letters (ruling 20); full-width forms are (ruling 91).
"""

import re
import unicodedata

from nanolm.answers import boxes, markup, option_texts, refuse, settle
from nanolm.answers.option_texts import ALONE, LETTER, Texts
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
_SIGNS = re.escape(
    markup.QUOTES
    + markup.BRACKETS.replace("<", "").replace(">", "")
    + "*_~$-–—"
    + markup.COLONS
    + markup.BULLETS
)
# A tag of one letter is a tag if it closes again nearby, and one of HTML's marks (`<b>`) also if a letter or
# another tag stands in it (ruling 101): `<B>` alone is B in brackets.
# Written out for each letter: a group inside a possessive repeat can end CPython 3.11's re in a SystemError.
_INSIDE = rf"[{_SIGNS}]{{0,4}}(?:[Oo]ption |[Cc]hoice |[Ll]etter )?[{_SIGNS}]{{0,4}}[A-Z]{ALONE}|<[A-Za-z]"
_PAIRED = "|".join(
    rf"{letter}>(?=(?s:.{{1,120}}?)</{letter}>{'|' + _INSIDE if letter in 'bipqsu' else ''})"
    for letter in "abcdefghijklmnopqrstuvwxyz"
)
_TAG = rf"</?+[A-Za-z][A-Za-z0-9_-]{{1,31}}[ /]*+>|<(?:{_PAIRED})|</[a-z]>"
_COMMAND = r"\\(?:boxed|text[a-z]{0,9}|math[a-z]{0,9}|bf|rm)[ \t]*+\{|\\[^\w\s]"


def _wrappers(white: str = _WHITE) -> str:
    """A run of what may stand before a letter."""
    return rf"(?:[{white}{_SIGNS}]|{_COMMAND}|{_TAG}|[<>#])*+"


_NOUN = r"(?:(?:[Oo]ption|OPTION|[Cc]hoice|CHOICE|[Ll]etter|LETTER)(?![A-Za-z])"
_CUE = re.compile(
    rf"{markup.ANSWER}(?:(?P<is>[{_WHITE}*_]++[Ii][Ss](?![\w'’]))"
    rf"|(?:[{_BLANK}*_]|</[A-Za-z][A-Za-z0-9]{{0,15}}>)*+[{markup.COLONS}])"
    rf"{_wrappers()}{_NOUN}{_wrappers()})?+(?:(?P<letter>{LETTER}){ALONE})?"
)
# Behind a letter: what closes its wrappers or ends it (`**B.**`, `(B):`, `\text{B}}`); no comma.
_CLOSERS = re.compile(rf"(?:[{_BLANK}{_SIGNS}.!?。．\-–—]|\\[^\w\s]|</[A-Za-z][A-Za-z0-9_-]{{0,31}}>|[<>])*+")
# What joins a second letter: these always, the weaker ones when nothing but punctuation follows it.
_STRONG = r"(?:[Oo][Rr]|[Aa][Nn][Dd](?:/[Oo][Rr])?)(?![A-Za-z])"
_WEAK = r"(?:plus|to|as well as|und|oder|et|ou|и|или)(?![^\W_])|[和或与與及]|[+→]|[-=]>"
_HEDGE = r"(?:both|either|also|even|then|possibly|perhaps|maybe|probably|likely)(?![A-Za-z])"
_SECOND = re.compile(
    rf"[{_WHITE}]*+(?P<comma>[,/&;|、，；／＆]?)[{_WHITE}]*+(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))?"
    rf"[{_WHITE}]*+(?P<hedge>{_HEDGE})?{_wrappers()}{_NOUN}{_wrappers()})?+(?P<letter>{LETTER}){ALONE}"
)
_BOXED = re.compile(rf"{_wrappers()}{_NOUN}{_wrappers()})?+(?P<letter>{LETTER}){ALONE}")
_ONE = re.compile(rf"(?:[+][{_BLANK}]++)?+{_wrappers()}(?P<letter>{LETTER}){ALONE}")
_BETWEEN = re.compile(
    rf"(?:[{_WHITE}{_SIGNS}.,;!?。．，、\-–—]|\\[^\w\s]|</[A-Za-z][A-Za-z0-9_-]{{0,31}}>|[<>])*+"
)
_LINE_OF_PUNCTUATION = re.compile(
    rf"(?:[^\w{_ENDS}<\\]|_|\\[^\w\s]|</?[A-Za-z][A-Za-z0-9_-]{{0,31}}>|<)*+(?=[{_ENDS}]|\Z)"
)
_PHRASE = re.compile(rf"[{_BLANK}]++[^\W_]")
# Words that can follow a letter but no article; other words make a phrase, unless they begin with a vowel.
_AFTER_LETTER = re.compile(
    "because|both|but|by|due|for|from|given|has|means|not|see|since|so|than|that|the|then|therefore|this|though"
    "|thus|to|was|we|when|where|which|while|with|you|your"
)
_NEXT_WORD = re.compile(rf"[{_BLANK}]++(?P<word>[^\W\d_]++)(?P<colon>[{_BLANK}]*+[{markup.COLONS}])?")


def extract(reply: str, item: Item) -> Answer:
    """The letter the reply gives, as a capital."""
    start, end = markup.unwrap(reply)
    texts = option_texts.of(item.options)
    return (
        _cued(reply, start, end, texts)
        or _boxed(reply, start, end, texts)
        or _whole_reply(reply, start, end, texts)
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


def _cued(reply: str, start: int, end: int, texts: Texts) -> Answer | None:
    """Rule 1: the last `Answer: X` or `answer is X`."""
    last: re.Match[str] | None = None
    for cue in _CUE.finditer(reply, start, end):
        if cue["letter"] and _is_letter(reply, cue, end, texts):
            last = cue
    if last is None:
        return None
    rule = "answer-is" if last["is"] else "answer-line"
    return _settled(reply, last, end, rule, texts)


def _is_letter(reply: str, cue: re.Match[str], end: int, texts: Texts) -> bool:
    """Whether the letter behind a cue is meant as one (rulings 12 and 17)."""
    at, behind = cue.span("letter")
    if reply[at].islower():
        if cue["is"]:
            return _LINE_OF_PUNCTUATION.match(reply, behind, end) is not None
        if reply[at] in "aａ" and _PHRASE.match(reply, behind, end):
            return False
    elif reply[at] in "AＡ" and _is_article(reply, behind, end, texts):
        return False
    return not any(option_texts.stands_at(reply, at, end, text) for text in texts.starts_like_letter)


def _is_article(reply: str, behind: int, end: int, texts: Texts) -> bool:
    """Whether a capital A opens a phrase (ruling 89): "A small planet", but not "A because …"."""
    following = _NEXT_WORD.match(reply, behind, end)
    if following is None or following["colon"]:
        return False
    word = following["word"]
    if not word[0].islower() or word[0] in "aeiou" or _AFTER_LETTER.fullmatch(word):
        return False
    return not option_texts.stands_at(reply, following.start("word"), end, texts.as_written[0])


def _boxed(reply: str, start: int, end: int, texts: Texts) -> Answer | None:
    """Rule 2: a single letter in the last box."""
    box = boxes.last(reply, start)
    if box is None or isinstance(box, str) or box.end > end:
        return None
    one = _BOXED.match(reply, box.inner_start, box.inner_end)
    if one is None:
        return None
    rest = _BETWEEN.match(reply, one.end(), box.inner_end)
    if (
        (rest and rest.end() == box.inner_end)
        or _own_text(reply, one, box.inner_end, texts)
        or _second(reply, one, box.inner_end, texts)
    ):
        return _settled(reply, one, box.inner_end, "box", texts)
    return None


def _whole_reply(reply: str, start: int, end: int, texts: Texts) -> Answer | None:
    """Rules 3 to 5: what the whole reply is (ruling 18)."""
    inner = markup.strip_outer(reply, start, end)
    whole = markup.trim(reply, 0, len(reply))
    one = _ONE.match(reply, start, end)
    if one and "\\boxed" in one.group():
        one = None  # boxes were looked for above: one that never closes is none
    if one and not _is_text_rather(reply, one, start, end, texts):
        rest = _BETWEEN.match(reply, one.end(), end)
        if rest and rest.end() == end:
            return _settled(reply, one, end, "one-letter", texts)
    if one and _own_text(reply, one, end, texts):
        return Answer(_capital(one["letter"]), "letter-and-text", inner)
    found = option_texts.stated(reply, *whole, texts) or option_texts.stated(reply, start, end, texts)
    if found:
        return _of_text(found, inner)
    if one and _second(reply, one, end, texts, to_the_end=True):
        return Answer(None, "two-letters", inner, "unparseable")
    return None


def _of_text(found: option_texts.Indices, span: tuple[int, int]) -> Answer:
    """The letter of the option that a text is (ruling 74: not of two)."""
    if len(found) > 1:
        return Answer(None, "option-text", span, "unparseable")
    return Answer(chr(ord("A") + found[0]), "option-text", span)


def _is_text_rather(reply: str, one: re.Match[str], start: int, end: int, texts: Texts) -> bool:
    """Whether a reply that may be one letter is an option's text instead (ruling 87): more than a letter
    and exactly the text, or a letter beyond the options."""
    if ord(_capital(one["letter"])) - ord("A") >= len(texts.as_written):
        return bool(option_texts.stated(reply, start, end, texts))
    return end - start > 1 and bool(option_texts.exactly(reply, start, end, texts))


def _settled(reply: str, found: re.Match[str], end: int, rule: str, texts: Texts) -> Answer:
    """The answer of a letter that was given, unless it is one of two or names no option."""
    span = found.span("letter")
    letter = _capital(found["letter"])
    if _second(reply, found, end, texts):
        return Answer(None, "two-letters", span, "unparseable")
    if ord(letter) - ord("A") >= len(texts.as_written):
        return Answer(None, "beyond-options", span, "unparseable")
    return Answer(letter, rule, span)


def _second(reply: str, first: re.Match[str], end: int, texts: Texts, *, to_the_end: bool = False) -> bool:
    """Whether another letter is given together with the first (rulings 15, 88), each with its text or not."""
    letter = _capital(first["letter"])
    at = first.end("letter")
    for _ in range(3):  # "B or both B and C"
        at = _behind_text(reply, at, end, letter, texts)
        second = _SECOND.match(reply, at, end)
        if second is None:
            return False
        if _capital(second["letter"]) != letter:
            break
        if not (second["strong"] or second["comma"]):
            return False  # "A. A and B" names the letter, then its text
        at = second.end()
    else:
        return False
    return _is_together(reply, first, second, end, texts, to_the_end)


def _is_together(
    reply: str, first: re.Match[str], second: re.Match[str], end: int, texts: Texts, to_the_end: bool
) -> bool:
    """Whether a second letter, as it stands behind the first, makes two of them."""
    if _capital(second["letter"]) == "I" and len(texts.as_written) < 9:
        return False  # "B, I think": the pronoun
    strong = second["strong"] or second["comma"]
    between = reply[first.end("letter") : second.start("letter")]
    one_line = not any(mark in between for mark in markup.LINE_ENDS)
    if strong and one_line and not second["hedge"] and not to_the_end and second["letter"].isupper():
        return True
    joined = strong or second["weak"]
    if not one_line and not joined:
        return False
    if second["letter"].islower() and first["letter"].isupper() and not joined:
        return False
    tail = _LINE_OF_PUNCTUATION.match(reply, second.end(), end)
    return tail is not None and (not to_the_end or tail.end() == end)


def _behind_text(reply: str, at: int, end: int, letter: str, texts: Texts) -> int:
    """Behind what closes a letter's wrappers, and behind its option's text if that follows."""
    at = _skip(reply, at, end)
    index = ord(letter) - ord("A")
    if index < len(texts.as_written) and option_texts.stands_at(reply, at, end, texts.as_written[index]):
        at = _skip(reply, at + len(texts.as_written[index]), end)
    return at


def _skip(reply: str, at: int, end: int) -> int:
    closers = _CLOSERS.match(reply, at, end)
    return closers.end() if closers else at


def _own_text(reply: str, one: re.Match[str], end: int, texts: Texts) -> bool:
    """Whether exactly the letter's own option's text follows it, up to `end`."""
    letter, at = one["letter"], one.end("letter")
    if letter in "aａ" and _PHRASE.match(reply, at, end):
        return False  # an article
    index = ord(_capital(letter)) - ord("A")
    return index in option_texts.stated(reply, at, end, texts, behind_letter=True)


def _capital(letter: str) -> str:
    return unicodedata.normalize("NFKC", letter).upper()
