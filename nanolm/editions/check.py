"""What an edition's tables must hold beyond their shape; an `EditionError` names file, table and key."""

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions import known, prompt
from nanolm.editions.edition import BenchmarkSpec, Corpus
from nanolm.editions.edition_file import DecodingTable, EditionFile
from nanolm.errors import EditionError, UsageError, unknown
from nanolm.rules import VERSIONS
from nanolm.schema import Decoding
from nanolm.sources import faults, tables
from nanolm.sources.lock import SourcesLock

LONGEST_NAME = 100
"""Letters of an edition's name and of a slug: they become names of files."""
LONGEST_OF_FILE = 2 * LONGEST_NAME + 10
"""Letters of the name that `--items` makes: the edition's, the file's and 8 hex digits."""
MOST_SAMPLES = 255
"""The right samples of an item are counted in a byte."""
MOST_TOKENS = 2**31 - 1
MOST_PARAMETERS = 2**63 - 1

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")
"""An edition's: a folder of reports, too."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
_RULES_VERSION = re.compile(r"[1-9][0-9]*")


def require(holds: bool, path: Path, text: str) -> None:
    """Raise the `EditionError` unless it holds."""
    if not holds:
        raise EditionError(f"{path}: {text}")


def named(kind: str, name: str, allowed: Collection[str], path: Path, where: str = "") -> None:
    """Raise an `EditionError` that names close matches for a name that is not among the allowed ones."""
    if name not in allowed:
        raise _unknown(unknown(kind, name, allowed), path, where)


def _unknown(error: UsageError, path: Path, where: str) -> EditionError:
    return EditionError(f"{path}: {f'[{where}] ' if where else ''}{error}")


def name(found: str, path: Path, taken: Collection[str], longest: int = LONGEST_NAME) -> None:
    """An edition's name: fit for a folder, and not one of `taken`, the package's own."""
    require(
        bool(_NAME.fullmatch(found)) and len(found) <= longest,
        path,
        f"name = {faults.shown(found)}; expected at most {longest} lower-case letters and digits, in "
        "words with hyphens or dots, as in nano-lm-v1.0.1",
    )
    require(
        found not in taken,
        path,
        f"name = {found!r} is an edition that comes with nanolm, and its records would lie in the same "
        f"folder; expected a name of its own (taken: {', '.join(taken)})",
    )


def texts(table: Mapping[str, str], path: Path, where: str = "") -> None:
    """Each is one line that shows something; a summary may be empty."""
    place = f"[{where}] " if where else ""
    for key, text in table.items():
        shows = bool(text.strip() or key == "summary") and not _CONTROL.search(text)
        require(shows, path, f"{place}{key} = {faults.shown(text)}; expected one line of text")


def version(found: str, path: Path, key: str) -> None:
    """A version's text: no blanks."""
    require(bool(_VERSION.fullmatch(found)), path, f"{key} = {found!r}; expected a version, as in '1.0.0'")


def whole(read: EditionFile, path: Path) -> None:
    """All that a whole edition says outside its benchmarks."""
    texts({"title": read.title, "summary": read.summary, "index_title": read.index_title}, path)
    version(read.version, path, "version")
    for key, value, most in (
        ("budget", read.budget, MOST_TOKENS),
        ("prompt_limit", read.prompt_limit, MOST_TOKENS),
        ("parameter_limit", read.parameter_limit, MOST_PARAMETERS),
        ("[samples] sampled", read.samples.sampled, MOST_SAMPLES),
        ("[samples] greedy", read.samples.greedy, MOST_SAMPLES),
    ):
        require(1 <= value <= most, path, f"{key} = {value}; expected 1 to {most:,}")
    named("engine", read.engine.name, known.ENGINES, path, "engine")
    named("dtype", read.engine.dtype, known.DTYPES, path, "engine")
    version(read.engine.version, path, "[engine] version")
    extractors(read.extractors, path)
    for kind, text in read.instructions.items():
        require(bool(text.strip()), path, f"[instructions] {kind} is empty; expected what a reply must hold")
    _categories(read, path)


def _categories(read: EditionFile, path: Path) -> None:
    require(bool(read.categories), path, '[categories] is empty; expected lines of slug = "Title"')
    require(bool(read.benchmark), path, "there is no [benchmark.<slug>] table; expected one at least")
    for where, slugs in (("categories", read.categories), ("benchmark", read.benchmark)):
        for each in slugs:
            require(
                bool(_SLUG.fullmatch(each)) and len(each) <= LONGEST_NAME,
                path,
                f"[{where}] slug {faults.shown(each)}; expected at most {LONGEST_NAME} lower-case letters "
                "and digits, in words-with-hyphens",
            )
    texts(read.categories, path, "categories")
    first: dict[str, str] = {}
    for each, title in read.categories.items():
        same = first.setdefault(title, each)
        require(same == each, path, f"[categories] {same} and {each} have the same title {title!r}")


def extractors(found: Mapping[str, str], path: Path) -> None:
    """`[extractors]` pins versions of what exists: the project's rules, packages that decide a verdict."""
    for each, pinned in found.items():
        named("extractor", each, known.EXTRACTORS, path, "extractors")
        if each in VERSIONS:
            right = bool(_RULES_VERSION.fullmatch(pinned))
            expected = f"a whole number: the version of nanolm's rules for {each} (here: {VERSIONS[each]})"
        else:
            right, expected = bool(_VERSION.fullmatch(pinned)), f"a version of the package {each}"
        require(right, path, f"[extractors] {each} = {pinned!r}; expected {expected}")


def benchmark(
    slug: str, row: dict[str, Any], read: EditionFile, lock: SourcesLock, path: Path
) -> BenchmarkSpec:
    """The specification of a `[benchmark.<slug>]` table."""
    where = f"benchmark.{slug}"
    spec = tables.convert(row, BenchmarkSpec, path, where, slug=slug)
    texts({"title": spec.title, "split": spec.split, "licence": spec.licence}, path, where)
    named("category", spec.category, read.categories, path, where)
    require(spec.items > 0, path, f"[{where}] items = {spec.items}; expected at least 1")
    try:
        made = known.answer_type(spec.module)
    except UsageError as error:
        raise _unknown(error, path, where) from None
    require(
        made in (None, spec.answer_type),
        path,
        f"[{where}] answer_type = {spec.answer_type!r}; expected {made!r}, of which the module "
        f"{spec.module} makes items",
    )
    _sources(spec.sources, lock, path, where)
    _answers(spec, read, path, where)
    measured = known.metric(spec.answer_type, spec.normalisation)
    require(
        spec.metric == measured,
        path,
        f"[{where}] metric = {faults.shown(spec.metric)}; expected {measured!r}, by which answers of the "
        f"type {spec.answer_type} are measured",
    )
    chance = spec.published_chance
    require(
        chance is None or 0 <= chance < 1,
        path,
        f"[{where}] published_chance = {chance}; expected at least 0 and below 1",
    )
    return spec


def _sources(found: tuple[str, ...], lock: SourcesLock, path: Path, where: str) -> None:
    require(bool(found), path, f"[{where}] sources is empty; expected names of {lock.path.name}")
    for each in found:
        named(f"source of {lock.path.name}", each, lock.sources, path, where)
        require(
            lock[each].kind != "custom",
            lock.path,
            f"[source.{each}] kind = 'custom' is what --items writes; expected 'folder' for a file of yours",
        )
        require(found.count(each) == 1, path, f"[{where}] sources names {each!r} twice; expected each once")


def _answers(spec: BenchmarkSpec, read: EditionFile, path: Path, where: str) -> None:
    """What is asked fits the answer type: an instruction, places that exist, no key without effect."""
    likeliest = spec.answer_type == "likeliest"
    if likeliest:
        require(bool(spec.continuation), path, f"[{where}] continuation is empty; expected what is scored")
    else:
        require(
            spec.answer_type in read.instructions,
            path,
            f"[{where}] answer_type = {spec.answer_type!r} has no text in [instructions]",
        )
        for key, idle in (
            ("continuation", not spec.continuation),
            ("normalisation", spec.normalisation == "none"),
            ("clip", spec.clip is None),
        ):
            require(
                idle, path, f"[{where}] {key} is for answer_type 'likeliest' alone, not {spec.answer_type!r}"
            )
    clip = spec.clip
    require(clip is None or clip > 0, path, f"[{where}] clip = {clip}; expected at least 1 token")
    allowed = prompt.places_of(spec)
    for key, text in (("layout", spec.layout), ("continuation", spec.continuation)):
        for place in prompt.places_in(text):
            named(f"place in {key}", place, allowed, path, where)
    used = prompt.places_in(prompt.layout_of(spec))
    for key, text, place in (
        ("stem", spec.stem, "stem"),
        ("instruction", spec.instruction, "task"),
        ("instruction_addition", spec.instruction_addition, "instruction"),
    ):
        require(
            not text or place in used,
            path,
            f"[{where}] {key} would never be shown: its layout has no place {{{place}}}",
        )


def corpus(slug: str, row: dict[str, Any], lock: SourcesLock, path: Path) -> Corpus:
    """The corpus of a `[corpus.<slug>]` table."""
    where = f"corpus.{slug}"
    found = tables.convert(row, Corpus, path, where, slug=slug)
    named(f"source of {lock.path.name}", found.source, lock.sources, path, where)
    require(found.bytes > 0, path, f"[{where}] bytes = {found.bytes}; expected at least 1")
    return found


def decoding(read: DecodingTable | None, path: Path) -> Decoding | None:
    """The decoding that the edition prescribes, with values that mean something."""
    if read is None:
        return None
    for key, holds, expected in (
        ("temperature", 0 <= read.temperature < math.inf, "a number from 0, which is greedy"),
        ("top_p", 0 < read.top_p <= 1, "above 0 and at most 1"),
        ("top_k", read.top_k >= 0, "at least 0, which is off"),
        ("min_p", 0 <= read.min_p <= 1, "from 0 to 1"),
        ("repetition_penalty", 0 < read.repetition_penalty < math.inf, "a number above 0; 1 is off"),
    ):
        require(holds, path, f"[decoding] {key} = {getattr(read, key)}; expected {expected}")
    return Decoding(**msgspec.structs.asdict(read))
