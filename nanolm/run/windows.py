"""A long text as windows of tokens: which are scored, and what each is conditioned on."""

from collections.abc import Iterator, Sequence

from nanolm.schema import Alternative


def windows(ids: Sequence[int], opening: int | None, context: int, stride: int) -> Iterator[Alternative]:
    """Every token scored exactly once; each window reads at most `context` tokens.

    The first window scores up to `context` tokens, every other `stride`, with the tokens before them as
    context as far as the window reaches. `stride` = `context` is lm-evaluation-harness's rolling
    log-likelihood. `opening` stands before the text, read and never scored; without one the first token of
    the text can't be scored and takes its place.
    """
    sequence = tuple(ids) if opening is None else (opening, *ids)
    last = len(sequence) - 1
    scored = 0
    while scored < last:
        end = min(scored + (stride if scored else context), last)
        first = max(0, end - context)
        yield Alternative(sequence[first : end + 1], scored + 1 - first)
        scored = end
