"""What the board knows of the sanity checks (§10): check.json beside the runs, and the runs themselves."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from nanolm.errors import RecordError, ScoreError
from nanolm.reports.run_folder import RunFolder
from nanolm.scoring.sanity import Check

FILE = "check.json"


class CheckFile(msgspec.Struct, frozen=True, kw_only=True):
    """check.json: what `nanolm check` found."""

    edition: str
    edition_digest: str
    ok: bool
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What the runs of failed checks say about themselves, e.g. that code was not run."""


class Gate(NamedTuple):
    """Whether sanity checks of this very edition passed, and the line that says so."""

    checked: bool
    text: str


def gate(folder: Path, found: Sequence[RunFolder]) -> Gate:
    """Raises `ScoreError` while a sanity check fails: a board is not built then (§10)."""
    for run in found:
        expected = {"oracle": 100.0, "constant": 0.0}.get(run.name)
        index = run.score.index
        if expected is not None and run.score.complete and index and index.value != expected:
            because = "; ".join(run.score.not_publishable_because)
            raise ScoreError(
                f"the sanity check fails: {run.name} scores {index.value!r} in {run.path}, expected "
                f"{expected:.2f}, so scores of this edition can't be trusted and no board is built. "
                f"That run says: {because or 'nothing'}. See `nanolm check`"
            )
    path = folder / FILE
    if not path.exists():
        return Gate(
            False, f"Sanity checks have not been run: no {FILE} beside these runs. Nothing is ranked."
        )
    try:
        file = msgspec.json.decode(path.read_bytes(), type=CheckFile)
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordError(f"{path} can't be read: {error}; run `nanolm check` again") from error
    if not file.ok:
        failed = "; ".join(
            f"{check.entry} {check.what}: {check.found:.4f}, "
            f"expected {check.expected:.4f} ± {check.tolerance:.4f}"
            for check in file.checks
            if not check.ok
        )
        raise ScoreError(
            f"sanity checks of edition {file.edition} fail, so no board is built: {failed}. "
            f"Mend the scoring and run `nanolm check` again ({path})"
        )
    digests = {run.score.edition_digest for run in found}
    if digests != {file.edition_digest}:
        return Gate(
            False,
            f"The sanity checks in {FILE} are of another state of the edition ({file.edition_digest}). "
            "Nothing is ranked until `nanolm check` has run again.",
        )
    return Gate(True, "Sanity checks passed: " + _said(file.checks) + ".")


def _said(checks: Sequence[Check]) -> str:
    parts = []
    for check in checks:
        if check.what == "index":
            near = f" (expectation {check.expected:.2f})" if check.tolerance else ""
            parts.append(f"{check.entry} {check.found:.2f}{near}")
    return ", ".join(parts)
