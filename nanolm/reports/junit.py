"""JUnit XML of a run: one case an item, its properties, a short text. The whole texts are in the record."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import msgspec

# what XML 1.0 can't hold, whatever the escape: controls, lone surrogates, non-characters
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 4_000


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One item."""

    classname: str
    name: str
    seconds: float
    properties: Mapping[str, object] = {}
    failure: str = ""
    """Empty when all samples are right."""
    invalid: bool = False
    """Nothing was measured: an `error` and not a `failure`."""


def clean(text: str) -> str:
    """The text with what XML can't hold written as `\\x00` or `\\ud835`, and not longer than 4,000 signs."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} […] {text[-_LONGEST // 2 :]}"
    return _FORBIDDEN.sub(_written_out, text)


def _written_out(match: "re.Match[str]") -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def write(path: Path, suite: str, cases: Iterable[Case], properties: Mapping[str, object]) -> None:
    """Write the report, whole or not at all. `properties` are the suite's."""
    parts: list[str] = []
    count = failures = errors = 0
    seconds = 0.0
    for case in cases:
        count += 1
        seconds += case.seconds
        failures += bool(case.failure) and not case.invalid
        errors += case.invalid
        parts.append(_case(case))
    head = (
        f'<testsuite name={_attribute(suite)} tests="{count}" failures="{failures}" errors="{errors}"'
        f' skipped="0" time="{seconds:.3f}">'
    )
    temporary = path.with_suffix(".part")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>{head}\n')
        file.write(_properties(properties))
        file.writelines(parts)
        file.write("</testsuite></testsuites>\n")
    temporary.replace(path)


def _attribute(value: object) -> str:
    return quoteattr(clean(str(value)))


def _properties(properties: Mapping[str, object]) -> str:
    if not properties:
        return ""
    inner = "".join(
        f"<property name={_attribute(name)} value={_attribute(value)}/>" for name, value in properties.items()
    )
    return f"<properties>{inner}</properties>\n"


def _case(case: Case) -> str:
    names = f"classname={_attribute(case.classname)} name={_attribute(case.name)}"
    head = f'<testcase {names} time="{case.seconds:.4f}">'
    body = _properties(case.properties)
    if case.failure or case.invalid:
        tag = "error" if case.invalid else "failure"
        text = clean(case.failure)
        short = text.partition(";")[0]
        body += f"<{tag} message={quoteattr(short)}>{escape(text)}</{tag}>"
    return f"{head}{body}</testcase>\n"
