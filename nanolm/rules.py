"""Versions of the project's own rules: what reads an answer, judges it and makes it a number.

A change that alters any verdict or score raises the version here, and is published as a patch edition
whose `[extractors]` names it (protocol §10); an edition that names none expects version 1. Judging under
an edition that expects another version is refused: nothing that changes a score is applied silently.
"""

VERSIONS = {
    "reasoning": "1",
    "letter": "1",
    "label": "1",
    "number": "1",
    "math_expression": "1",
    "code": "1",
    "tool_calls": "1",
    "featherweight_letter": "1",
    "likeliest": "1",
    "scoring": "1",
}
"""By answer type (the modules of `nanolm.answers`), and for reasoning removal and scoring."""

FIRST = "1"
"""What an edition expects of a rule it does not name."""
