"""Seconds, memory and size of a board at V1's size: entries × 33,485 items × 4 samples.

    python perf/board.py [--entries 2] [--folder FOLDER] [--browser]

Made-up outputs of about 1,000 characters, in the record's own format; prompts of 500. `--browser` opens the
pages in Chromium from the file system and times what a reader waits for.
"""

import argparse
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from bootstrap import SUITE, edition, results

from nanolm.entries.entry import Entry
from nanolm.reports.board import build
from nanolm.reports.viewer import BenchmarkItems, ShownItem
from nanolm.schema import Item
from nanolm.scoring import BenchmarkResult, entry_score, score_entry

DIGEST, TOKENS = "e" * 16, 250
WORDS = ["the", "number", "of", "apples", "is", "larger", "than", "it", "was", "<b>", "before", "\n"]


def write_run(folder: Path, name: str, ability: float, samples: int, seed: int) -> None:
    """A run folder with score.json, outputs.jsonl and verdicts.jsonl."""
    suite, draw = edition(), random.Random(seed)
    counts = {slug: _told(result) for slug, result in results(ability, samples, seed).items()}
    entry = Entry(
        name=name, title=name, artefact="transformers", samples=samples, parameters=350_000_000, digest=DIGEST
    )
    score = entry_score(
        suite,
        entry,
        score_entry(suite, counts),
        complete=True,
        engine={"name": "vllm", "version": "0.31.0"},
    )
    folder.mkdir(parents=True)
    (folder / "score.json").write_bytes(msgspec.json.encode(score))
    (folder / "run.json").write_bytes(msgspec.json.encode({"entry": msgspec.to_builtins(entry)}))
    texts = [" ".join(draw.choices(WORDS, k=200)) + f" Answer: {'CB'[n % 2]}" for n in range(1000)]
    ends = [
        json.dumps(
            {
                "seed": 1,
                "entry": DIGEST,
                "prompt_digest": "p" * 16,
                "rendered_digest": "r" * 16,
                "decoding": {"temperature": 0.7},
                "max_tokens": 32_768,
                "text": text,
                "finish_reason": "stop",
                "output_tokens": TOKENS,
            }
        )[1:]
        for text in texts
    ]
    with (folder / "outputs.jsonl").open("w") as outputs, (folder / "verdicts.jsonl").open("w") as verdicts:
        for slug, result in counts.items():
            for item, right in zip(result.items, result.correct.tolist(), strict=True):
                for sample in range(samples):
                    which = 2 * draw.randrange(len(texts) // 2) + int(sample < right)
                    key = f'{{"benchmark":"{slug}","item":"{item}","sample":{sample},'
                    outputs.write(f"{key}{ends[which]}\n")
                    reason = "null" if sample < right else '"wrong"'
                    end = len(texts[which])
                    verdicts.write(
                        f'{key}"correct":{str(sample < right).lower()},"reason":{reason},'
                        f'"answer":"{texts[which][-1]}","rule":"answer-line","span":[{end - 1},{end}]}}\n'
                    )


def _told(result: BenchmarkResult) -> BenchmarkResult:
    """With what the outputs and verdicts say of tokens and reasons."""
    wrong = result.samples * len(result.items) - int(result.correct.sum(dtype="int64"))
    return msgspec.structs.replace(result, mean_output_tokens=float(TOKENS), reasons={"wrong": wrong})


def items_of(slug: str) -> BenchmarkItems:
    """Items with prompts of 500 characters."""
    prompt = ("What comes next, and why? " * 20)[:500]
    options = ("is larger", "it was", "than it", "before")
    items = [
        Item(
            benchmark=slug,
            id=str(i),
            answer_type="letter",
            question=f"{i}: {prompt}",
            gold="B",
            options=options,
        )
        for i in range(SUITE[slug][1])
    ]
    shown = {item.id: ShownItem(item.question, item.question, "B", "") for item in items}
    return BenchmarkItems([item.id for item in items], shown, items)


def browse(site: Path) -> None:
    """Seconds until the board, an index, an item with all entries, and filters are on the screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)

        def timed(what: str, ready: str, act: object = None) -> None:
            start = time.perf_counter()
            act() if callable(act) else page.goto(f"file://{site}/{act}")
            page.wait_for_function(ready)
            print(f"  {what}: {time.perf_counter() - start:.2f} s")

        ended = "!/loading|searching/.test(document.getElementById('count').textContent)"
        timed("the board", "document.querySelector('#reading')", "board.html")
        address = "items.html#b=mmlu-cf&i=7777"
        timed("an item's address, all entries", "document.querySelectorAll('.column').length", address)
        item = "document.querySelector('.item-head h1').textContent.endsWith('7778')"
        timed("the next item", item, lambda: page.keyboard.press("j"))
        choose = page.select_option
        timed("a verdict filter on 10,000 items", ended, lambda: choose("#verdict", "disagree"))
        every = "document.getElementById('count').textContent.includes('33,485')"
        timed("all 33,485 items in one list", every, lambda: choose("#benchmark", "all"))
        timed("a search in them", ended, lambda: page.fill("#search", "777"))
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
        print(f"  memory of the page: {heap:.0f} MB")
        browser.close()


def main(entries: int, folder: Path, browser: bool) -> None:
    for k in range(entries):
        write_run(folder / "reports" / f"entry-{k}", f"entry-{k}", 0.1 + 0.05 * k, 4, k)
    suite = edition()
    cpu, wall = time.process_time(), time.perf_counter()
    built = build(folder / "reports", folder / "site", suite, items_of)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    files = [path for path in (folder / "site").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first = sum((folder / "site" / name).stat().st_size for name in ("board.html", "static/site.css"))
    print(
        f"{built.entries} entries, {built.items:,} items: {cpu:.1f} CPU s, {wall:.1f} s, peak {peak:.0f} MB; "
        f"{len(files):,} files, {size / 2**20:.0f} MB, first page {first / 1024:.0f} kB"
    )
    print(*built.evidence, sep="\n")
    sys.stdout.flush()
    if browser:
        browse(folder / "site")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    if options.folder:
        main(options.entries, options.folder, options.browser)
    else:
        with tempfile.TemporaryDirectory(prefix="nanolm-perf-") as temporary:
            main(options.entries, Path(temporary), options.browser)
