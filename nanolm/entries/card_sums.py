"""SHA-256 sums that a model card states, beside those of the files."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.entries.card_finding import Finding, Outcome
from nanolm.entries.card_text import seen
from nanolm.entries.markdown import running_lines
from nanolm.entries.parameters import Audit
from nanolm.entries.weights import sha256

_SUM = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_FILE = re.compile(
    r"(?<![\w.-])([\w-]{1,80}(?:\.[\w-]{1,40}){0,8}\.(?:safetensors|bin|gguf|ggml|pth?|ckpt|onnx|h5|msgpack|npz|"
    r"jsonl?|model|txt|jinja|md|py|ya?ml|toml|csv|parquet|zip|tar|t?gz|zst|whl))(?![\w-])",
    re.I,
)
_FILE_LAST = re.compile(_FILE.pattern + "$", re.I)


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """A SHA-256 of a card, in small hex digits."""

    value: str
    line: int
    """1-based."""
    file: str
    """The file it is said of, by its own line or one that leads to it; empty when none is named."""
    running: bool
    """Whether it stands in running text; else in code, where a card may show sums of other files, too."""


def sums(card: str) -> Iterator[Sum]:
    """Every SHA-256, in the order of the card."""
    running = {number for number, _ in seen(card)}
    led = ""
    for number, line in running_lines(card, code=True):
        found = list(_SUM.finditer(line))
        for place, match in enumerate(found):
            before = line[found[place - 1].end() if place else 0 : match.start()]
            after = line[match.end() : found[place + 1].start() if place + 1 < len(found) else len(line)]
            names = [*reversed(_FILE.findall(before)), *_FILE.findall(after)]
            yield Sum(
                value=match.group(0).lower(), line=number, running=number in running,
                file=names[0] if names else led if not place else "",
            )  # fmt: skip
        if line.strip():
            leads = None if found else _FILE_LAST.search(line.rstrip(" :*`|"))
            led = leads[1] if leads else ""


def findings(card: str, audit: Audit, source: Artefacts, *, but: str) -> Iterator[Finding]:
    """Every sum that is said of a file of the model, or of none; `but`: the card itself."""
    weights = {file.name: file.sha256 for file in audit.files}
    actual = {value: name for name, value in weights.items() if value}
    here = {name for name in source.names() if name != but}
    stated = [one for one in sums(card) if one.running or one.value in actual or one.file in here]
    if all(one.file and one.file not in weights and one.value not in actual for one in stated):
        yield Finding(
            what="SHA-256", outcome="missing",
            found=", ".join(f"{name} {value[:12]}…" for value, name in actual.items()),
        )  # fmt: skip
    known = dict(weights)
    for one in stated:
        if one.file in here and one.file not in known and isinstance(source, Folder):
            known[one.file] = sha256(source.path / one.file)
        yield _sum(one, actual, known)


def _sum(one: Sum, actual: Mapping[str, str], sums: Mapping[str, str]) -> Finding:
    """`actual`: the weights' file by its sum; `sums`: sum by file, of the weights and what else is named."""
    outcome: Outcome = "not checked"
    found = why = ""
    if one.file:
        ours = sums.get(one.file, "")
        if ours:
            outcome = "holds" if ours == one.value else "differs"
            found = one.file if ours == one.value else f"{one.file} {ours[:12]}…"
            if ours != one.value and one.value in actual:
                why = f"it is the sum of {actual[one.value]}"
        elif one.file in sums:
            why = "weight files are read from a local folder only"
        else:
            why = f"it is said of {one.file}, which is not read here"
    elif actual:
        outcome = "holds" if one.value in actual else "differs"
        found = actual.get(one.value) or ", ".join(f"{value[:12]}…" for value in actual)
    else:
        why = "weight files are read from a local folder only"
    return Finding(
        what="SHA-256", outcome=outcome, stated=f"{one.value[:12]}…", line=one.line, found=found, why=why
    )
