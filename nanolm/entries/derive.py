"""Unofficial entries: everything derived from a model's own artefacts, with the reason for each value."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from nanolm.editions.edition import Edition
from nanolm.entries import artefacts, decoding, eligibility, gguf, headers, prescribed, reasons, stops, tokens
from nanolm.entries import context as window
from nanolm.entries import mode as modes_of
from nanolm.entries.artefacts import Artefacts, Folder
from nanolm.entries.entry import Entry, Mode
from nanolm.entries.entry_file import complete
from nanolm.entries.parameters import Audit, audit
from nanolm.entries.renderer import gguf_template
from nanolm.entries.template import ChatTemplate
from nanolm.entries.weights import sha256
from nanolm.errors import EntryError, counted

UNOFFICIAL = "an unofficial entry, derived from its own artefacts: it is no entry of the edition"

_DECIDES = (".json", ".jinja", ".model", ".txt", ".tiktoken")


def slug(text: str) -> str:
    """A name for entries and folders: letters, digits, `.`, `_` and `-`, in lower case."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text)
    return kept.strip("-._").lower() or "model"


def from_folder(path: Path, mode: Mode | None, edition: Edition | None) -> Entry:
    """The entry of a transformers folder; its revision is a digest of its files.

    Raises `EntryError` when a part is missing or can't be read.
    """
    whole = path.resolve()
    return from_artefacts(Folder(whole, str(path)), whole.name, mode, edition)


def from_hub(repo: str, revision: str | None, mode: Mode | None, edition: Edition | None) -> Entry:
    """The entry of a hub repository at a revision, pinned to its commit.

    Reads headers, no weights. Without network a revision in the hub client's cache does as well.
    """
    from nanolm.entries import hub

    source = hub.reached_or_cached(repo, revision)
    entry = from_artefacts(source, repo.rpartition("/")[2], mode, edition)
    if not isinstance(source, hub.Snapshot):
        return entry
    note = f"the hub was not reached: this is commit {source.revision} from the hub client's cache"
    return msgspec.structs.replace(entry, warnings=(*entry.warnings, note))


def from_artefacts(source: Artefacts, name: str, mode: Mode | None, edition: Edition | None) -> Entry:
    """The entry of a folder or repository, named `name`; behind it stands the mode where there are two."""
    _refuse_parts(source)
    headers.files(source)  # before the template: a folder without weights is no base model
    file = _template_file(source, mode, edition)
    count = audit(source)
    if count.packed:
        raise EntryError(
            f"{source.where} can't be counted: {count.packed} (§2); take the unquantised weights"
        )
    config = artefacts.config(source)
    context, context_why = window.read(config, source.where)
    settings, settings_why, advice = decoding.decide(source)
    tokenizer = tokens.load(source)
    template = tokens.template(source, tokenizer) if file else None
    modes, chosen = _mode(template, mode, source.where, edition)
    ends = _stops(source, config, tokenizer, template)
    bos = (
        template is not None
        and tokens.adds_bos(tokenizer)
        and not _begins_with_bos(tokenizer, template, modes.arguments(chosen))
    )
    local = source.revision is None
    entry = Entry(
        name=slug(name) + _suffix(modes, chosen, mode, artefacts.find_template(source) is not None),
        title=name,
        artefact="transformers",
        repo="" if local else source.reference,
        revision=source.revision or content_of(source, count),
        path=source.reference if local else "",
        mode=chosen,
        template_arguments=modes.arguments(chosen),
        parameters=count.parameters,
        context=context,
        licence=eligibility.licence(source),
        template_sha256=template.sha256 if template else "",
        add_bos=bos,
        stop_ids=ends.ids,
        end_markers=ends.markers,
        reasoning=modes_of.reasoning(template, modes, chosen) if template else None,
        decoding=settings,
        not_publishable_because=_warnings(UNOFFICIAL, reasons.over_the_limit(count, edition)),
        reasons={
            "parameters": (
                f"{counted(count.tensors, 'tensor')}, {count.header_total:,} elements; "
                f"{reasons.left_out(count)}"
            ),
            "context": context_why,
            "mode": reasons.of_mode(modes, mode),
            "template_sha256": f"from {file}" if file else "the prompt is the bare text",
            "decoding": settings_why,
            "stop_ids": ends.why,
            "add_bos": reasons.of_bos(bos, tokenizer) if template else reasons.of_prefix(tokenizer),
        },
        warnings=_warnings(
            *count.notes,
            *ends.warnings,
            *advice,
            reasons.clock(template),
            reasons.own_code(config),
            tokens.disagreement(tokenizer, source),
        ),
    )
    return complete(entry, edition)


def from_gguf(path: Path, mode: Mode | None, edition: Edition | None) -> Entry:
    """The entry of a GGUF file; its revision is the file's SHA-256."""
    file = gguf.read(path)
    bare = prescribed.is_bare(edition) or (
        prescribed.takes_base_models(edition) and (file.template is None or mode == "base")
    )
    template = None if bare else gguf_template(file, path)
    modes, chosen = _mode(template, mode, str(path), edition)
    if not file.context:
        raise EntryError(f"{path} names no context length; expected {file.architecture}.context_length")
    ends = stops.find(
        {f"tokenizer.ggml.{role}_token_id": file.token_id(role) for role in ("eos", "eot", "eom")},
        file.added_tokens(),
        lambda token: file.tokens[token] if token < len(file.tokens) else None,
        modes_of.end_of_turn(template) if template else "",
    )
    if not ends.ids:
        raise EntryError(
            f"{path} names no end of sequence (tokenizer.ggml.eos_token_id); nothing would stop it"
        )
    text = template.user(modes_of.PROBE, modes.arguments(chosen)) if template else ""
    begins = text.startswith(file.special_tokens().get("bos_token", "\0"))
    quantised = f"its weights are quantised ({file.quantisation}); the protocol asks for bfloat16 (§5)"
    entry = Entry(
        name=slug(path.stem) + _suffix(modes, chosen, mode, file.template is not None),
        title=str(file.metadata.get("general.name") or path.stem),
        artefact="gguf",
        revision=sha256(path),
        path=str(path.resolve()),
        mode=chosen,
        template_arguments=modes.arguments(chosen),
        parameters=file.parameters,
        context=file.context,
        licence=str(file.metadata.get("general.license", "")),
        template_sha256=template.sha256 if template else "",
        add_bos=template is not None and file.adds_bos and not begins,
        stop_ids=ends.ids,
        end_markers=ends.markers,
        reasoning=modes_of.reasoning(template, modes, chosen) if template else None,
        decoding=decoding.greedy(),
        not_publishable_because=(UNOFFICIAL, *((quantised,) if file.quantisation else ())),
        reasons={
            "parameters": f"elements of {counted(len(file.tensors), 'tensor')}, before quantisation",
            "context": f"{file.architecture}.context_length",
            "mode": reasons.of_mode(modes, mode),
            "template_sha256": "from tokenizer.chat_template" if template else "the prompt is the bare text",
            "decoding": "a GGUF file holds no generation_config.json, so decoding is greedy",
            "stop_ids": ends.why,
            "add_bos": f"tokenizer.ggml.add_bos_token is {file.adds_bos}",
        },
        warnings=_warnings(*ends.warnings, reasons.unused_sampling(file)),
    )
    return complete(entry, edition)


def check_content(entry: Entry) -> None:
    """Raise `EntryError` when an entry's local model is not the one its revision names."""
    path = Path(entry.path)
    if not path.exists():
        raise EntryError(f"{entry.name}: there is no model at {path}; check `path` in its entry file")
    if path.is_dir():
        found = content_of(Folder(path), audit(Folder(path)))
    else:
        found = sha256(path)
    if found != entry.revision:
        raise EntryError(
            f"{entry.name}: the model at {path} has the digest {found}, expected {entry.revision}; "
            "a changed model is a new entry (nanolm entry add)"
        )


def _refuse_parts(source: Artefacts) -> None:
    """Raise `EntryError` for what is no whole model: an empty folder, an adapter."""
    names = source.names()
    if not names:
        raise EntryError(f"{source.where} holds no files; expected a model folder")
    if "adapter_config.json" in names and "config.json" not in names:
        raise EntryError(
            f"{source.where} is an adapter (adapter_config.json), not a whole model; expected a chat model "
            "with its own weights (§2): merge the adapter first"
        )


def _template_file(source: Artefacts, mode: Mode | None, edition: Edition | None) -> str:
    """The file with the chat template that is used, empty for the bare text. `EntryError` when it must be
    there and is not."""
    if prescribed.takes_base_models(edition):
        found = artefacts.find_template(source) if mode != "base" else None
    else:
        found = artefacts.template_text(source)
    return "" if found is None or prescribed.is_bare(edition) else found.file


def _mode(
    template: ChatTemplate | None, wanted: Mode | None, where: str, edition: Edition | None
) -> tuple[modes_of.Modes, Mode]:
    if template is not None:
        modes = modes_of.read(template)
    elif edition is not None and prescribed.is_bare(edition):
        modes = modes_of.base(f"{edition.name} asks every model with the bare text")
    else:
        how = "as asked" if wanted == "base" else "it has no chat template"
        modes = modes_of.base(f"{how}, the prompt is the bare text")
    if wanted is not None and wanted not in modes.entries:
        raise EntryError(f"{where} has no {wanted} mode: it is {modes.kind} ({modes.why})")
    return modes, wanted or modes.default


def _suffix(modes: modes_of.Modes, chosen: Mode, wanted: Mode | None, has_template: bool) -> str:
    two = modes.switch is not None or (chosen == "base" and wanted == "base" and has_template)
    return f"-{chosen}" if two else ""


def _stops(
    source: Artefacts, config: dict[str, Any], tokenizer: Any, template: ChatTemplate | None
) -> stops.Stops:
    inner = config.get("text_config")
    eos = config.get("eos_token_id") or (inner.get("eos_token_id") if isinstance(inner, dict) else None)
    named = {
        "generation_config.json": (artefacts.table(source, "generation_config.json") or {}).get(
            "eos_token_id"
        ),
        "config.json": eos,
        "tokenizer": tokenizer.eos_token_id,
    }
    ends = stops.find(
        named,
        tokens.added_tokens(tokenizer),
        tokenizer.convert_ids_to_tokens if len(tokenizer) else lambda token: None,
        modes_of.end_of_turn(template) if template else "",
    )
    if not ends.ids and template is not None:
        raise EntryError(
            f"{source.where} names no end of sequence: expected eos_token_id in generation_config.json or "
            "config.json, or eos_token in tokenizer_config.json; nothing would stop the model"
        )
    return ends


def _begins_with_bos(tokenizer: Any, template: ChatTemplate, arguments: dict[str, Any]) -> bool:
    ids = tokens.ids(tokenizer, [template.user(modes_of.PROBE, arguments)])[0]
    return bool(ids) and ids[0] == tokenizer.bos_token_id


def _warnings(*lines: str) -> tuple[str, ...]:
    return tuple(line for line in lines if line)


def content_of(source: Artefacts, count: Audit) -> str:
    """SHA-256 over a folder's files that decide outputs: weights, configuration, tokenizer, template."""
    weights = {file.name: file.sha256 for file in count.files}
    whole = hashlib.sha256()
    for name in sorted(source.names()):
        if name in weights or (
            name.endswith(_DECIDES) and not name.endswith((".safetensors", ".index.json"))
        ):
            digest = weights.get(name) or hashlib.sha256(source.whole(name)).hexdigest()
            whole.update(f"{name} {digest}\n".encode())
    return whole.hexdigest()
