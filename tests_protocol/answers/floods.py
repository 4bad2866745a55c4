"""Replies of about a megabyte that make a careless extractor slow; reused by every answer type."""

SIZE = 1_000_000

PIECES = (
    "{", "}", "[", "]", "(", "<", "`", "~", "```\n",
    "*", "_", "\\", "$", '"', "#", "-", ".", ",", " ", "\n", "\u200b",
    "\\boxed{", "\\boxed", "\\boxed{1}", "\\text{", "\\frac{1}{", "\\frac", "}{",
    "7", "7 ", "7,", "7,000,", "1 200 ", "1/", "1e", "7^", "-7 ", "-", "7a",
    "½", "1 1/2 ", "7.", "=", "\u00a07",
    "A", "B ", "A, ", "A or ", "Answer", "Answer: ", "Answer: B ", "Answer:\n", "Answer is ", "answer is a ",
    "The answer is B or ", "**Answer:** ", "Answer: <answer>", "Answer: <b>", "Answer: option ", "Answer:(",
    "<answer>", "</answer>", "<b>", "</b>", "<think>", "</think>", "</think ", "<|im_end|>", "<|im_end|>\n",
    '[{"name": "f", "arguments": {', '{"name":', "[[", '{"a":', '"\\',
    "def f(", "'''", "answer is **", "é", "\ud800",
)  # fmt: skip


def flood(piece: str) -> str:
    """`piece` over and over."""
    return piece * (SIZE // len(piece))


FLOODS = (
    [flood(piece) for piece in PIECES]
    + ["Answer: " + flood(piece) for piece in PIECES]
    + ["The answer is " + flood(piece) + " b" for piece in PIECES]
    + ["\\boxed{" + flood(piece) for piece in PIECES]
    + ["\\boxed{" + flood(piece) + "}" for piece in PIECES]
    + ["```\n" + flood(piece) + "\n```" for piece in PIECES]
    + ["<answer>" + flood(piece) + "</answer>" for piece in PIECES]
    + [flood(piece) + "7" for piece in PIECES]
)
