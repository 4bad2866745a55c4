"""SHA-256 sums that a model card states, beside those of the files."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.entries.card.finding import Finding, Outcome
from nanolm.entries.card.text import seen
from nanolm.entries.markdown import running_lines
from nanolm.entries.parameters import Audit
from nanolm.entries.weights import sha256

_SUM = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_FILE = re.compile(
    r"(?<![\w.-])([\w-]{1,80}(?:\.[\w-]{1,40}){0,8}\.(?:safetensors|bin|gguf|ggml|pth?|ckpt|onnx|h5|msgpack|npz|"
    r"jsonl?|model|txt|jinja|md|py|ya?ml|toml|csv|parquet|zip|tar|t?gz|zst|whl))(?![\w-])",
    re.I,
)
_NEAR = 160
"""Characters before a sum in which it is said what it is of."""
_FILE_LAST = re.compile(_FILE.pattern + "$", re.I)


_SHORT = re.compile(r"(?<![\w-])(?=[a-f]*\d)[0-9a-f]{8,63}(?![0-9a-z])(?P<dots>\u2026|\.\.\.)?", re.I)
"""A shortened sum, where the line says that it is one."""
_SAID = re.compile(r"sha-?\s?256(?:sum)?|checksum", re.I)
_REVISION = re.compile(r"\b(?:commit|revision)\W{1,4}$", re.I)
"""What stands behind it names a state of a repository, or of a folder."""
_NOT_SAID = re.compile(r"commit|revision|md5|sha-?1\b|sha-?512|blake", re.I)
_OTHER = re.compile(
    r"\b(?:data(?:set)?s?|corpus|corpora|tokeni[sz]er|vocab\w*|optimi[sz]er|code|logs?|prompts?|items)\b",
    re.I,
)
_WEIGHTS = re.compile(r"\b(?:weights?|checkpoint|model(?! card)|safetensors)\b", re.I)


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """A SHA-256 of a card, in small hex digits."""

    value: str
    line: int
    """1-based."""
    file: str
    """The file it is said of, by its own line or one that leads to it; empty when none is named."""
    other: str = ""
    """What else it is said of, when no file is named: the data, a tokenizer."""
    running: bool
    """Whether it stands in running text; else in code, where a card may show sums of other files, too."""


def sums(card: str) -> Iterator[Sum]:
    """Every SHA-256, in the order of the card."""
    running = {number for number, _ in seen(card)}
    led = lead = ""
    for number, line in running_lines(card, code=True):
        found = [*_SUM.finditer(line), *_short(line, lead)]
        found.sort(key=lambda one: one.start())
        for place, match in enumerate(found):
            before = line[found[place - 1].end() if place else 0 : match.start()]
            if _REVISION.search(before):
                continue
            after = line[match.end() : found[place + 1].start() if place + 1 < len(found) else len(line)]
            names = [*reversed(_FILE.findall(before)), *_FILE.findall(after)]
            file = names[0] if names else led if not place else ""
            yield Sum(
                value=match.group(0).rstrip("\u2026.").lower(),
                line=number,
                file=file,
                other="" if file else _other(before if place else f"{lead} {before}"),
                running=number in running,
            )
        if line.strip():
            leads = None if found else _FILE_LAST.search(line.rstrip(" :*`|"))
            led = leads[1] if leads else ""
            lead = line if line.rstrip(" *`|").endswith(":") else ""


def _short(line: str, lead: str) -> Iterator[re.Match[str]]:
    for match in _SHORT.finditer(line):
        before = f"{lead} {line[: match.start()][-_NEAR:]}"
        said = list(_SAID.finditer(before))
        cut = match["dots"] and _FILE.search(before) and not _NOT_SAID.search(line)
        if cut or (said and not _NOT_SAID.search(before, said[-1].end())):
            yield match


def _other(before: str) -> str:
    """What a sum is said of that is no weight file; the words nearest before it decide."""
    near = before[-_NEAR:]
    last = max(_OTHER.finditer(near), key=lambda one: one.start(), default=None)
    if last is None or _WEIGHTS.search(near, last.end()):
        return ""
    return last.group(0)


def findings(card: str, audit: Audit, source: Artefacts, *, but: str) -> Iterator[Finding]:
    """Every sum that is said of a file of the model, or of none; `but`: the card itself."""
    weights = {file.name: file.sha256 for file in audit.files}
    actual = {value: name for name, value in weights.items() if value}
    here = {name for name in source.names() if name != but}
    stated = [one for one in sums(card) if one.running or _names(one.value, actual) or one.file in here]
    if all(
        (one.other or one.file) and one.file not in weights and not _names(one.value, actual)
        for one in stated
    ):
        yield Finding(
            what="SHA-256", outcome="missing",
            found=", ".join(f"{name} {value[:12]}…" for value, name in actual.items()),
        )  # fmt: skip
    known = dict(weights)
    for one in stated:
        if one.file in here and one.file not in known and isinstance(source, Folder):
            known[one.file] = sha256(source.path / one.file)
        yield _sum(one, actual, known)


def _names(value: str, actual: Mapping[str, str]) -> str:
    """The weight file that a sum, or its beginning, is of; empty when it is of none."""
    return next((name for whole, name in actual.items() if whole.startswith(value)), "")


def _sum(one: Sum, actual: Mapping[str, str], sums: Mapping[str, str]) -> Finding:
    """`actual`: the weights' file by its sum; `sums`: sum by file, of the weights and what else is named."""
    outcome: Outcome = "not checked"
    found = why = ""
    if one.file:
        ours = sums.get(one.file, "")
        if ours:
            same = ours.startswith(one.value)
            outcome = "holds" if same else "differs"
            found = one.file if same else f"{one.file} {ours[:12]}…"
            if not same and _names(one.value, actual):
                why = f"it is the sum of {_names(one.value, actual)}"
        elif one.file in sums:
            why = "weight files are read from a local folder only"
        else:
            why = f"it is said of {one.file}, which is not read here"
    elif one.other and not _names(one.value, actual):
        why = f"it is said of {one.other.lower()}, which is not read here"
    elif actual:
        outcome = "holds" if _names(one.value, actual) else "differs"
        found = _names(one.value, actual) or ", ".join(f"{value[:12]}…" for value in actual)
    else:
        why = "weight files are read from a local folder only"
    return Finding(
        what="SHA-256", outcome=outcome, stated=f"{one.value[:12]}…", line=one.line, found=found, why=why
    )
