"""`nanolm fetch && nanolm edition lock`: what a maintainer with hub access does, against a local hub.

The suite, sources, paths and revisions are nano-lm-v1's; the rows are written here in the official layouts:
Parquet (MMLU-CF, ARC-Easy, GSM8K-Platinum), TSV (Global PIQA), JSON lines (When2Call).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanolm import editions
from nanolm.editions import exclusions
from nanolm.editions.datasheet import not_publishable_because
from nanolm.editions.frozen import read_frozen
from nanolm.sources.lock import read_lock
from tests_protocol.entries.conftest import Write, model
from tests_protocol.sources.conftest import jsonl, parquet, sha256
from tests_protocol.sources.server import FileServer

__all__ = ["model"]  # the fixture

V1 = Path(editions.__file__).parent / "nano_lm_v1"
COUNTS = {"mmlu-cf": 60, "arc-easy": 30, "global-piqa": 24, "gsm8k-platinum": 9, "when2call": 40}
CHANCE = {"mmlu-cf": 0.35, "arc-easy": 0.3, "global-piqa": 0.4167, "gsm8k-platinum": 0.0, "when2call": 0.325}
GOLDS = "ABCD"

MMLU = [
    {
        "Question": f"{n} + 1?",
        **{letter: str(n + at) for at, letter in enumerate(GOLDS)},
        "Answer": GOLDS[n % 4],
    }
    for n in range(COUNTS["mmlu-cf"])
]
ARC = [
    {
        "id": f"ARC_{n}",
        "question": f"Which is {n}?",
        "choices": {"text": ["w", "x", "y", "z"], "label": ["1", "2", "3", "4"] if n % 2 else list(GOLDS)},
        "answerKey": str(n % 4 + 1) if n % 2 else GOLDS[n % 4],
    }
    for n in range(COUNTS["arc-easy"])
]
GSM = [{"question": f"{n} + 1?", "answer": f"So.\n#### {n + 1}"} for n in range(COUNTS["gsm8k-platinum"])]
LONG = "a long story " * 400
CALLS = [
    {
        "uuid": f"u-{n}",
        "source": "own",
        "question": LONG if n == 7 else f"Do {n}.",
        "tools": [] if n % 3 else ['{"name": "f", "parameters": {}}'],
        "answers": {"direct": "d", "tool_call": "t", "request_for_info": "r", "cannot_answer": "c"},
        "correct_answer": ("tool_call", "request_for_info", "cannot_answer")[n % 3],
    }
    for n in range(COUNTS["when2call"] + 1)
]


def tsv(options: int, count: int) -> bytes:
    """Global PIQA's columns: prompt, solution0 and on, label, and others."""
    head = ["prompt", *(f"solution{at}" for at in range(options)), "label", "language", "example_id"]
    rows = [
        [f"To do {n},", *(f"way {at}." for at in range(options)), str(n % options), "eng_latn", f"e{n}"]
        for n in range(count)
    ]
    return "".join("\t".join(row) + "\n" for row in [head, *rows]).encode()


def rows_of(path: str) -> bytes:
    """The bytes at a path of the hub."""
    by_end = {
        "/val.parquet": parquet(MMLU),
        "/ARC-Easy/test-00000-of-00001.parquet": parquet(ARC),
        "/main/test-00000-of-00001.parquet": parquet(GSM),
        "/nonparallel_eng_latn.tsv": tsv(2, 12),
        "/parallel_eng_latn.tsv": tsv(4, 12),
        "/when2call_test_mcq.jsonl": jsonl(CALLS),
    }
    return next(data for end, data in by_end.items() if f"/{path}".endswith(end))


def own_edition(place: Path) -> Path:
    """Nano LM Index V1's five hub benchmarks as an edition of its own, without what V1 has frozen."""
    place.mkdir()
    head, *tables = (V1 / "edition.toml").read_text("utf-8").split("[benchmark.")
    text = head.replace('name = "nano-lm-v1"', 'name = "own"')
    for table in tables:
        slug, _, rest = table.partition("]")
        if slug in COUNTS:
            rest = re.sub(r"(?m)^items = .*$", f"items = {COUNTS[slug]}", rest)
            rest = re.sub(r"(?m)^published_chance = .*$", f"published_chance = {CHANCE[slug]}", rest)
            rest = re.sub(r"(?m)^data_verified = false\n", "", rest)
            text += f"[benchmark.{slug}]\ndata_verified = false  # until it was downloaded{rest}"
    (place / "edition.toml").write_text(text, "utf-8")
    lines = ["# Of V1, nothing seen yet."]
    for source in read_lock(V1 / "sources.lock.toml").sources.values():
        if source.kind == "hub" and source.name != "math-500":
            lines += [f"[source.{source.name}]", 'kind = "hub"', f'repository = "{source.repository}"']
            lines += [f'revision = "{source.revision}"']
            for file in source.file:
                known = sha256(rows_of(file.path)) if source.name == "when2call" else "unverified"
                lines += [f"[[source.{source.name}.file]]", f'path = "{file.path}"', f'sha256 = "{known}"']
    (place / "sources.lock.toml").write_text("\n".join(lines) + "\n", "utf-8")
    rule = '[rule.prompt-too-long]\nsays = "The prompt is too long"\nitems = 1\nverified = false\n'
    (place / "exclusions.toml").write_text(rule, "utf-8")
    return place


@pytest.fixture
def hub() -> Iterator[FileServer]:
    running = FileServer()
    for source in read_lock(V1 / "sources.lock.toml").sources.values():
        for file in source.file if source.kind == "hub" and source.name != "math-500" else ():
            address = f"/datasets/{source.repository}/resolve/{source.revision}/{file.path}"
            running.files[address] = rows_of(file.path)
    yield running
    running.shutdown()
    running.server_close()


Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def nanolm(hub: FileServer, tmp_path: Path) -> Shell:
    """Runs the command as a maintainer does, with nothing but the local hub to reach."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(tmp_path / "hf"),
        "COLUMNS": "100",
    }
    environment |= {"NANOLM_CACHE": str(tmp_path / "cache"), "NO_PROXY": "127.0.0.1", "HF_TOKEN": ""}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = "import sys; from nanolm.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def add_entry(nanolm: Shell, place: Path, folder: Path) -> None:
    """An eligible entry whose tokenizer counts a token a byte."""
    (place / "entries").mkdir()
    added = nanolm("entry", "add", str(folder), "--to", str(place / "entries"), "--edition", str(place))
    assert added.returncode == 0, added.stderr


def test_an_edition_is_completed_from_the_hub(nanolm: Shell, model: Write, tmp_path: Path) -> None:
    place = own_edition(tmp_path / "own")
    add_entry(nanolm, place, model("tiny-model"))
    fetched = nanolm("fetch", "--edition", str(place))
    # One item more than the edition says, until the over-long one is found: no error, so that `&&` goes on.
    assert (fetched.returncode, fetched.stderr.strip()) == (0, "")
    assert "when2call: 1 more than the edition says: over-long items are found by `nanolm edition" in (
        fetched.stdout
    )
    locked = nanolm("edition", "lock", str(place))
    assert locked.returncode == 0, locked.stderr
    assert "Frozen: mmlu-cf, arc-easy, global-piqa, gsm8k-platinum, when2call" in locked.stdout
    assert locked.stdout.count("Sum filled in: ") == 5
    assert "Over-long items of when2call, left out from now on: u-7 (tiny-model)" in locked.stdout
    assert "Data verified: mmlu-cf, arc-easy, global-piqa, gsm8k-platinum, when2call" in locked.stdout
    sums = {
        file.path: file.sha256
        for source in read_lock(place / "sources.lock.toml").sources.values()
        for file in source.file
    }
    assert sums == {path: sha256(rows_of(path)) for path in sums}
    frozen = read_frozen(place)
    assert frozen is not None
    assert {slug: each.items for slug, each in frozen.benchmarks.items()} == COUNTS
    assert exclusions.read(place).of("when2call") == {"u-7": "prompt-too-long"}
    assert not_publishable_because(editions.load(place)) == ()
    again = nanolm("fetch", "--edition", str(place))
    assert (again.returncode, again.stderr) == (0, "")
    before = {path.name: path.read_bytes() for path in place.glob("*.*")}
    assert nanolm("edition", "lock", str(place)).returncode == 0
    assert {path.name: path.read_bytes() for path in place.glob("*.*")} == before
    checked = nanolm("edition", "lock", str(place), "--check")
    assert (checked.returncode, checked.stdout.count("\n")) == (0, 1)
    shown = json.loads(nanolm("edition", "show", str(place), "--json").stdout)
    assert (shown["publishable"], shown["benchmarks"]["global-piqa"]["data_verified"]) == (True, True)


def test_without_the_tokenizers_only_that_benchmark_stays_open(
    nanolm: Shell, model: Write, tmp_path: Path
) -> None:
    place = own_edition(tmp_path / "own")
    add_entry(nanolm, place, model("tiny-model"))
    (tmp_path / "tiny-model" / "tokenizer.json").unlink()
    nanolm("fetch", "--edition", str(place))
    locked = nanolm("edition", "lock", str(place))
    assert locked.returncode == 0, locked.stderr
    assert "Not frozen: when2call: its over-long items need every eligible tokenizer: " in locked.stdout
    assert "Frozen: mmlu-cf, arc-easy, global-piqa, gsm8k-platinum\n" in locked.stdout
    # Bytes that the lock pins were seen, the benchmark is open all the same.
    assert not_publishable_because(editions.load(place))[-1] == "not frozen yet: when2call"
    assert "verified = false" in (place / "exclusions.toml").read_text("utf-8")


def test_an_unexpected_number_of_over_long_items_is_told(nanolm: Shell, model: Write, tmp_path: Path) -> None:
    place = own_edition(tmp_path / "own")
    add_entry(nanolm, place, model("tiny-model"))
    text = (place / "exclusions.toml").read_text("utf-8")
    (place / "exclusions.toml").write_text(text.replace("items = 1", "items = 2"), "utf-8")
    nanolm("fetch", "--edition", str(place), "when2call")
    locked = nanolm("edition", "lock", str(place))
    expected = (
        "Not frozen: when2call: found 1 item over 4,096 tokens on 1 eligible tokenizer: u-7 (tiny-model); "
        "expected the 2 of the rule prompt-too-long"
    )
    assert expected in locked.stdout
    assert (place / "exclusions.toml").read_text("utf-8") == text.replace("items = 1", "items = 2")


def test_a_chance_level_far_from_the_published_one_is_told(nanolm: Shell, tmp_path: Path) -> None:
    place = own_edition(tmp_path / "own")
    text = (place / "edition.toml").read_text("utf-8")
    far = text.replace(f"published_chance = {CHANCE['arc-easy']}\n", "published_chance = 0.9\n")
    (place / "edition.toml").write_text(far, "utf-8")
    nanolm("fetch", "--edition", str(place), "arc-easy", "mmlu-cf")
    locked = nanolm("edition", "lock", str(place))
    assert "Data verified: mmlu-cf\n" in locked.stdout
    assert re.search(
        r"Data not verified: arc-easy: its chance level 0\.\d{4} is -0\.\d{4} from", locked.stdout
    )


def test_a_file_that_can_not_be_read_is_never_pinned(nanolm: Shell, hub: FileServer, tmp_path: Path) -> None:
    place = own_edition(tmp_path / "own")
    address = next(each for each in hub.files if each.endswith("val.parquet"))
    right, hub.files[address] = hub.files[address], b"<html>log in</html>"
    fetched = nanolm("fetch", "--edition", str(place), "mmlu-cf")
    assert fetched.returncode == 1
    assert "can't be read as Parquet" in fetched.stderr
    assert "`nanolm fetch --again` downloads it anew" in fetched.stderr
    before = (place / "sources.lock.toml").read_bytes()
    assert "Sum filled in" not in nanolm("edition", "lock", str(place)).stdout
    assert (place / "sources.lock.toml").read_bytes() == before
    hub.files[address] = right
    assert nanolm("fetch", "--edition", str(place), "mmlu-cf").returncode == 1
    assert nanolm("fetch", "--edition", str(place), "--again", "mmlu-cf").returncode == 0
