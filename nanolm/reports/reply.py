"""A reply cut into what the viewer shows: reasoning (folded), text, the extracted span (marked), the rest."""

from nanolm.schema import Verdict

Parts = tuple[str, str, str, str]
"""Reasoning with its markers, text before the span, the span, text after; joined they are the output."""


def parts(text: str, verdict: Verdict, closer: str) -> Parts:
    """Cut `text` at the end of its reasoning and around the verdict's span, both in code points.

    Cutting here and not in the browser keeps positions right: JavaScript counts UTF-16 units. A span that is
    out of range, or before the end of the reasoning (never, but a record may be older), is kept visible.
    """
    end = text.rfind(closer)
    fold = end + len(closer) if end >= 0 else 0
    if fold == 0 and verdict.reason == "truncated" and text.lstrip().startswith(closer.replace("/", "")):
        fold = len(text)  # the block never closed: all of it is reasoning
    while 0 < fold < len(text) and text[fold].isspace():
        fold += 1  # the blank lines between reasoning and reply
    if verdict.span is None:
        return text[:fold], text[fold:], "", ""
    start = min(max(verdict.span[0], 0), len(text))
    stop = min(max(verdict.span[1], start), len(text))
    fold = fold if fold <= start else 0
    return text[:fold], text[fold:start], text[start:stop], text[stop:]
