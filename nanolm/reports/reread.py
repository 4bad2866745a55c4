"""Whether recorded outputs give the verdicts beside them: a seeded draw of each benchmark is read again."""

import hashlib
from collections import Counter
from collections.abc import Mapping

import msgspec

from nanolm.answers import math_expression
from nanolm.editions.edition import Edition
from nanolm.entries.entry import Entry
from nanolm.errors import ScoreError
from nanolm.reports.run_folder import RunFolder
from nanolm.reports.viewer import ItemsOf, VerdictsOf
from nanolm.schema import Answer, Item, Output, Verdict
from nanolm.verdicts import file, versions
from nanolm.verdicts.file import VerdictLine
from nanolm.verdicts.reading import read

MOST = 8_000
"""Outputs of a benchmark that are read again, of each run: all of a small benchmark, a share of a large one."""
_SPAN = 1 << 64



class Evidence(msgspec.Struct):
    """What was read again, over all runs."""

    outputs: int = 0
    """Outputs that have a verdict."""
    read: int = 0
    judged: int = 0
    """Of those read, whose verdict reading settles; of the others only what was read is known."""
    without_items: dict[str, None] = msgspec.field(default_factory=dict)
    """Benchmarks whose items are not at hand."""
    without_entry: dict[str, None] = msgspec.field(default_factory=dict)
    """Runs that nobody knows the entry of."""
    rules: tuple[str, ...] = ()
    """Rules that are others here than those the edition pins: then nothing is read again."""
    lacking: dict[str, str] = msgspec.field(default_factory=dict)
    """By run: how many of the outputs that verdicts are on lie there; only where some don't."""

    def told(self) -> list[str]:
        """Sentences for the page, and for who builds it."""
        if self.rules:
            return [f"No output was read again: {'; '.join(self.rules)}."]
        said = [
            f"{self.read:,} of {self.outputs:,} outputs were read again (at most {MOST:,} of a benchmark and "
            f"run, drawn by the SHA-256 of its verdicts) and gave the verdicts beside them. "
        ]
        if self.judged < self.read:
            said[0] += (
                f"{self.read - self.judged:,} of them are answers in mathematics or programs: that they were "
                "read so is checked, not that they are right; `nanolm rescore` judges them."
            )
        if self.without_items:
            said.append(
                f"Outputs on {', '.join(self.without_items)} were not read again: their items are not at hand "
                "(nanolm fetch)."
            )
        if self.without_entry:
            said.append(
                f"Outputs of {', '.join(self.without_entry)} were not read again: run.json has no entry."
            )
        return [one.strip() for one in said]


class Rereader:
    """Reads outputs again as they pass by, run after run.

    `start` a run, give it all its `output`s, `end` it. Raises `ScoreError` for a verdict that an output does
    not give, and for tokens that are not those of the outputs.
    """

    def __init__(self, edition: Edition, items_of: ItemsOf) -> None:
        self.evidence = Evidence(rules=tuple(versions.other_rules(edition.extractors)))
        self._edition, self._items_of = edition, items_of
        self._known: dict[str, Mapping[str, Item] | None] = {}

    def start(self, run: RunFolder, lines: VerdictsOf) -> None:
        """A run, and the verdicts it has."""
        self._run = run
        self._of = {slug: sum(map(len, by_item.values())) for slug, by_item in lines.items()}
        self._seen: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._entries = _entries(run)
        self._seed = hashlib.sha256((run.path / file.FILE).read_bytes()).digest()

    def output(self, output: Output, line: VerdictLine) -> None:
        """One output and the verdict on it; each output once."""
        self._seen[output.benchmark] += 1
        self._tokens[output.benchmark] += output.output_tokens
        if line.correct != (line.reason is None):
            raise self._refused(line, f"correct {line.correct} with the reason {line.reason}")
        if self.evidence.rules or not self._drawn(output):
            return
        item = self._item(output)
        entry = self._entry(output)
        if item is None or entry is None:
            return
        found = read(item, output, entry.reasoning, entry.end_markers)
        self.evidence.read += 1
        if isinstance(found, Verdict):
            self.evidence.judged += 1
            wanted = file.line(output, found)
        else:
            wanted = _as_read(line, found, item)
        if not _same(line, wanted):
            raise self._refused(line, f"the output gives {_words(wanted)}, the verdict says {_words(line)}")

    def end(self) -> None:
        """The run is over: what its verdicts and its score say of the outputs as a whole."""
        run = self._run
        self.evidence.outputs += self._seen.total()
        if self._seen.total() < sum(self._of.values()):
            held = f"{self._seen.total():,} of the {sum(self._of.values()):,} outputs that verdicts are on"
            self.evidence.lacking[run.name] = held
            return
        for slug, count in self._seen.items():
            told = run.score.benchmarks.get(slug)
            mean = self._tokens[slug] / count
            whole = told is not None and count == told.items * run.score.samples
            if run.score.complete and told and whole and abs(told.mean_output_tokens - mean) > 1e-6:
                raise ScoreError(
                    f"{run.path / 'score.json'} says {told.mean_output_tokens:.3f} mean output tokens on "
                    f"{slug}, the outputs have {mean:.3f}. Run `nanolm rescore` on this entry"
                )

    def _drawn(self, output: Output) -> bool:
        of = self._of[output.benchmark]
        if of <= MOST:
            return True
        key = f"{output.benchmark}/{output.item}/{output.sample}".encode("utf-8", "surrogatepass")
        place = hashlib.blake2b(key, key=self._seed, digest_size=8).digest()
        return int.from_bytes(place, "big") < MOST * _SPAN // of

    def _item(self, output: Output) -> Item | None:
        slug = output.benchmark
        if slug not in self._known:
            found = self._items_of(slug)
            self._known[slug] = {item.id: item for item in found.items} if found and found.items else None
        of = self._known[slug]
        if of is None:
            self.evidence.without_items[slug] = None
            return None
        if output.item not in of:
            raise ScoreError(
                f"{self._run.path / file.FILE} has a verdict on item {output.item!r} of {slug}, which edition "
                f"{self._edition.name} does not have. Run `nanolm rescore` on this entry"
            )
        return of[output.item]

    def _entry(self, output: Output) -> Entry | None:
        for entry in self._entries:
            if entry.digest == output.entry:
                return entry
        self.evidence.without_entry[self._run.name] = None
        return None

    def _refused(self, line: VerdictLine, why: str) -> ScoreError:
        return ScoreError(
            f"{self._run.path / file.FILE} is not what the outputs beside it give: {line.benchmark} "
            f"{line.item} sample {line.sample}: {why}. Run `nanolm rescore` on this entry"
        )


def _entries(run: RunFolder) -> list[Entry]:
    """Who may have answered: the edition's entry of that name, and the one that the run wrote down."""
    found = [run.entry] if run.entry else []
    try:
        found.append(msgspec.convert(run.run.get("entry"), Entry))
    except msgspec.ValidationError:
        pass
    return found


def _as_read(line: VerdictLine, found: Answer, item: Item) -> VerdictLine:
    """The verdict with what was read; who judges it is not asked again, unless it needs no judge."""
    equal = item.answer_type == "math_expression" and (
        math_expression.passed_on(found.value) == math_expression.passed_on(item.gold)
    )
    told = line.reason if line.reason in (None, "wrong", "error") else "wrong"
    reason = None if equal else told
    return msgspec.structs.replace(
        line, correct=reason is None, reason=reason, rule=found.rule, answer=found.value, span=found.span
    )


def _same(line: VerdictLine, wanted: VerdictLine) -> bool:
    """But for `detail`: it tells of times."""
    if (line.correct, line.reason, line.rule, line.span) != (
        wanted.correct, wanted.reason, wanted.rule, wanted.span,
    ):  # fmt: skip
        return False
    return bool(line.answer == wanted.answer) or line.answer == file.as_written(wanted).answer


def _words(line: VerdictLine) -> str:
    answer = "" if line.answer is None else f" {str(line.answer)[:60]!r}"
    span = "" if line.span is None else f" at {line.span[0]}"
    return f"{line.reason or 'correct'} by {line.rule or 'no rule'}{answer}{span}"
