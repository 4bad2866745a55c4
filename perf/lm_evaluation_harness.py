"""Our log-likelihoods beside lm-evaluation-harness's (its own task definitions, hf backend), in one process:
same model folder, same items, float32 on a processor.

    python perf/lm_evaluation_harness.py MODEL --data DIR [--items 500] [--tasks arc_easy,piqa] [--json FILE]

DIR holds the sources as `nanolm fetch --from` takes them (and `nanolm fetch` must have taken them). Printed
for each task: accuracies of both, the items on which they differ (ties apart), the largest difference of an
option's log-likelihood in nats, and how many items a second each reads, by wall and by processor time. Where
log-likelihoods differ by more than 1e-3, the same model in float64 says how far each is off. Then bits per
byte of one text, each by its own rolling windows. Exit status 1 when accuracies differ, bits per byte do (by
1e-4), or log-likelihoods do and ours is not the one that float64 confirms.

Needs `pip install lm_eval==0.4.13` beside nanolm[transformers].
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nanolm.schema import Alternative

WINDOW = 1024
"""Tokens that a window of a text reads, on both sides."""
BAR = 1e-3
"""Nats by which an option's log-likelihoods may differ."""
BLIMP = ("anaphor_gender_agreement", "determiner_noun_agreement_1", "passive_1", "npi_present_1",
         "wh_island")  # fmt: skip
# task -> (slug for acc, slug for acc_norm, source file, lm-evaluation-harness's own definition)
TASKS = {
    "arc_easy": ("arc-easy-text", "arc-easy-text-norm", "arc/arc-easy-test.json", "arc/arc_easy.yaml"),
    "piqa": ("piqa", "piqa-norm", "piqa/validation.jsonl", "piqa/piqa.yaml"),
    "hellaswag": ("hellaswag", "hellaswag-norm", "hellaswag/validation.jsonl", "hellaswag/hellaswag.yaml"),
    "sciq": ("sciq", "sciq-norm", "sciq/validation.jsonl", "sciq/sciq.yaml"),
    "winogrande": ("winogrande", "", "winogrande/xl-validation.jsonl", "winogrande/default.yaml"),
}
TASKS |= {f"blimp_{name}": ("blimp", "", f"blimp/{name}.jsonl", f"blimp/{name}.yaml") for name in BLIMP}


class Side(msgspec.Struct):
    """What one of the two found: per item the options' log-likelihoods and whether acc and acc_norm hold."""

    loglikelihoods: list[list[float]]
    right: list[bool]
    right_norm: list[bool]
    wall: float
    processor: float
    alternatives: list[tuple[Alternative, ...]] = []
    """The tokens of each option, of ours."""


def rows(task: str, data: Path, count: int) -> list[dict[str, Any]]:
    """The first rows in the fields that the harness's definition reads."""
    path = data / TASKS[task][2]
    if path.suffix == ".json":
        found = json.loads(path.read_text("utf-8"))
        letters = "ABCDEFGH"
        return [
            {
                "question": row["question"],
                "choices": {"text": row["choices"], "label": list(letters[: len(row["choices"])])},
                "answerKey": letters[row["gold"]],
            }
            for row in found[:count]
        ]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[:count]]


def definitions(folder: Path, data: Path, tasks: list[str], count: int, text: Path) -> None:
    """Tasks that include the harness's own and read local files."""
    import lm_eval.tasks

    own = Path(lm_eval.tasks.__file__).parent
    for task in tasks:
        file = folder / f"{task}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows(task, data, count)), "utf-8")
        write_task(folder, f"ours_{task}", f"include: {own / TASKS[task][3]}\n", file)
    page = folder / "page.jsonl"
    page.write_text(json.dumps({"page": text.read_text("utf-8")}) + "\n", "utf-8")
    rolling = (
        'output_type: loglikelihood_rolling\ndoc_to_text: ""\ndoc_to_target: "{{page}}"\n'
        "metric_list:\n  - metric: bits_per_byte\n"
    )
    write_task(folder, "ours_text", rolling, page)


def write_task(folder: Path, name: str, body: str, file: Path) -> None:
    """One YAML definition: `body`, read from a local file as its only split."""
    (folder / f"{name}.yaml").write_text(
        f"{body}task: {name}\ntag: null\ndataset_path: json\ndataset_name: null\n"
        f"dataset_kwargs:\n  data_files:\n    test: {file}\n"
        "training_split: null\nvalidation_split: null\ntest_split: test\n"
    )


class Harness:
    """lm-evaluation-harness with the model loaded."""

    def __init__(self, model: str, folder: Path, threads: int) -> None:
        import torch
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager

        torch.set_num_threads(threads)
        self.model = HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=16, max_length=WINDOW)
        self.tasks = TaskManager(include_path=str(folder))
        self.seconds = (0.0, 0.0)
        for name in ("loglikelihood", "loglikelihood_rolling"):
            setattr(self.model, name, self._timed(getattr(self.model, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            wall, processor = time.perf_counter(), time.process_time()
            found = method(*arguments, **named)
            self.seconds = (time.perf_counter() - wall, time.process_time() - processor)
            return found

        return call

    def run(self, name: str) -> dict[str, Any]:
        """A task's result with its samples."""
        import lm_eval

        found: dict[str, Any] = lm_eval.simple_evaluate(
            self.model, tasks=[f"ours_{name}"], task_manager=self.tasks, bootstrap_iters=0, log_samples=True,
            verbosity="ERROR",
        )  # fmt: skip
        return found

    def side(self, task: str) -> Side:
        """Of a multiple-choice task."""
        samples = sorted(self.run(task)["samples"][f"ours_{task}"], key=lambda sample: sample["doc_id"])
        return Side(
            [[option[0][0] for option in sample["resps"]] for sample in samples],
            [sample["acc"] == 1.0 for sample in samples],
            [sample.get("acc_norm") == 1.0 for sample in samples],
            *self.seconds,
        )


class Ours:
    """nanolm: requests made, scored and judged as a run does, with the model loaded."""

    def __init__(self, model: str, threads: int) -> None:
        from nanolm import editions, entries
        from nanolm.engines.transformers import TransformersEngine
        from nanolm.entries.pairs import pair_encoder
        from nanolm.run import Suite

        self.edition = editions.load("slm-specs")
        self.entry = entries.resolve(model, self.edition)
        self.suite = Suite(self.edition)
        self.encoder = pair_encoder(self.entry)
        self.engine = TransformersEngine(model, context=self.entry.context, threads=threads)
        self.engine.reader  # noqa: B018 loads the model, before the clock runs

    def side(self, task: str, count: int) -> Side:
        """The same items in the same order."""
        from nanolm import answers
        from nanolm.run import likelihood

        slug, normed, file, _ = TASKS[task]
        ids = self.suite.ids(slug)
        if slug == "blimp":
            name = Path(file).stem
            ids = tuple(one for one in ids if self.suite.item(slug, one).group == name)
        ids = ids[:count]
        wall, processor = time.perf_counter(), time.process_time()
        keys = [(slug, one, 0) for one in ids]
        asked = [one for one, _ in likelihood.requests(self.suite, self.entry, self.encoder, slug, keys)]
        texts = {one.request.item: one.text for one in likelihood.once(self.engine, asked)}
        seconds = time.perf_counter() - wall, time.process_time() - processor

        def judged(benchmark: str) -> Iterator[bool]:
            module = answers.get("likeliest")
            for one in ids:
                item = self.suite.item(benchmark, one)
                yield module.judge(module.extract(texts[one], item), item).correct

        return Side(
            [json.loads(texts[one])["loglikelihoods"] for one in ids],
            list(judged(slug)),
            list(judged(normed)) if normed else [],
            *seconds,
            [one.alternatives for one in asked],
        )


class Float64:
    """The same model in double precision, one text at a time; loaded when something needs it."""

    def __init__(self, model: str) -> None:
        self.path = model
        self.model: Any = None

    def loglikelihood(self, one: Alternative) -> float:
        """Of one option."""
        import torch
        from transformers import AutoModelForCausalLM

        if self.model is None:
            self.model = AutoModelForCausalLM.from_pretrained(self.path, dtype=torch.float64).eval()
        with torch.inference_mode():
            chances = self.model(input_ids=torch.tensor([one.ids]), use_cache=False).logits[0].log_softmax(-1)
        return sum(float(chances[at - 1, one.ids[at]]) for at in range(one.start, len(one.ids)))


def compare(task: str, ours: Side, theirs: Side, exact: Float64) -> dict[str, Any]:
    """One line of the table."""
    pairs = list(zip(ours.loglikelihoods, theirs.loglikelihoods, strict=True))
    # BLiMP's and SciQ's options stand in another order there: the same values, whatever the order
    options = [
        (abs(mine[place] - other), item, place, other)
        for item, (mine, others) in enumerate(pairs)
        for place, other in zip(by_size(mine), sorted(others), strict=True)
    ]
    beyond = []
    for difference, item, place, other in options:
        if difference >= BAR:
            true = exact.loglikelihood(ours.alternatives[item][place])
            mine = ours.loglikelihoods[item][place]
            beyond.append({"item": item, "ours": abs(mine - true), "theirs": abs(other - true)})
    count = len(pairs)
    # BLiMP has pairs of twice the same sentence: here the first in hash order wins, there the good one
    ties = {place for place, mine in enumerate(ours.loglikelihoods) if len(set(mine)) < len(mine)}
    differ = [place for place, (a, b) in enumerate(zip(ours.right, theirs.right, strict=True)) if a != b]
    return {
        "task": task,
        "items": count,
        "acc": sum(ours.right) / count,
        "acc_theirs": sum(theirs.right) / count,
        "acc_norm": sum(ours.right_norm) / count if ours.right_norm else None,
        "acc_norm_theirs": sum(theirs.right_norm) / count if ours.right_norm else None,
        "items_that_differ": [place for place in differ if place not in ties],
        "ties_that_differ": [place for place in differ if place in ties],
        "largest_difference": max(options)[0],
        "beyond": len(beyond),
        "of_options": len(options),
        "beyond_ours_from_float64": max((one["ours"] for one in beyond), default=None),
        "beyond_theirs_from_float64": max((one["theirs"] for one in beyond), default=None),
        "items_per_second": count / ours.wall,
        "items_per_second_theirs": count / theirs.wall,
        "speed": theirs.wall / ours.wall,
        "speed_by_processor_time": theirs.processor / ours.processor,
    }


def by_size(values: list[float]) -> list[int]:
    """Places of the values from the least to the greatest."""
    return sorted(range(len(values)), key=values.__getitem__)


def perplexity(ours: Ours, harness: Harness, text: Path) -> dict[str, Any]:
    """Bits per byte of one text by the rolling windows of both."""
    from nanolm.entries import artefacts, tokens
    from nanolm.run import perplexity as measured

    words = text.read_text("utf-8")
    tokenizer = tokens.load(artefacts.of(ours.entry))
    read = measured.read_text(text.name, words, tokenizer, ours.encoder.ids(words))
    wall = time.perf_counter()
    under = measured.conditions(read, ours.entry, ours.engine, ours.encoder.opening, WINDOW, WINDOW)
    with tempfile.TemporaryDirectory() as folder:
        sums, _ = measured.measure(
            read, under, ours.engine, Path(folder) / "windows", lambda done, total: None
        )
    found = -math.fsum(sums) / read.bytes / math.log(2)
    seconds = time.perf_counter() - wall
    theirs = harness.run("text")["results"]["ours_text"]["bits_per_byte,none"]
    return {
        "task": f"bits per byte of {text.name}",
        "tokens": len(read.ids),
        "ours": found,
        "theirs": theirs,
        "difference": abs(found - theirs),
        "speed": harness.seconds[0] / seconds,
    }


def main() -> None:
    """Compare, print, and fail where the two disagree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--text-bytes", type=int, default=60_000, help="Of WikiText-2's test; 0 for none.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    tasks = chosen.tasks.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        text = folder / "text"
        raw = (chosen.data / "wikitext-2/wiki.test.raw").read_bytes()[: chosen.text_bytes or 1000]
        text.write_text(raw.decode("utf-8", "ignore").strip(), "utf-8")
        definitions(folder, chosen.data, tasks, chosen.items, text)
        ours, harness = Ours(chosen.model, chosen.threads), Harness(chosen.model, folder, chosen.threads)
        exact = Float64(chosen.model)
        lines = []
        for task in tasks:
            lines.append(compare(task, ours.side(task, chosen.items), harness.side(task), exact))
            print(json.dumps(lines[-1]), flush=True)
        if chosen.text_bytes:
            lines.append(perplexity(ours, harness, text))
            print(json.dumps(lines[-1]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(lines, indent=2) + "\n")
    sys.exit(int(not all(map(agrees, lines))))


def agrees(line: dict[str, Any]) -> bool:
    """Whether a line of the table is within its bars."""
    if "difference" in line:
        return bool(line["difference"] < 1e-4)
    same = not line["items_that_differ"] and line["acc_norm"] == line["acc_norm_theirs"]
    return bool(same and (line["beyond_ours_from_float64"] or 0.0) < BAR)


if __name__ == "__main__":
    main()
