"""From a context and its continuation to token ids, for log-likelihoods (docs/log-likelihood.md).

White space at the end of the context moves to the continuation. The context has the tokens it has alone,
behind what the tokenizer's own rule puts in front of a text; the continuation has those that follow, in both
as one text, behind as many tokens. Where a tokenizer joins characters across the border the two are no longer
the tokens of the whole text. An empty context is one token: BOS, else the end of sequence. This is what
lm-evaluation-harness does for causal models.
"""

from collections.abc import Callable, Sequence

from nanolm.entries import artefacts, tokens
from nanolm.entries.entry import Entry
from nanolm.errors import EntryError
from nanolm.schema import Alternative

Pair = tuple[str, str]


class PairEncoder:
    """`tokenize_all`: texts to ids, no special tokens added; `prefix`: what stands in front of a text;
    `opening`: the token that stands for an empty context, None when the tokenizer has neither BOS nor end of
    sequence."""

    def __init__(
        self,
        tokenize_all: Callable[[list[str]], list[Sequence[int]]],
        prefix: tuple[int, ...],
        opening: int | None,
        context: int,
    ) -> None:
        self._tokenize_all, self.prefix, self.opening, self.context = tokenize_all, prefix, opening, context
        self._known: dict[int, int] = {}  # one object per token id: a list of sequences takes an eighth

    def ids(self, text: str) -> list[int]:
        """A text's own tokens, nothing in front."""
        return list(self._tokenize_all([text])[0])

    def encode_all(self, pairs: Sequence[Pair], clip: int | None = None) -> list[Alternative | str]:
        """Each pair's tokens, or a line that says why it can't be scored.

        `clip`: the context keeps its last so many tokens. Then the whole keeps its last `context` + 1: the
        last token is predicted and never read.
        """
        texts: list[str] = []
        for context, continuation in pairs:
            head = context.rstrip()
            texts += [head, context + continuation]
        unique = list(dict.fromkeys(texts))
        known = dict(zip(unique, self._tokenize_all(unique) if unique else [], strict=True))
        return [
            self._alternative(known[texts[2 * place]], known[texts[2 * place + 1]], clip)
            if texts[2 * place]
            else self._opened(known[texts[2 * place + 1]])
            for place in range(len(pairs))
        ]

    def _alternative(self, head: Sequence[int], whole: Sequence[int], clip: int | None) -> Alternative | str:
        context = (*self.prefix, *head)
        return self._cut(context[-clip:] if clip else context, tuple(whole[len(head) :]))

    def _opened(self, whole: Sequence[int]) -> Alternative | str:
        """With an empty context; a text that begins with the opening token itself gets no second one."""
        if self.opening is None:
            if len(whole) < 2:
                return "the tokenizer names neither BOS nor end of sequence to stand before a single token"
            return self._cut(tuple(whole[:1]), tuple(whole[1:]))
        if whole and whole[0] == self.opening:
            return self._cut(tuple(whole[:1]), tuple(whole[1:]))
        return self._cut((self.opening,), tuple(whole))

    def _cut(self, context: tuple[int, ...], continuation: tuple[int, ...]) -> Alternative | str:
        if not continuation:
            return "the continuation has no token of its own: the tokenizer joins it with the context's last"
        if len(continuation) > self.context:
            return f"the continuation has {len(continuation):,} tokens, the context {self.context:,}"
        ids = (*context, *continuation)[-(self.context + 1) :]
        known = self._known
        return Alternative(tuple(known.setdefault(one, one) for one in ids), len(ids) - len(continuation))


def pair_encoder(entry: Entry) -> PairEncoder:
    """The entry's encoder. Raises `EntryError` for a GGUF file: llama.cpp gives no log-likelihoods here."""
    if entry.artefact != "transformers":
        raise EntryError(
            f"{entry.name} is a {entry.artefact} artefact, which has no log-likelihoods here; take a model "
            "folder or hub repository"
        )
    tokenizer = tokens.load(artefacts.of(entry))
    opening = tokenizer.bos_token_id
    return PairEncoder(
        lambda texts: tokens.ids(tokenizer, texts),
        tokens.prefix(tokenizer),
        tokenizer.eos_token_id if opening is None else opening,
        entry.context,
    )
