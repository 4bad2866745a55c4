"""`nanolm entry`, as a person types it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nanolm.cli import cli
from nanolm.errors import NanoLMError, UsageError

from .conftest import Write, write_weights


def _run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["entry", *arguments])


def _error(*arguments: str) -> NanoLMError:
    error = _run(*arguments).exception
    assert isinstance(error, NanoLMError), error
    assert "\n" not in str(error), "one line"
    return error


def _json(*arguments: str) -> Any:
    done = _run(*arguments, "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return json.loads(done.output)


def test_list_shows_the_thirteen() -> None:
    assert len(_json("list")) == 13
    output = _run("list").output
    assert "qwen3-0.6b-no-think" in output
    assert "596,049,920" in output


def test_show_a_folder_says_what_was_derived_and_why(model: Write) -> None:
    output = _run("show", str(model())).output
    for words in ("non-reasoning", "max_position_embeddings", "greedy", "not publishable", "end of turn"):
        assert words in output, words


def test_show_json_of_the_demo_with_the_standard(model: Write) -> None:
    entry = _json("show", "smollm2-135m-instruct-q4", "--edition=nano-lm-v1")
    assert (entry["parameters"], entry["official"]) == (134_515_008, False)


def test_audit_of_a_folder(model: Write) -> None:
    folder = str(model(readme="---\nlicense: mit\n---\n"))
    found = _json("audit", folder)
    assert found["audit"]["parameters"] == 2408
    assert {rule["name"]: rule["outcome"] for rule in found["rules"]} == {
        "open weights": "look",
        "licence": "holds",
        "chat template": "holds",
        "parameters": "holds",
    }
    done = _run("audit", folder)
    assert (done.exit_code, "2,408" in done.output) == (0, True)


def test_audit_of_an_over_large_model_fails(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    write_weights(tmp_path / "model.safetensors", {"embed.weight": (70_000, 10_000)})
    monkey = pytest.MonkeyPatch()
    monkey.setattr("nanolm.entries.parameters.sha256", lambda path: "0" * 64)  # 1.4 GB of zeros
    with monkey.context():
        done = _run("audit", str(tmp_path))
    monkey.undo()
    assert done.exit_code == 1
    assert "not eligible" in done.output
    assert "700,000,000 of at most" in " ".join(done.output.split())


def test_audit_of_a_base_model_fails(model: Write) -> None:
    done = _run("audit", str(model(template=None)))
    assert (done.exit_code, "a base model can't follow" in " ".join(done.output.split())) == (1, True)


def test_audit_of_a_gguf(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert "counted from safetensors" in str(_error("audit", str(tmp_path / "m.gguf")))


@pytest.mark.parametrize("verb", ["show", "audit"])
def test_typos(verb: str) -> None:
    error = _error(verb, "qwen3-0.6-think")
    assert isinstance(error, UsageError)
    assert "did you mean qwen3-0.6b-think" in str(error)
    assert "did you mean smollm2-135m-instruct-q4" in str(_error(verb, "smolm2-135m-instruct-q4"))
    for path in ("./nowhere", "nowhere.gguf", "a/b/c"):
        assert "there is no file or folder" in str(_error(verb, path))
    assert "no entry is named" in str(_error(verb, ""))


def test_there_is_nothing_to_audit_in_the_demo_or_a_check() -> None:
    assert "an audit counts the safetensors" in str(_error("audit", "smollm2-135m-instruct-q4"))
    assert "nothing to audit" in str(_error("audit", "oracle"))


def test_lock_asks_for_the_commit_that_is_open() -> None:
    error = _error("lock", "ernie-4.5-0.3b-pt")
    assert "--revision=COMMIT" in str(error)
    assert "candidates" in str(error)


def test_lock_of_another_revision_is_a_new_entry() -> None:
    error = _error("lock", "lfm2-350m", "--revision=" + "a" * 40)
    assert "--supersedes=lfm2-350m" in str(error)


def test_lock_of_what_is_not_on_the_hub() -> None:
    assert "not on the hub" in str(_error("lock", "smollm2-135m-instruct-q4"))


def test_add_writes_two_files_for_a_hybrid(model: Write, tmp_path: Path) -> None:
    from .test_derive import HYBRID

    done = _run("add", str(model(template=HYBRID)), "--to", str(tmp_path / "to"))
    assert done.exit_code == 0, done.output
    assert done.output.count("not publishable:") == 2
    names = sorted(path.name for path in (tmp_path / "to").iterdir())
    assert names == ["tiny-chat-no-think.toml", "tiny-chat-think.toml"]
    assert "stays unofficial" in done.output


def test_add_says_what_was_derived_and_what_comes_next(model: Write, tmp_path: Path) -> None:
    done = _run("add", str(model()), "-o", str(tmp_path / "to"))
    output = " ".join(done.output.split())
    assert "non-reasoning: the template neither opens nor demands reasoning" in output
    assert "generation_config.json does not enable sampling, so decoding is greedy" in output
    path = tmp_path / "to" / "tiny-chat.toml"
    assert f"wrote {path} next: run it with --entry={path}" in output
    text = path.read_text(encoding="utf-8")
    assert "[unverified]" not in text
    assert "nanolm entry lock" not in text


def test_lock_wants_an_entry_file(model: Write) -> None:
    assert "is no entry file; expected an entry's name or its TOML" in str(_error("lock", str(model())))
    assert "there is no file or folder ./nowhere" in str(_error("lock", "./nowhere"))


def test_add_of_an_entry_that_is_there() -> None:
    assert "is an entry already" in str(_error("add", "lfm2-350m"))


def test_every_verb_has_help() -> None:
    for verb in ("list", "show", "audit", "add", "lock"):
        assert _run(verb, "--help").exit_code == 0
