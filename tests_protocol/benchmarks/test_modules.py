"""Each benchmark module on rows written here in its source's schema; bad rows name their file and row."""

import importlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from nanolm.benchmarks.benchmark import BenchmarkItems
from nanolm.errors import ItemError, NanoLMError, SourceError
from nanolm.schema import Item
from nanolm.sources import SourceFile

from .conftest import Write

MODULES = (
    "mmlu_cf", "arc_easy", "hellaswag_pro", "global_piqa", "gsm8k_platinum", "math_500", "when2call",
    "toolalpaca", "mbpp_plus", "evoeval", "banking77", "clinc150",
)  # fmt: skip


def made(module: str, *files: SourceFile) -> BenchmarkItems:
    found = importlib.import_module(f"nanolm.benchmarks.{module}").items(module.replace("_", "-"), files)
    assert isinstance(found, BenchmarkItems)
    return found


def shown_gold(item: Item) -> str:
    return item.options["ABCDE".index(item.gold)]


@pytest.mark.parametrize("module", MODULES)
def test_each_states_licence_and_citation(module: str) -> None:
    found = importlib.import_module(f"nanolm.benchmarks.{module}")
    assert found.LICENCE
    assert "20" in found.CITATION


MMLU = {
    "Question": "1 + 1?",
    "A": " 1",
    "B": " 2 ",
    "C": "3",
    "D": "None of the other choices",
    "Answer": "B",
}


def test_mmlu_cf_strips_options_and_pins(write: Write) -> None:
    found = made("mmlu_cf", write("val.json", [MMLU, {**MMLU, "Answer": "D"}]))
    assert [item.id for item in found.items] == ["0000", "0001"]
    assert shown_gold(found.items[0]) == "2"
    assert all(item.options[3] == "None of the other choices" for item in found.items)
    assert found.items[1].gold == "D"
    assert found.pinned == ("0000", "0001")
    assert found.items[1].source == "val.json:2"


def test_mmlu_cf_has_the_subject_in_the_id_where_a_file_has_one(write: Write) -> None:
    found = made("mmlu_cf", write("val/Biology_val.json", [MMLU]), write("val/Law_val.json", [MMLU]))
    assert [(item.id, item.group) for item in found.items] == [
        ("Biology-0000", "Biology"),
        ("Law-0000", "Law"),
    ]


@pytest.mark.parametrize(
    ("labels", "key", "gold"),
    [(["A", "B", "C"], "C", "z"), (["1", "2", "3"], "1", "x"), (["A", "B", "E"], "E", "z")],
)
def test_arc_easy_maps_gold_by_label(write: Write, labels: list[str], key: str, gold: str) -> None:
    row = {"id": "AKDE&ED_1", "question": "?", "choices": {"text": ["x", "y", "z"], "label": labels}}
    found = made("arc_easy", write("test.jsonl", [{**row, "answerKey": key}]))
    assert found.items[0].id == "AKDE-ED_1"
    assert shown_gold(found.items[0]) == gold


def hellaswag(number: int, variant: str, **more: Any) -> dict[str, Any]:
    row = {
        "id": number,
        "perturbation_type": variant,
        "context": "He",
        "choices": ["runs.", "swims.", "sits."],
    }
    return {**row, "label": 1, **more}


def test_hellaswag_pro_keys_on_variant_and_id(write: Write) -> None:
    found = made(
        "hellaswag_pro",
        write("a/sentence_sorting.jsonl", [hellaswag(1, "sentence_sorting")]),
        write("a/critical_thinking.jsonl", [hellaswag(1, "critical_thinking")]),
    )
    assert [item.id for item in found.items] == ["sentence_sorting-1", "critical_thinking-1"]
    assert {shown_gold(item) for item in found.items} == {"swims."}
    assert {len(item.options) for item in found.items} == {3}


def test_hellaswag_pro_accepts_equal_options(write: Write) -> None:
    row = hellaswag(7, "reverse_conversion", choices=["same", "other", "same"], label=2)
    item = made("hellaswag_pro", write("reverse_conversion.jsonl", [row])).items[0]
    assert shown_gold(item) == "same"


def test_global_piqa_reads_both_parts(write: Write) -> None:
    head = "prompt\tsolution0\tsolution1"
    files = (
        write("data/nonparallel_eng_latn.tsv", f"example_id\t{head}\tlabel\ne\tTo dry,\thang.\tsoak.\t1\n"),
        write("data/parallel_eng_latn.tsv", f"{head}\tsolution2\tsolution3\tlabel\nTo cut,\ta\tb\tc\td\t2\n"),
    )
    first, second = made("global_piqa", *files).items
    assert (first.id, len(first.options), shown_gold(first)) == ("nonparallel-000", 2, "soak.")
    assert (second.id, len(second.options), shown_gold(second)) == ("parallel-000", 4, "c")


def test_gsm8k_platinum_takes_the_number_after_the_marks(write: Write) -> None:
    rows = [
        {"question": "?", "answer": "70 * 10 #### is\n#### 1,200"},
        {"question": "??", "answer": "#### -5"},
    ]
    found = made("gsm8k_platinum", write("test.jsonl", rows))
    assert [(item.id, item.gold) for item in found.items] == [("0000", "1200"), ("0001", "-5")]


def test_math_500_ids_come_from_the_unique_id(write: Write) -> None:
    row = {
        "problem": "?",
        "answer": "\\frac{1}{2}",
        "subject": "Algebra",
        "unique_id": "test/algebra/12.json",
    }
    item = made("math_500", write("test.jsonl", [row])).items[0]
    assert (item.id, item.gold, item.group) == ("algebra-12", "\\frac{1}{2}", "Algebra")


def when2call(**more: Any) -> dict[str, Any]:
    answers = {
        "direct": "4",
        "tool_call": '{"name": "add"}',
        "request_for_info": "Of what?",
        "cannot_answer": "No",
    }
    row = {"uuid": "u-1", "question": "Sum?", "tools": ['{"name":\n "add"}'], "answers": answers}
    return {**row, "correct_answer": "request_for_info", **more}


def test_when2call_shows_the_tools_and_the_four_answers(write: Write) -> None:
    rows = [when2call(), when2call(uuid="u-2", tools=[], correct_answer="cannot_answer")]
    first, second = made("when2call", write("test.jsonl", rows)).items
    assert first.documentation == '{"name": "add"}'
    assert second.documentation == "(no tools)"
    assert (shown_gold(first), shown_gold(second)) == ("Of what?", "No")
    assert set(first.options) == {"4", '{"name": "add"}', "Of what?", "No"}


def toolalpaca(golds: Sequence[Any], **more: Any) -> dict[str, Any]:
    described = (
        'Find.\nParameters: {"q": "Required. string. What.", "limit": "integer. Most.", "X-Key": "string."}'
    )
    functions = {
        "find": described + "\nOutput: ok",
        "ping": 'Parameters: {"apiKey": "Required. string."}\nOutput: ok',
        "components": "#X: Object{}",
    }
    row = {"Name": "N", "Authentication": {"X-Key": "***"}, "Function_Description": functions}
    return {**row, "Instructions": [f"do {n}" for n in range(len(golds))], "Golden_Answers": golds, **more}


def call(name: str, arguments: str) -> dict[str, str]:
    return {"Action": name, "Action_Input": arguments}


def test_toolalpaca_signatures_come_from_the_documentation(write: Write) -> None:
    item = made("toolalpaca", write("eval_real.json", [toolalpaca([[call("find", '{"q": "x"}')]])])).items[0]
    assert item.id == "real-00-00"
    assert item.gold == [{"name": "find", "arguments": {"q": "x"}}]
    assert set(item.functions) == {"find", "ping"}
    assert item.functions["find"].required == ("q",)
    assert item.functions["find"].optional == ("limit", "X-Key")
    assert item.functions["find"].credentials == ("X-Key",)
    assert item.functions["ping"].credentials == ("apiKey",)
    assert item.documentation.startswith("find: Find.\nParameters: {")
    assert "components" not in item.documentation


def test_toolalpaca_rules_are_tried_in_the_order_of_ruling_76(write: Write) -> None:
    golds = [
        [call("find", "not json"), call("components", "${x}")],
        [call("find", "{"), call("find", '{"q": "${id}"}')],
        [call("find", '{"q": "x"'), call("ping", "{}")],
        [call("find", "[1]")],
        [call("ping", "{}"), call("ping", "{}")],
    ]
    found = made("toolalpaca", write("eval_real.json", [toolalpaca(golds)]))
    assert [(one.id, one.rule) for one in found.excluded] == [
        ("real-00-00", "undocumented-function"),
        ("real-00-01", "depends-on-earlier-result"),
        ("real-00-02", "gold-not-json"),
        ("real-00-03", "gold-not-json"),
    ]
    assert [item.id for item in found.items] == ["real-00-04"]


def test_mbpp_plus_leaves_out_the_task_whose_reference_fails(write: Write) -> None:
    rows = [
        {"task_id": f"Mbpp/{n}", "prompt": '"""\nDo."""\n', "entry_point": "f", "canonical_solution": "pass"}
        for n in (2, 255)
    ]
    found = made("mbpp_plus", write("MbppPlus.jsonl", rows))
    item = found.items[0]
    assert (item.id, item.dataset, item.task, item.function) == ("Mbpp-2", "mbpp-plus", "Mbpp/2", "f")
    assert item.preamble == ""
    assert [(one.id, one.rule) for one in found.excluded] == [("Mbpp-255", "reference-fails")]


def test_evoeval_preamble_is_what_stands_before_the_function(write: Write) -> None:
    prompt = "import math\n\ndef f_helper():\n    return 1\n\ndef f(x):\n    '''def f(x)'''\n"
    rows = [
        {"task_id": f"HumanEval/{n}", "prompt": prompt, "entry_point": "f", "canonical_solution": "pass"}
        for n in (1, 32)
    ]
    found = made("evoeval", write("EvoEval_verbose.jsonl", rows), write("EvoEval_subtle.jsonl", rows))
    assert [item.id for item in found.items] == ["verbose-1", "subtle-1", "subtle-32"]
    assert [one.id for one in found.excluded] == ["verbose-32"]
    assert found.items[0].preamble == "import math\n\ndef f_helper():\n    return 1\n\n"
    assert found.items[1].dataset == "evoeval-subtle"
    assert found.items[0].reference == prompt + "\npass", "joined as the official ground truth does"


def test_the_mini_data_sets_have_names_of_their_own(write: Write) -> None:
    rows = [
        {"task_id": "EvoEval/0", "prompt": "def f(): ...", "entry_point": "f", "canonical_solution": "pass"}
    ]
    module = importlib.import_module("nanolm.benchmarks.evoeval")
    assert module.items("evoeval-mini", [write("EvoEval_tool_use.jsonl", rows)]).items[0].dataset == (
        "evoeval-tool_use-mini"
    )


def banking(write: Write, category: str = "b", labels: Sequence[str] = ("c", "b", "A_1")) -> BenchmarkItems:
    return made(
        "banking77",
        write("test.csv", f'text,category\n"Hi,\nthere",{category}\nHo,c\n'),
        write("categories.json", list(labels)),
    )


def test_banking77_labels_are_alphabetical_and_shared(write: Write) -> None:
    first, second = banking(write).items
    assert first.labels == ("A_1", "b", "c")
    assert first.labels is second.labels
    assert (first.question, first.gold, second.id) == ("Hi,\nthere", "b", "0001")


def test_two_labels_that_read_the_same_are_refused(write: Write) -> None:
    with pytest.raises(ItemError, match=r"labels 'Card-arrival\?' and 'card_arrival'"):
        banking(write, "b", ["b", "c", "card_arrival", "Card-arrival?"])


def test_clinc150_asks_the_test_and_the_out_of_scope_test(write: Write) -> None:
    parts = {"test": [["hi", "greet"], ["bye", "leave"]], "oos_test": [["?", "oos"]], "train": [["x", "pay"]]}
    found = made("clinc150", write("data/data_full.json", parts))
    assert [item.id for item in found.items] == ["test-0000", "test-0001", "oos-0000"]
    assert found.items[0].labels == ("greet", "leave", "oos", "pay")
    assert found.items[2].gold == "oos"


def test_an_id_given_twice_is_refused(write: Write) -> None:
    row = {
        "id": "same",
        "question": "?",
        "choices": {"text": ["x", "y"], "label": ["A", "B"]},
        "answerKey": "A",
    }
    with pytest.raises(ItemError, match=r"test.jsonl:2: found the id 'same' again \(first in test.jsonl:1\)"):
        made("arc_easy", write("test.jsonl", [row, row]))


BAD = [
    ("mmlu_cf", "val.json", {**MMLU, "Answer": "E"}, "Answer = 'E'"),
    ("mmlu_cf", "val.json", {**MMLU, "C": " "}, "C = ' '"),
    ("mmlu_cf", "val.json", {"Question": "?"}, "a field 'A'"),
    ("arc_easy", "t.jsonl", {"id": "i", "question": "?", "choices": ["x"], "answerKey": "A"}, "choices = "),
    (
        "arc_easy",
        "t.jsonl",
        {"id": "i", "question": "?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "C"},
        "answerKey = 'C'",
    ),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", label=3), "label = 3"),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", label=True), "label = True"),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "other"), "perturbation_type = 'other'"),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", choices=["x"]), "label = 1"),
    ("gsm8k_platinum", "t.jsonl", {"question": "?", "answer": "5"}, "expected a solution that ends with"),
    ("gsm8k_platinum", "t.jsonl", {"question": "?", "answer": "#### five"}, "gold 'five'"),
    ("math_500", "t.jsonl", {"problem": "?", "answer": "1", "unique_id": "x", "subject": "s"}, "unique_id"),
    ("math_500", "t.jsonl", {"problem": "?", "answer": None}, "a field 'unique_id'"),
    ("when2call", "t.jsonl", when2call(correct_answer="maybe"), "correct_answer = 'maybe'"),
    ("when2call", "t.jsonl", when2call(answers={"direct": "x"}), "answers = "),
    ("when2call", "t.jsonl", when2call(tools=["{"]), "a tool that is no JSON"),
    ("when2call", "t.jsonl", when2call(tools=["[]"]), "the tool '\\[\\]'"),
    ("toolalpaca", "eval_real.json", toolalpaca([[]]), "gold \\[\\]"),
    ("toolalpaca", "eval_real.json", toolalpaca([[{"Action": "find"}]]), "number 1 of Golden_Answers"),
    ("toolalpaca", "eval_real.json", toolalpaca([], Instructions=["x"]), "Golden_Answers that do not fit"),
    (
        "toolalpaca",
        "eval_real.json",
        toolalpaca([[call("find", "{}")]], Authentication=["X-Key"]),
        "Authentication = \\['X-Key'\\]",
    ),
    (
        "toolalpaca",
        "eval_real.json",
        toolalpaca([[call("find", "{}")]], Function_Description={" ": "x"}),
        "texts by function name",
    ),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", id=None), "id = None"),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", id=" "), "id = ' '"),
    ("hellaswag_pro", "negative_testing.jsonl", hellaswag(1, "negative_testing", id=[1]), r"id = \[1\]"),
    ("gsm8k_platinum", "t.jsonl", {"question": "?", "answer": "#### 1,5"}, "gold '1,5'"),
    (
        "arc_easy",
        "t.jsonl",
        {"id": "i", "question": "?", "choices": {"text": ["x", "y"], "label": ["A", "A"]}, "answerKey": "B"},
        "2 texts with labels A, A",
    ),
    (
        "evoeval",
        "EvoEval_subtle.jsonl",
        {"task_id": "E/1", "prompt": "x", "entry_point": "\ud800", "canonical_solution": "pass"},
        r"without 'def \\ud800'",
    ),
    (
        "mbpp_plus",
        "M.jsonl",
        {"task_id": "Mbpp/2", "prompt": "p", "entry_point": "a b", "canonical_solution": "pass"},
        "function name 'a b'",
    ),
    (
        "mbpp_plus",
        "M.jsonl",
        {"task_id": "Mbpp/2", "prompt": "p", "entry_point": "def", "canonical_solution": "pass"},
        "function name 'def'",
    ),
    (
        "evoeval",
        "EvoEval_subtle.jsonl",
        {"task_id": "E/1", "prompt": "x", "entry_point": "f", "canonical_solution": "pass"},
        "without 'def f'",
    ),
]


@pytest.mark.parametrize(("module", "name", "row", "message"), BAD)
def test_a_bad_row_is_named(write: Write, module: str, name: str, row: dict[str, Any], message: str) -> None:
    with pytest.raises(ItemError, match=message) as caught:
        made(module, write(name, [row]))
    assert f"{name}:1" in str(caught.value)
    assert "found" in str(caught.value)


def test_a_bad_label_is_named(write: Write) -> None:
    with pytest.raises(ItemError, match=r"test.csv:2: .*found gold 'zzz'"):
        banking(write, "zzz")


def test_a_blank_label_is_named(write: Write) -> None:
    with pytest.raises(ItemError, match=r"test.csv:2: .*the label '\.\.\.', of which normalisation"):
        banking(write, "b", ["b", "c", "..."])


def test_a_label_of_several_lines_is_refused(write: Write) -> None:
    with pytest.raises(ItemError, match=r"test.csv:2: .*found a label of several lines"):
        banking(write, "b", ["b", "c", "d\ne"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"test": [["a", "x"]], "oos_test": [["b", "x"]]}, "oos_test:1: found the intent 'x', expected oos"),
        (
            {"test": [["a", "oos"]], "oos_test": []},
            "test:1: found the intent 'oos', expected an intent other than oos",
        ),
    ],
)
def test_clinc150_parts_hold_what_they_say(write: Write, parts: Any, message: str) -> None:
    with pytest.raises(ItemError, match=r"data_full\.json:" + message):
        made("clinc150", write("data_full.json", parts))


def test_toolalpaca_gold_that_only_python_reads_is_no_json(write: Write) -> None:
    golds = ['{"q": NaN}', '{"q": -Infinity}', '{"q": ' + "[" * 100_000, '{"q": 1}']
    row = toolalpaca([[call("find", gold)] for gold in golds])
    found = made("toolalpaca", write("eval_real.json", [row]))
    assert [one.rule for one in found.excluded] == ["gold-not-json"] * 3
    assert len(found.items) == 1


@pytest.mark.parametrize(
    "parts", [[], {"test": []}, {"test": 1, "oos_test": []}, {"test": [["a"]], "oos_test": []}]
)
def test_clinc150_refuses_other_documents(write: Write, parts: Any) -> None:
    with pytest.raises(ItemError, match=r"data_full\.json"):
        made("clinc150", write("data_full.json", parts))


@pytest.mark.parametrize(
    ("module", "name"), [("evoeval", "EvoEval_other.jsonl"), ("global_piqa", "data/train.jsonl")]
)
def test_an_unknown_file_is_refused(write: Write, module: str, name: str) -> None:
    with pytest.raises(SourceError, match="expected one of"):
        made(module, write(name, [{}]))


@pytest.mark.parametrize("module", ["banking77", "clinc150"])
def test_a_missing_file_is_refused(write: Write, module: str) -> None:
    with pytest.raises(SourceError, match="found no file"):
        made(module)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("row", [{}, {"id": None}, {"Question": 5}, {"choices": "x", "id": "y"}])
def test_odd_rows_raise_nothing_else(write: Write, module: str, row: dict[str, Any]) -> None:
    name = {"hellaswag_pro": "sentence_sorting", "global_piqa": "parallel", "evoeval": "EvoEval_subtle"}
    with pytest.raises(NanoLMError):
        made(module, write(f"{name.get(module, 'rows')}.json", json.dumps([row])))
