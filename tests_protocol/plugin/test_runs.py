"""Runs as a user starts them: `pytest tests_benchmarks` in a process of its own, on the mini edition."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests_protocol.engines import tiny_model

ROOT = Path(__file__).resolve().parents[2]
GGUF = "--entry=smollm2-135m-instruct-q4"
MATH = "tests_benchmarks/test_math_and_reasoning.py"


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    cache = ["-o", f"cache_dir={folder / 'cache'}"]  # not the project's own
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *cache, f"--reports-dir={folder}", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"COLUMNS": "120", "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": ""},
    )


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    process = start(folder, *arguments)
    try:
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out


def score(folder: Path, entry: str) -> dict:  # type: ignore[type-arg]
    return json.loads((folder / "mini" / entry / "score.json").read_text())  # type: ignore[no-any-return]


def names(folder: Path, entry: str) -> list[str]:
    root = ElementTree.parse(folder / "mini" / entry / "junit.xml").getroot()
    return [f"{case.get('classname')}::{case.get('name')}" for case in root.iter("testcase")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A whole run of the constant entry."""
    folder = tmp_path_factory.mktemp("whole")
    status, out = run(folder, "tests_benchmarks", "--entry=constant")
    assert status == 0, out
    return folder, out


def test_a_whole_run(whole: tuple[Path, str]) -> None:
    """Wrong answers are the measurement: exit status 0, no dots, no tracebacks, all files."""
    folder, out = whole
    found = score(folder, "constant")
    assert found["complete"] is True
    assert found["publishable"] is False
    assert {one["skill"] for one in found["benchmarks"].values()} == {0.0}
    assert len(names(folder, "constant")) == sum(one["items"] for one in found["benchmarks"].values())
    assert "Traceback" not in out
    assert len(out.splitlines()) < 45
    assert "F" * 5 not in out
    assert "Nano LM Index 0.00" in out
    lines = (folder / "mini" / "constant" / "outputs.jsonl").read_text().splitlines()
    assert len(lines) == len(names(folder, "constant"))
    about = json.loads((folder / "mini" / "constant" / "run.json").read_text())
    assert about["edition"]["digest"] == found["edition_digest"]
    assert about["partial"] is False


def test_junit_properties(whole: tuple[Path, str]) -> None:
    root = ElementTree.parse(whole[0] / "mini" / "constant" / "junit.xml").getroot()
    for case in root.iter("testcase"):
        found = {one.get("name"): one.get("value") for one in case.iter("property")}
        assert found.keys() >= {"benchmark", "item", "samples", "score", "reason", "answer", "gold"}
        failure = case.find("failure")
        assert (failure is None) == (found["score"] == "1.0")
        if failure is not None:
            assert (failure.text or "").startswith(("wrong: read", "unparseable: read"))


def test_two_workers_give_the_same_bytes_and_ids(whole: tuple[Path, str], tmp_path: Path) -> None:
    status, out = run(tmp_path, "tests_benchmarks", "--entry=constant", "-n2")
    assert status == 0, out
    for name in ("score.json", "verdicts.jsonl"):
        ours, theirs = (folder / "mini" / "constant" / name for folder in (tmp_path, whole[0]))
        assert ours.read_bytes() == theirs.read_bytes()
    assert names(tmp_path, "constant") == names(whole[0], "constant")


def test_verdicts_are_those_of_a_rescore(whole: tuple[Path, str], tmp_path: Path) -> None:
    ran = (whole[0] / "mini" / "constant" / "verdicts.jsonl").read_bytes()
    folder = tmp_path / "mini" / "constant"
    shutil.copytree(whole[0] / "mini" / "constant", folder)
    assert not list(folder.glob(".verdicts-*"))
    (folder / "verdicts.jsonl").unlink()
    said = subprocess.run(
        [
            sys.executable,
            "-m",
            "nanolm",
            "rescore",
            "constant",
            "--edition=mini",
            f"--reports-dir={tmp_path}",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert said.returncode == 0, said.stderr
    assert (folder / "verdicts.jsonl").read_bytes() == ran
    # a part of the edition judged anew leaves the verdicts on the rest
    status, out = run(tmp_path, MATH, "--entry=constant")
    assert status == 0, out
    assert (folder / "verdicts.jsonl").read_bytes() == ran


def test_a_second_run_generates_nothing_and_other_conditions_are_refused(tmp_path: Path) -> None:
    assert run(tmp_path, MATH, "--entry=oracle", "-q")[0] == 0
    record = tmp_path / "mini" / "oracle" / "outputs.jsonl"
    before = record.read_bytes()
    assert run(tmp_path, MATH, "--entry=oracle", "-q")[0] == 0
    assert record.read_bytes() == before
    record.write_text(re.sub(r'"prompt_digest":"\w+"', '"prompt_digest":"0"', record.read_text()))

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in record.parent.iterdir() if path.name != ".lock"}

    kept = files()
    status, out = run(tmp_path, MATH, "--entry=oracle", "-q")
    assert status == 1
    assert files() == kept
    assert "same command again" not in out
    assert "outputs are recorded" not in out
    assert run(tmp_path, MATH, "--entry=oracle", "-q", "-n2")[0] == 1
    assert files() == kept
    assert "recorded under other conditions" in out
    assert "--record-mode=all" in out
    assert run(tmp_path, MATH, "--entry=oracle", "-q", "--record-mode=all")[0] == 0
    assert record.read_bytes() != before
    assert len(list(record.parent.glob("outputs.2*.jsonl"))) == 1


def test_record_mode_none_says_what_is_missing(tmp_path: Path) -> None:
    status, out = run(tmp_path, MATH, "--entry=oracle", "--record-mode=none")
    assert status == 1
    assert "--record-mode=none generates nothing" in out
    assert "run it without --record-mode=none" in out
    assert "same command again" not in out
    status, out = run(tmp_path, MATH, "--entry=oracle", "--record-mode=none", "-n2")
    assert status == 1
    assert "--record-mode=none generates nothing" in out


def test_selections(tmp_path: Path) -> None:
    """Node ids, -k and --limit generate what they select, and the score is partial."""
    node = f"{MATH}::test_gsm8k_platinum[0007]"
    status, out = run(tmp_path, node, "--entry=oracle")
    assert status == 0
    assert "1 passed" in out
    record = tmp_path / "mini" / "oracle" / "outputs.jsonl"
    assert len(record.read_text().splitlines()) == 1
    status, out = run(tmp_path, node, "--entry=oracle", "-n2")
    assert status == 0
    assert "1 passed" in out
    status, out = run(tmp_path, "tests_benchmarks", "--entry=oracle", "-k", "banking77 and 0003")
    assert status == 0, out
    assert "1 passed" in out
    assert len(record.read_text().splitlines()) == 2
    status, out = run(tmp_path, "tests_benchmarks", "--entry=constant", "--limit=2")
    assert status == 0, out
    found = score(tmp_path, "constant")
    assert found["complete"] is False
    assert {one["items"] for one in found["benchmarks"].values()} == {2}
    assert any("partial" in why for why in found["not_publishable_because"])


def test_a_partial_run_leaves_a_complete_score_alone(tmp_path: Path) -> None:
    run(tmp_path, "tests_benchmarks", "--entry=random", "-q")
    before = score(tmp_path, "random")
    assert before["complete"] is True
    run(tmp_path, MATH, "--entry=random", "-q")
    assert score(tmp_path, "random") == before
    assert (tmp_path / "mini" / "random" / "score.partial.json").exists()


def test_run_json_keeps_who_generated(tmp_path: Path) -> None:
    """A run that generates nothing renews what concerns judging; a part leaves the whole's files alone."""
    folder = tmp_path / "mini" / "constant"

    def told(name: str = "run.json") -> dict:  # type: ignore[type-arg]
        return json.loads((folder / name).read_text())  # type: ignore[no-any-return]

    assert run(tmp_path, MATH, "--entry=constant", "-q")[0] == 0
    part = told()
    assert (part["complete"], len(part["runs"]), part["runs"][0]["generated"]) == (
        False,
        1,
        part["generated"],
    )
    assert run(tmp_path, "tests_benchmarks", "--entry=constant", "-q")[0] == 0
    first = told()
    assert first["complete"] is True
    assert first["runs"][0] == part["runs"][0]
    assert sum(one["generated"] for one in first["runs"]) == first["outputs"]
    for name in ("command", "started", "ended", "hardware", "versions", "engine", "generated"):
        assert first["runs"][1][name] == first[name]
    cases = names(tmp_path, "constant")

    assert run(tmp_path, "tests_benchmarks", "--entry=constant", "--record-mode=none")[0] == 0
    second = told()
    assert second["judged"]["command"][-1] == "--record-mode=none"
    changed = {name for name in second if second[name] != first[name]}
    assert changed <= {"judged", "not_publishable_because"}
    before = (folder / "run.json").read_bytes()

    assert run(tmp_path, MATH, "--entry=constant", "-q")[0] == 0
    assert (folder / "run.json").read_bytes() == before
    assert names(tmp_path, "constant") == cases
    assert told("run.partial.json")["partial"] is True
    assert 0 < (folder / "junit.partial.xml").read_text().count("<testcase") < len(cases)

    assert run(tmp_path, MATH, "--entry=constant", "-q", "--record-mode=all")[0] == 0
    last = told()
    assert last["runs"][:2] == first["runs"]
    assert (last["runs"][2]["record_mode"], last["complete"]) == ("all", True)


def test_stop_at_the_first_wrong_answer(tmp_path: Path) -> None:
    status, out = run(tmp_path, MATH, "--entry=constant", "-x")
    assert status == 1
    assert "1 wrong" in out
    assert "ended early" in out


def test_pdb_and_collect_only_and_junitxml_go_the_ordinary_way(tmp_path: Path) -> None:
    status, out = run(tmp_path, MATH, "--entry=oracle", "--collect-only", "-q")
    assert status == 0
    assert f"{MATH}::test_gsm8k_platinum[0007]" in out
    assert not (tmp_path / "mini").exists()
    assert run(tmp_path, MATH, "--entry=oracle", "--setup-show", "-q")[0] == 0
    status, _ = run(tmp_path, MATH, "--entry=constant", "-q", f"--junitxml={tmp_path / 'own.xml'}")
    assert status == 0
    cases = list(ElementTree.parse(tmp_path / "own.xml").getroot().iter("testcase"))
    assert len(cases) == len(names(tmp_path, "constant"))
    assert all(case.find("properties") is not None for case in cases)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["which entry?", "smollm2-135m-instruct-q4", "oracle, constant, random"]),
        (["--entry=oracel"], ["unknown entry 'oracel'; did you mean oracle"]),
        (["--entry=oracle", "--edition=mimi"], ["did you mean mini"]),
        (["--entry=oracle", "--record-mode=some"], ["unknown record mode 'some'"]),
        (["--entry=oracle", "--engine=lama"], ["unknown engine 'lama'"]),
        (["--entry=oracle", "--limit=0"], ["--limit=0: expected at least 1"]),
        (["--entry=oracle", "--replicas=0"], ["--replicas=0: expected at least 1"]),
        (["--entry=oracle", "--reports-dir="], ["--reports-dir is empty"]),
        (["--entry=constant", "--engine=vllm"], ["constant is synthetic and needs no engine"]),
        ([GGUF, "--engine=vllm"], ["a gguf artefact, which --engine=vllm can't run; use --engine=llamacpp"]),
        ([GGUF, "--engine=transformers", "-n2"], ["which --engine=transformers can't run"]),
        ([GGUF, "--engine=replay"], ["this run has no record yet", "--replay-from=DIR"]),
        ([GGUF, "--engine=replay", "--replay-from=/nonexistent"], ["/nonexistent is no folder"]),
        (["--entry=oracle", "--gate=index above 3"], ["can't read 'index above 3'"]),
    ],
)
def test_wrong_usage_is_one_message_and_status_4(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    status, out = run(tmp_path, "tests_benchmarks", *arguments)
    assert status == 4, out
    for word in words:
        assert word in out
    assert "Traceback" not in out
    assert not (tmp_path / "mini").exists()
    assert not (ROOT / "mini").exists()


def test_what_needs_no_engine_is_not_refused_for_it(tmp_path: Path) -> None:
    status, out = run(tmp_path, MATH, GGUF, "--engine=vllm", "--collect-only", "-q")
    assert status == 0, out
    status, out = run(tmp_path, MATH, GGUF, "--engine=vllm", "--record-mode=none")
    assert status == 1, out
    assert "the record lacks this output" in out


def test_a_model_that_can_not_be_loaded_is_to_be_mended_first(tmp_path: Path) -> None:
    model = tiny_model.write(tmp_path / "tiny", positions=4096, greedy=True)
    (tmp_path / "fails.py").write_text(FAILS)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "fails", "-p", "no:cacheprovider", MATH,
         f"--reports-dir={tmp_path}", f"--entry={model}", "--engine=vllm"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    assert "no such tensor" in out
    assert "mend what is said above first" in out
    assert "same command again" not in out


FAILS = """
from nanolm.engines import vllm
from nanolm.errors import EngineError
vllm.installed_version = lambda: "0"
def refuse(self, *arguments, **keywords):
    raise EngineError("the model can't be loaded: no such tensor")
vllm.VLLMEngine.__init__ = refuse
"""


def test_the_gate(tmp_path: Path) -> None:
    gates = tmp_path / "gates"
    gates.write_text("# what a release must reach\nraw[gsm8k-platinum-mini] >= 0.5\n")
    status, out = run(tmp_path, MATH, "--entry=oracle", f"--gate={gates}")
    assert status == 0, out
    status, out = run(tmp_path, MATH, "--entry=constant", f"--gate={gates}")
    assert status == 1
    assert "Gate not met: raw[gsm8k-platinum-mini] >= 0.5: it is 0" in out
    assert "Not valid" not in out
    assert "same command again" not in out
    about = json.loads((tmp_path / "mini" / "constant" / "run.json").read_text())
    assert about["problems"] == ["gate not met: raw[gsm8k-platinum-mini] >= 0.5: it is 0"]


def test_a_second_run_at_once_is_refused(tmp_path: Path) -> None:
    from nanolm.records import Record

    with Record(tmp_path / "mini" / "oracle", write=True):
        status, out = run(tmp_path, MATH, "--entry=oracle")
    assert status == 4
    assert "another run is writing the record" in out


def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, out = run(tmp_path / "file", MATH, "--entry=oracle")
    assert status == 4
    assert "choose another with --reports-dir" in out


SLOW = """
import time
from nanolm.engines.synthetic import SyntheticEngine
generate = SyntheticEngine.generate
def slow(self, requests):
    for one in generate(self, requests):
        time.sleep(0.05)
        yield one
SyntheticEngine.generate = slow
"""


def start_slowly(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A run of a slow engine, so that there is a middle to interrupt."""
    (folder / "slowly.py").write_text(SLOW)
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTEST_ADDOPTS": "",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "slowly", f"--reports-dir={folder}", *arguments],
        cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def in_the_middle(record: Path, process: "subprocess.Popen[str]", lines: int) -> None:
    started = time.monotonic()
    while time.monotonic() - started < 60 and process.poll() is None:
        if record.exists() and record.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.02)
    raise AssertionError("the run never got to its middle")


def test_interrupted_and_killed_runs_go_on_where_they_were(tmp_path: Path) -> None:
    """Ctrl-C: exit status 2 and how to go on. SIGKILL: nothing lost, nothing twice."""
    record = tmp_path / "mini" / "constant" / "outputs.jsonl"
    arguments = ("tests_benchmarks/test_knowledge.py", MATH, "--entry=constant")
    process = start_slowly(tmp_path, *arguments)
    in_the_middle(record, process, 3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert "run the same command again to go on" in out
    for lines in (8, 14):
        process = start_slowly(tmp_path, *arguments)
        in_the_middle(record, process, lines)
        process.kill()
        process.communicate(timeout=60)
    kept = record.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    status, out = run(tmp_path, *arguments)
    assert status == 0, out
    assert record.read_bytes().startswith(kept)
    lines_ = [json.loads(line) for line in record.read_text().splitlines()]
    keys = [(one["benchmark"], one["item"], one["sample"]) for one in lines_]
    assert len(keys) == len(set(keys)) == len(names(tmp_path, "constant"))


def test_last_failed_runs_what_was_not_right(tmp_path: Path) -> None:
    """`--lf`, in one process and with workers, goes by the wrong answers of the run before."""
    test = "tests_benchmarks/test_knowledge.py::test_arc_easy"
    status, out = run(tmp_path, test, "--entry=constant")
    assert status == 0, out
    wrong = int(re.search(r"(\d+) wrong", out)[1])  # type: ignore[index]
    assert 0 < wrong < 10
    for workers in ("-n0", "-n2"):
        status, out = run(tmp_path, test, "--entry=constant", "--lf", workers)
        assert status == 0, out
        assert re.search(rf"\b{wrong} wrong in", out), out


def test_the_debugger_stops_at_a_wrong_answer(tmp_path: Path) -> None:
    """`--pdb` stands in the test with its fixtures; `c` goes on to the end."""
    test = "tests_benchmarks/test_knowledge.py::test_arc_easy"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--reports-dir={tmp_path}", test,
         "--entry=constant", "--pdb", "--limit=4"],
        cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=os.environ | {"PYTEST_ADDOPTS": "", "COLUMNS": "120"},
    )  # fmt: skip
    out, _ = process.communicate("up\np 'the gold is', self._ref\n" + "c\n" * 8, timeout=120)
    assert "(Pdb)" in out
    assert "entering PDB" in out
    assert process.returncode == 0, out
    assert len(names(tmp_path, "constant")) == 4


def test_a_patch_edition_takes_its_parents_record(whole: tuple[Path, str], tmp_path: Path) -> None:
    """§10: nothing is generated anew, and the parent's record stays as it is."""
    patch = tmp_path / "mini-1.0.1"
    patch.mkdir()
    (patch / "edition.toml").write_text(
        'name = "mini-1.0.1"\ntitle = "mini"\nversion = "1.0.1"\n'
        'summary = "A mended rule."\ninherits = "mini"\n'
    )
    reports = tmp_path / "reports"
    shutil.copytree(whole[0] / "mini", reports / "mini")
    parent, own = (reports / name / "constant" / "outputs.jsonl" for name in ("mini", "mini-1.0.1"))
    before = parent.read_bytes()
    status, out = run(
        reports, "tests_benchmarks", "--entry=constant", f"--edition={patch}", "--record-mode=none"
    )
    assert status == 0, out
    assert own.read_bytes() == parent.read_bytes() == before
    about = json.loads((own.parent / "run.json").read_text())
    assert (about["generated"], about["record_from"]) == (0, str(parent.parent))
    assert about["runs"] == json.loads((parent.parent / "run.json").read_text())["runs"] != []
    score_of = [json.loads((path.parent / "score.json").read_text()) for path in (parent, own)]
    assert score_of[0]["benchmarks"] == score_of[1]["benchmarks"]


def test_without_any_data_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not silence and "no tests ran": the user who forgot `nanolm fetch`."""
    monkeypatch.setenv("NANOLM_CACHE", str(tmp_path / "empty"))
    asked = ("--edition=nano-lm-v1", "--entry=oracle")
    for more in ((), ("-n2",), ("-k", "when2call"), (f"{MATH}::test_math_500",)):
        where = () if "::" in str(more) else ("tests_benchmarks",)
        status, out = run(tmp_path / "reports", *where, *more, *asked)
        assert status == 1, out
        assert "`nanolm fetch --edition nano-lm-v1`" in out
    status, out = run(tmp_path / "reports", "tests_benchmarks", "-k", "nosuch", *asked)
    assert status == 5
    assert "fetch" not in out
