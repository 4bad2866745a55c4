"""Adversarial formats for hypothesis, reused by every answer type.

`wrapped(core)` puts a text into any stack of accepted wrappers; `answer_lines(core)` into the forms of an
answer line; `distractors` and `reasoning_blocks` are what may stand before it; `any_text` is any text at
all, lone surrogates included.
"""

from hypothesis import strategies as st

INVISIBLE = ("", "\u200b", "\ufeff", "\u2060", "\u00ad", "\u200e")
BLANKS = ("", " ", "  ", "\t", "\u00a0", "\u3000", "\u202f")
LINE_BREAKS = ("\n", "\r\n", "\n\n", " \r\n\r\n")

AROUND = (
    ("**", "**"), ("*", "*"), ("__", "__"), ("_", "_"), ("`", "`"), ("``", "``"), ("~~", "~~"),
    ('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("‹", "›"),
    ("「", "」"), ("『", "』"), ("＂", "＂"),
    ("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("（", "）"), ("【", "】"), ("［", "］"), ("《", "》"),
    ("<b>", "</b>"), ("<strong>", "</strong>"), ("<answer>", "</answer>"),
)  # fmt: skip
"""Marks that may stand around an answer of any type; none is content."""
LATEX = (
    ("$", "$"), ("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"),
    ("\\text{", "}"), ("\\mathrm{", "}"), ("\\textbf{", "}"), ("\\boxed{", "}"),
)  # fmt: skip

STOPS = ("", ".", "!", "。", "．", ";")
CUES = (
    "Answer:",
    "answer:",
    "ANSWER:",
    "Final answer:",
    "**Answer:**",
    "**Answer**:",
    "Answer：",
    "Answer :",
)

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
"""Any text, lone surrogates included."""
marks = st.text(
    alphabet="\\{}[]()<>`~*_$\"'#=:：.,;/|-+ \n\r\tAaBbIs1234é\u200b\u00a0\u202f\ud800", max_size=200
)
"""Texts of the marks that extractors look at."""
words = st.sampled_from(
    ["Answer", "answer", " is ", ":", " A", " B", "or", "\\boxed{", "}", "\\frac", "{1}", "7",
     ",000", "```\n", "<b>",
     "</b>", "<answer>", "</answer>", "<think>", "</think>", "\n", " ", "**",
     "\\text{", "card_arrival", "=", "-"]
)  # fmt: skip
replies = st.one_of(any_text, marks, st.lists(words, max_size=40).map("".join))
"""Replies that come close to what extractors look for."""

white = st.builds("".join, st.lists(st.sampled_from(BLANKS + INVISIBLE + LINE_BREAKS), max_size=3))
blanks = st.builds("".join, st.lists(st.sampled_from(BLANKS + INVISIBLE), max_size=3))


@st.composite
def wrapped(draw: st.DrawFn, core: str, pairs: tuple[tuple[str, str], ...] = AROUND, depth: int = 3) -> str:
    """`core` in any stack of at most `depth` of `pairs`, with blanks between."""
    text = core
    for front, back in draw(st.lists(st.sampled_from(pairs), max_size=depth)):
        text = f"{front}{draw(blanks)}{text}{draw(blanks)}{back}"
    return text


@st.composite
def answer_lines(
    draw: st.DrawFn, core: str, pairs: tuple[tuple[str, str], ...] = AROUND, depth: int = 3
) -> str:
    """`core` as the rest of an answer line, in any of its forms."""
    inner = draw(wrapped(core, pairs, depth))
    return f"{draw(st.sampled_from(CUES))}{draw(blanks)}{inner}{draw(st.sampled_from(STOPS))}{draw(blanks)}"


reasoning_blocks = st.builds(
    "<think>{}</think>{}".format, st.sampled_from(["", "\n\n", "Answer: A\n", "\\boxed{1}", "oos"]), white
)


def after(answer: str, before: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """`answer` on a line of its own behind other text."""
    return st.builds(lambda front, gap: f"{front}{gap}{answer}", before, st.sampled_from(LINE_BREAKS))


prose = st.lists(
    st.sampled_from(
        ["I looked at each of them.", "That can't be right.", "Note that a cat is no dog.", "So far so good.",
         "```python\nx\n```", "- first", "> quoted", "**Bold**", "It isn't so.", "Ответ", "答案", "No way!"]
    ),
    max_size=4,
).map("\n".join)  # fmt: skip
"""Noise that holds no answer of any type."""
