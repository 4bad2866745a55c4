"""Whether a model may be an entry: each rule of protocol §2 with its outcome."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from nanolm.entries import artefacts
from nanolm.entries.artefacts import Artefacts
from nanolm.entries.parameters import Audit
from nanolm.errors import EntryError

Outcome = Literal["holds", "look", "fails"]

_PERMIT = frozenset(
    (
        *("apache-2.0", "mit", "bsd", "bsd-2-clause", "bsd-3-clause", "isc", "unlicense", "zlib", "cc0-1.0"),
        *("cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "openrail", "openrail++"),
        *("bigscience-openrail-m", "bigcode-openrail-m", "mpl-2.0", "gpl-3.0", "lgpl-3.0", "agpl-3.0"),
    )
)
"""Licences that permit evaluation and publishing the results; all others a person looks at."""

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(license|license_name)[ \t]*:[ \t]*(\S.*?)[ \t]*\r?$", re.MULTILINE)


class Rule(msgspec.Struct, frozen=True):
    """One rule of §2."""

    name: str
    outcome: Outcome
    found: str


class Eligibility(msgspec.Struct, frozen=True):
    """All rules; the model is eligible when none fails, and a person settles those that need a look."""

    rules: tuple[Rule, ...]

    @property
    def verdict(self) -> str:
        if any(rule.outcome == "fails" for rule in self.rules):
            return "not eligible"
        return "needs a look" if any(rule.outcome == "look" for rule in self.rules) else "eligible"

    @property
    def line(self) -> str:
        """The verdict with what stands against it, in one line."""
        against = [f"{rule.name}: {rule.found}" for rule in self.rules if rule.outcome != "holds"]
        return self.verdict + (f" ({'; '.join(against)})" if against else "")


def check(source: Artefacts, audit: Audit, limit: int, base_models: bool = False) -> Eligibility:
    """Every rule of §2 with its outcome; never raises for a model that merely fails one.

    `base_models`: whether the edition takes models without a chat template.
    """
    return Eligibility((_open(source), _licence(source), _chat(source, base_models), _size(audit, limit)))


def licence(source: Artefacts) -> str:
    """The licence the model card states in its header (`license`, or `license_name` for "other")."""
    front = _FRONT.match(artefacts.text(source, "README.md") or "")
    if front is None:
        return ""
    fields = dict(
        re.findall(r"^(license|license_name)[ \t]*:[ \t]*(\S.*?)[ \t]*\r?$", front[1], re.MULTILINE)
    )
    stated: dict[str, str] = {key: value.strip("'\"") for key, value in fields.items()}
    name = stated.get("license", "")
    return stated.get("license_name", name) if name == "other" else name


def _open(source: Artefacts) -> Rule:
    if source.revision:
        return Rule("open weights", "holds", f"on the hub, pinned to {source.revision}")
    return Rule("open weights", "look", "a local folder; an official entry needs a revision on the hub")


def _licence(source: Artefacts) -> Rule:
    name = licence(source)
    if name.lower() in _PERMIT:
        return Rule("licence", "holds", name)
    if name:
        return Rule("licence", "look", f"{name}: does it permit evaluation and publishing the results?")
    files = sorted(
        file for file in source.names() if Path(file).stem.upper() in ("LICENSE", "LICENCE", "NOTICE")
    )
    return Rule("licence", "look", f"none stated in README.md{', but see ' + files[0] if files else ''}")


def _chat(source: Artefacts, base_models: bool) -> Rule:
    try:
        if base_models and artefacts.find_template(source) is None:
            return Rule("chat template", "holds", "none: a base model, which this edition takes")
        found = artefacts.template_text(source)
    except EntryError as error:
        return Rule("chat template", "fails", str(error))
    return Rule("chat template", "holds", f"in {found.file}")


def _size(audit: Audit, limit: int) -> Rule:
    if audit.packed:
        return Rule("parameters", "fails", audit.packed)
    count = f"{audit.with_buffers:,} of at most {limit:,}"
    if not audit.fits(limit):
        return Rule("parameters", "fails", count)
    if audit.tied == "bytes not compared":
        return Rule("parameters", "look", f"{count}, if the tied embeddings' bytes agree (not read)")
    return Rule("parameters", "holds", count)
