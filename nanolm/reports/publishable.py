"""What speaks against publishing a score (principle 6, §10): the same list for a run and a rescore."""

from collections.abc import Mapping, Sequence

from nanolm.editions import not_publishable_because
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.verdicts import versions


def reasons(
    edition: Edition, entry: Entry, engine: Mapping[str, str], *, code_marks: Sequence[str] = ()
) -> list[str]:
    """Reasons of the entry, the edition, the engine and the extractors; empty when there are none.

    `engine` is `{name, version}` of what wrote the outputs; `code_marks` what stands against this
    machine's code verdicts. Whether the run is whole is for the caller to say.
    """
    found = [*entry.not_publishable_because, *not_publishable_because(edition)]
    official = {"name": edition.engine, "version": edition.engine_version}
    if entry.artefact != "synthetic" and dict(engine) != official:
        found.append(
            f"the edition's engine is {edition.engine} {edition.engine_version}, these outputs are by"
            f" {engine['name'] or 'none'} {engine['version']}".rstrip()
        )
    found += [f"extractors differ: {line}" for line in versions.mismatches(edition.extractors)]
    return found + list(code_marks)
