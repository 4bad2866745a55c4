"""The suite table of protocol §3 from the data: items, chance levels, licences, pins, sources' states."""

import msgspec

from nanolm.editions import exclusions
from nanolm.editions.edition import BenchmarkSpec, Edition
from nanolm.editions.frozen import Frozen, read_frozen
from nanolm.editions.read import sources_of, suite_folder
from nanolm.errors import NanoLMError, counted
from nanolm.schema import Decoding
from nanolm.sources.files import State, states
from nanolm.sources.lock import Source, SourcesLock


class FileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a source."""

    path: str
    sha256: str
    """As pinned, or `unverified`."""
    state: State | str
    """On this machine; the error's text when that can't be said."""
    form: str = ""


class SourceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A source of a benchmark."""

    name: str
    kind: str
    repository: str
    revision: str
    licence_protocol: str
    licence_repository: str
    files: tuple[FileLine, ...]
    note: str = ""

    @property
    def state(self) -> str:
        """The files' states in short, e.g. `verified` or `6 verified, 1 missing`."""
        counts: dict[str, int] = {}
        for file in self.files:
            counts[file.state] = counts.get(file.state, 0) + 1
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{count} {state}" for state, count in counts.items())


class BenchmarkLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the suite table."""

    title: str
    category: str
    split: str
    answer_type: str
    metric: str
    items: int
    frozen_items: int | None
    """As counted when it was frozen; None: not frozen yet."""
    chance: float | None
    chance_rule: str | None
    published_chance: float | None
    difference: float | None
    licence: str
    """As the protocol states it (ruling 80)."""
    licence_repository: str
    """As the repositories' own files state it."""
    redistribute: bool
    data_verified: bool
    digest: str | None
    sources: tuple[SourceLine, ...]


class Datasheet(msgspec.Struct, frozen=True, kw_only=True):
    """What `nanolm edition show` prints; its JSON is part of the public contract."""

    name: str
    title: str
    version: str
    summary: str
    inherits: str | None
    digest: str
    budget: int
    prompt_limit: int
    samples: dict[str, int]
    decoding: Decoding | None
    """What the edition prescribes for every entry; None: each entry's own."""
    base_models: bool
    prompting: str
    engine: dict[str, str]
    extractors: dict[str, str]
    categories: dict[str, str]
    items: int
    publishable: bool
    not_publishable_because: tuple[str, ...]
    benchmarks: dict[str, BenchmarkLine]


def datasheet(edition: Edition) -> Datasheet:
    """All of it, from the edition's files and what is on this machine; builds nothing."""
    lock = sources_of(edition)
    frozen = read_frozen(suite_folder(edition))
    reasons = not_publishable_because(edition)
    return Datasheet(
        name=edition.name,
        title=edition.title,
        version=edition.version,
        summary=edition.summary,
        inherits=edition.inherits,
        digest=edition.digest,
        budget=edition.budget,
        prompt_limit=edition.prompt_limit,
        samples={"sampled": edition.samples_sampled, "greedy": edition.samples_greedy},
        decoding=edition.decoding,
        base_models=edition.base_models,
        prompting=edition.prompting,
        engine={"name": edition.engine, "version": edition.engine_version, "dtype": edition.dtype},
        extractors=dict(edition.extractors),
        categories={each.slug: each.title for each in edition.categories},
        items=sum(spec.items for spec in edition.benchmarks.values()),
        publishable=not reasons,
        not_publishable_because=reasons,
        benchmarks={slug: _line(spec, lock, frozen) for slug, spec in edition.benchmarks.items()},
    )


def not_publishable_because(edition: Edition) -> tuple[str, ...]:
    """Why scores on this edition can't be published yet; empty when they can.

    Every official sum must be known, and every benchmark's items frozen (principle 6).
    """
    lock = sources_of(edition)
    frozen = read_frozen(suite_folder(edition))
    used = {name for spec in edition.benchmarks.values() for name in spec.sources}
    unverified = [
        f"{source.name}: {file.path}"
        for source in lock.sources.values()
        if source.remote and source.name in used
        for file in source.file
        if not file.verified
    ]
    open_data = [slug for slug, spec in edition.benchmarks.items() if not spec.data_verified]
    not_frozen = [slug for slug in edition.benchmarks if frozen is None or slug not in frozen.benchmarks]
    reasons = [custom_items(edition)] if edition.custom_of else []
    if unverified:
        reasons.append(f"the official sum is not known of {', '.join(unverified)}")
    if open_data:
        reasons.append(f"data: not verified here: {', '.join(open_data)}")
    rules = exclusions.read(suite_folder(edition)).rules
    open_rules = [slug for slug, rule in rules.items() if not rule.verified]
    if open_rules:
        reasons.append(f"the excluded items are not found yet of the rules {', '.join(open_rules)}")
    if not_frozen and not edition.custom_of:
        reasons.append(f"not frozen yet: {', '.join(not_frozen)}")
    return tuple(reasons)


def custom_items(edition: Edition) -> str:
    """Why a run on a custom file's items is none on the edition; empty for the edition's own items."""
    return f"custom items, not those of {edition.custom_of}" if edition.custom_of else ""


def _line(spec: BenchmarkSpec, lock: SourcesLock, frozen: Frozen | None) -> BenchmarkLine:
    held = frozen.benchmarks.get(spec.slug) if frozen else None
    sources = tuple(_source(lock, lock[name]) for name in spec.sources)
    licences = dict.fromkeys(source.licence_repository or "not stated" for source in sources)
    return BenchmarkLine(
        title=spec.title,
        category=spec.category,
        split=spec.split,
        answer_type=spec.answer_type,
        metric=spec.metric,
        items=spec.items,
        frozen_items=held.items if held else None,
        chance=held.chance if held else None,
        chance_rule=held.chance_rule if held else None,
        published_chance=spec.published_chance,
        difference=held.difference if held else None,
        licence=spec.licence,
        licence_repository="; ".join(licences),
        redistribute=spec.redistribute,
        data_verified=spec.data_verified,
        digest=held.digest if held else None,
        sources=sources,
    )


def _source(lock: SourcesLock, source: Source) -> SourceLine:
    try:
        found = {each.path: (str(each.state), each.form) for each in states(lock, source.name)}
    except NanoLMError as error:
        found = {file.path: (str(error), "") for file in source.file}
    return SourceLine(
        name=source.name,
        kind=source.kind,
        repository=source.repository,
        revision=source.revision,
        licence_protocol=source.licence_protocol,
        licence_repository=source.licence_repository,
        files=tuple(
            FileLine(path=file.path, sha256=file.sha256, state=found[file.path][0], form=found[file.path][1])
            for file in source.file
        ),
        note=source.note,
    )


def markdown(sheet: Datasheet) -> str:
    """The suite table in Markdown, without anything that depends on this machine."""
    lines = [
        "| Category | Benchmark | Source and split | Items | Answer type | Metric | Chance | Rule | "
        "Published | Licence (protocol) | Licence (repository) | Pins |",
        "|---|---|---|---:|---|---|---:|---|---:|---|---|---|",
    ]
    for line in sheet.benchmarks.values():
        pins = ", ".join(
            dict.fromkeys(
                f"`{source.repository}`@`{source.revision[:12]}`" if source.repository else "this project"
                for source in line.sources
            )
        )
        cells = [
            *(sheet.categories[line.category], line.title, line.split, f"{line.items:,}"),
            *(
                line.answer_type.replace("_", " "),
                line.metric,
                level(line.chance),
                line.chance_rule or "not frozen",
            ),
            *(level(line.published_chance), line.licence, line.licence_repository, pins),
        ]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    total = f"{counted(sheet.items, 'item')} in {counted(len(sheet.benchmarks), 'benchmark')}"
    return "\n".join([*lines, "", f"{total}; edition {sheet.version}, digest `{sheet.digest}`."]) + "\n"


def level(value: float | None) -> str:
    """A chance level as the protocol writes it."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.4f}"
