"""Context and continuation to tokens, by the convention of lm-evaluation-harness."""

from collections.abc import Sequence

import pytest

from nanolm.entries.entry import Entry
from nanolm.entries.pairs import PairEncoder, pair_encoder
from nanolm.errors import EntryError
from nanolm.schema import Alternative

BOS = 9_999


def words(texts: list[str]) -> list[Sequence[int]]:
    """A tokenizer whose tokens carry the blank before them: one id for each word with its blanks."""
    found: list[Sequence[int]] = []
    for text in texts:
        ids, at = [], 0
        while at < len(text):
            end = at
            while end < len(text) and text[end].isspace():
                end += 1
            while end < len(text) and not text[end].isspace():
                end += 1
            ids.append(hash_of(text[at:end]))
            at = end
        found.append(ids)
    return found


def hash_of(word: str) -> int:
    return sum((place + 1) * ord(char) for place, char in enumerate(word)) % 9_000


def encoder(prefix: tuple[int, ...] = (), opening: int | None = BOS, context: int = 100) -> PairEncoder:
    return PairEncoder(words, prefix, opening, context)


def one(found: list[Alternative | str]) -> Alternative:
    (alternative,) = found
    assert isinstance(alternative, Alternative)
    return alternative


def test_both_are_one_text_cut_where_the_context_ends() -> None:
    found = one(encoder().encode_all([("Question: why?\nAnswer:", " because so")]))
    assert found.ids == tuple(words(["Question: why?\nAnswer: because so"])[0])
    assert found.start == 3


def test_where_characters_join_across_the_border_the_context_keeps_its_own_tokens() -> None:
    """As lm-evaluation-harness has it: encode(context), then what follows as many tokens in encode(both)."""
    known = {"a b": (1, 2), "a bc d": (1, 23, 4)}
    joining = PairEncoder(lambda texts: [known[text] for text in texts], (), BOS, 100)
    assert one(joining.encode_all([("a b", "c d")])) == Alternative((1, 2, 4), 2)
    assert one(joining.encode_all([("a b", "c d")], clip=1)) == Alternative((2, 4), 1)


def test_white_space_at_the_end_of_the_context_is_scored_with_the_continuation() -> None:
    assert encoder().encode_all([("The cat ", "sat")]) == encoder().encode_all([("The cat", " sat")])
    assert encoder().encode_all([("A. x\n", "A")]) == encoder().encode_all([("A. x", "\nA")])


def test_what_the_tokenizer_puts_in_front_stands_before_the_context_once() -> None:
    plain, with_bos = (one(encoder(prefix).encode_all([("a b", " c")])) for prefix in ((), (BOS,)))
    assert with_bos.ids == (BOS, *plain.ids)
    assert with_bos.start == plain.start + 1


def test_an_empty_context_is_the_opening_token() -> None:
    found = one(encoder((BOS,)).encode_all([("", " The cat")]))
    assert found == Alternative((BOS, hash_of(" The"), hash_of(" cat")), 1)
    assert one(encoder().encode_all([("\n ", "x")])).ids == (BOS, hash_of("\n x"))


def test_an_opening_token_is_not_doubled() -> None:
    encoded = PairEncoder(lambda texts: [(BOS, 1, 2) for _ in texts], (), BOS, 100).encode_all([("", "t")])
    assert encoded == [Alternative((BOS, 1, 2), 1)]


def test_without_an_opening_token_the_first_token_is_the_context() -> None:
    assert one(encoder(opening=None).encode_all([("", "a b c")])).start == 1
    (problem,) = encoder(opening=None).encode_all([("", "a")])
    assert "neither BOS nor end of sequence" in str(problem)


def test_what_exceeds_the_context_is_cut_off_on_the_left() -> None:
    """The last token is predicted and never read, so one more than the context stays."""
    text = " ".join(f"w{number}" for number in range(20))
    found = one(encoder((BOS,), context=8).encode_all([(text, " x y")]))
    assert len(found.ids) == 9
    assert found.ids[found.start :] == (hash_of(" x"), hash_of(" y"))
    assert BOS not in found.ids
    (problem,) = encoder(context=2).encode_all([("a", " b c d")])
    assert problem == "the continuation has 3 tokens, the context 2"


def test_a_clip_keeps_the_last_tokens_of_the_context_alone() -> None:
    found = one(encoder().encode_all([("a b c d e", " x y")], clip=2))
    assert found == Alternative((hash_of(" d"), hash_of(" e"), hash_of(" x"), hash_of(" y")), 2)
    assert one(encoder().encode_all([("a b", " x")], clip=256)).start == 2


def test_a_continuation_that_melts_into_the_context_is_said() -> None:
    def melting(texts: list[str]) -> list[Sequence[int]]:
        return [(1,) for _ in texts]

    (problem,) = PairEncoder(melting, (), BOS, 100).encode_all([("a", "b")])
    assert "no token of its own" in str(problem)


def test_many_pairs_keep_their_order() -> None:
    pairs = [(f"c{number % 3}", f" x{number}") for number in range(20)]
    together = encoder().encode_all(pairs)
    assert together == [encoder().encode_all([pair])[0] for pair in pairs]


def test_a_gguf_file_is_refused_in_one_line() -> None:
    with pytest.raises(EntryError, match="is a gguf artefact, which has no log-likelihoods here"):
        pair_encoder(Entry(name="q4", title="q4", artefact="gguf"))
