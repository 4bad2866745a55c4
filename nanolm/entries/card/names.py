"""Names of models in a card: this model's own, and what looks like another's."""

import re
from collections.abc import Sequence

Names = tuple[tuple[str, ...], ...]
"""Each name as its words, in small letters."""

_SIZE = r"\d+(?:[.p]\d+)?\s?[kmbt]"
_SIZED = re.compile(rf"(?<![a-z0-9.]){_SIZE}(?![a-z0-9])", re.I)
_LEAD = re.compile(r"^(?:the\s+)?(?:model\s+card\s+(?:for|of)|model\s+card\s*[:\u2013\u2014-])\s*", re.I)
_TAIL = re.compile(r"\s*(?:[:(|,\u2013\u2014]|\s-\s).*$")
_OURS = re.compile(
    r"(?:ours?|ours? model|our work|this(?: (?:model|work|checkpoint|release|repo\w*))?|us)", re.I
)
_MARKS = re.compile(r"[*`\[\]\"']|\([^()]*\)|<[^<>]*>")
OTHERS = re.compile(
    r"teachers?|baselines?|larger|bigger|models|than|vs\.?|versus|like|unlike|compared (?:with|to)", re.I
)
_FAMILIES = frozenset(
    ("llama", "pythia", "qwen", "gemma", "phi", "mistral", "mixtral", "opt", "bert", "roberta", "gpt",
     "mamba", "falcon", "bloom", "olmo", "stablelm", "smollm", "deepseek", "granite",
     "cerebras", "rwkv", "minicpm")
)  # fmt: skip
_TUNED = frozenset(("instruct", "chat", "it", "sft", "dpo", "rl", "think", "finetuned", "tuned", "distill"))
_NO_MODELS = frozenset(
    ("rope", "swiglu", "geglu", "moe", "rmsnorm", "layernorm", "pytorch", "gguf", "onnx", "bf16", "fp16",
     "fp32", "fp8", "int8", "int4")
)  # fmt: skip


def of(title: str, own: Sequence[str] = ()) -> Names:
    """What this model goes by: `own`, and its card's title, whole and without what explains it."""
    plain = _LEAD.sub("", title)
    every = [words(name) for name in (*own, title, plain, _TAIL.sub("", plain))]
    return tuple(dict.fromkeys(name for name in every if name))


def words(name: str) -> tuple[str, ...]:
    """Of the last part of a path or repository, in small letters."""
    return tuple(re.findall(r"[a-z0-9]+", name.rstrip("/").rsplit("/", 1)[-1].casefold()))


def is_other(name: str, own: Names) -> bool:
    """Whether these words name a model, and none that goes by one of `own`."""
    first = name.split()[0].strip("-./_")
    plain = first.casefold()
    if plain in _NO_MODELS or re.search(r"[-_](?:style|like|based|only|class|type)$", plain):
        return False
    if re.fullmatch(r"v?\d[\d.,]*[a-z]{0,3}|v\d[\w.]*", plain):
        return False
    named = re.search(r"\d|[a-z][A-Z]", first) or re.split(r"[\d_.-]", plain)[0] in _FAMILIES
    if not (named or OTHERS.fullmatch(plain)):
        return False
    said = words(name)
    return not any(_same(said, mine) for mine in own)


def _same(said: tuple[str, ...], own: tuple[str, ...]) -> bool:
    if not said or not own:
        return False
    if said == own[: len(said)]:
        return True
    more = said[len(own) :]
    return said[: len(own)] == own and not any(character.isdigit() for character in "".join(more))


def own_places(texts: Sequence[str], own: Names) -> list[int]:
    """Which of a table's heads name this model: those that are a name of it to the letter, else those that
    begin one, or say `ours`."""
    plain = [words(_MARKS.sub(" ", text)) for text in texts]
    joined = {"".join(name) for name in own}
    exact = [place for place, said in enumerate(plain) if said and "".join(said) in joined]
    if exact:
        return exact
    ours = [
        place
        for place, text in enumerate(texts)
        if _OURS.fullmatch(_MARKS.sub(" ", text).strip()) or re.search(r"\(ours?\)", text, re.I)
    ]
    if ours:
        return ours
    return [place for place, said in enumerate(plain) if any(_shortened(said, name) for name in own)]


def _shortened(said: tuple[str, ...], name: tuple[str, ...]) -> bool:
    """Whether a head is a name without its end, or with `base` there; a tuned model has its whole name."""
    if said == (*name, "base"):
        return True
    if not said or said != name[: len(said)] or (len(said) == 1 and said[0] in _FAMILIES):
        return False
    return not _TUNED.intersection(name[len(said) :])


def looks_like_model(text: str) -> bool:
    """Whether a table's head, or a word, is a model's name: it has a size, a slash, a family's name, or
    digits among its letters."""
    plain = _MARKS.sub(" ", text).strip()
    if not plain or len(plain) > 80:
        return False
    if _SIZED.search(plain) or re.search(r"[A-Za-z][\w.-]*/[A-Za-z]", plain):
        return True
    first = plain.split()[0].casefold()
    if re.split(r"[\d_.-]", first)[0] in _FAMILIES:
        return True
    return re.search(r"[A-Za-z]-?\d|\d[A-Za-z]", plain) is not None


_NAMED = re.compile(r"(?<![\w./-])[A-Za-z][\w./-]*\w")


def last_model(text: str, own: Names) -> str:
    """The model that running text names last, when it is another than this one; empty otherwise."""
    for match in reversed(list(_NAMED.finditer(text))):
        name = match.group(0)
        if _is_own(name, own):
            return ""
        if _SIZED.search(name.replace("_", "-")) or re.split(r"[\d_.-]", name.casefold())[0] in _FAMILIES:
            return name
    return ""


def _is_own(name: str, own: Names) -> bool:
    said = words(name)
    return any(said == mine for mine in own)
