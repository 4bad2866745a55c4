"""A causal model of transformers that reads trees of tokens: log-probabilities, and nothing more than them.

Three things make it fast: what alternatives share is read once (`trees`), only tokens that predict a scored
one go through the output head, and rows of like length are read together. Not every architecture allows
the first two (a state-space layer can't branch, a model may alter its logits after the head), so both are
tried on a few random tokens when the model is loaded and left out when they change a log-probability.
"""

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import msgspec

from nanolm.engines import trees
from nanolm.engines.trees import Tree
from nanolm.errors import EngineError, counted
from nanolm.schema import Alternative

HEAD_BYTES = 100 << 20
"""What the logits of the positions that go through the output head at once may take of memory."""
MOST_ROWS, LEAST_ROWS = 512, 64
"""So many positions at most, and so many whatever their logits take."""
_SUM_ROWS = 16
TOLERANCE = {"float32": 2e-3, "bfloat16": 0.5, "float16": 0.1}
"""Nats by which a whole alternative of the probe may differ; the precision of sums differs with the type."""


class Read(msgspec.Struct, frozen=True):
    """What was found for some alternatives, in their order."""

    loglikelihoods: list[float]
    greedy: list[bool]


class Reader:
    """A loaded model. `EngineError` when it can't be loaded."""

    def __init__(self, model: str, *, revision: str | None, dtype: str, threads: int | None = None) -> None:
        torch, transformers = _libraries()
        self._torch = torch
        self.threads = threads or len(os.sched_getaffinity(0))
        torch.set_num_threads(self.threads)
        self.dtype = dtype
        try:
            loaded, told = transformers.AutoModelForCausalLM.from_pretrained(
                model,
                revision=revision,
                dtype=getattr(torch, dtype),
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # told below, in words of their own
                output_loading_info=True,
            )
        except Exception as error:  # transformers raises whatever its parts raise
            words = " ".join(str(error).split())[:300]
            raise EngineError(f"transformers can't load {model}: {type(error).__name__}: {words}") from error
        _check_whole(model, told)
        self.model: Any = loaded.eval()
        self.left_out = sorted(map(str, told.get("unexpected_keys", ())))
        """Tensors of the checkpoint that the architecture has no place for."""
        self._config = getattr(self.model.config, "text_config", None) or self.model.config
        if getattr(self._config, "attn_logit_softcapping", None):
            self.model.set_attn_implementation("eager")  # torch's fused attention knows no such cap
        self.window = _window(self._config)
        size = 4 * int(self._config.vocab_size)
        self._rows = max(LEAST_ROWS, min(MOST_ROWS, HEAD_BYTES // size))
        self._buffer: Any = None
        self.direct = self.shared = False
        self.direct = self._agrees(shared=False)
        self.shared = self._agrees(shared=True)

    def read(self, rows: Sequence[Tree]) -> list[list[tuple[float, bool]]]:
        """For each row, each predicted token's log-probability (nats) and whether it is the likeliest."""
        torch = self._torch
        width = max(len(row.tokens) for row in rows)
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        for line, row in enumerate(rows):
            ids[line, : len(row.tokens)] = torch.tensor(row.tokens)
        arguments: dict[str, Any] = {"input_ids": ids, "use_cache": False}
        branching = not all(row.chain for row in rows)
        if branching:
            arguments |= self._branching(rows, width)
        # alternatives that part after a node, or share it, ask for several tokens behind one
        nodes: dict[tuple[int, int], int] = {}
        asked = [
            nodes.setdefault((line, place), len(nodes))
            for line, row in enumerate(rows)
            for place in row.places
        ]
        targets = [target for row in rows for target in row.targets]
        with torch.inference_mode(), self._attention(branching):
            hidden = self._hidden(arguments, torch.tensor(list(nodes), dtype=torch.long))
            values, greedy = self._predictions(hidden, torch.tensor(asked), torch.tensor(targets))
        pairs = iter(zip(values, greedy, strict=True))
        return [[next(pairs) for _ in row.places] for row in rows]

    def _branching(self, rows: Sequence[Tree], width: int) -> dict[str, Any]:
        """Positions, and who sees whom; padding sees itself."""
        torch = self._torch
        place = torch.arange(width)
        end = (place + 1).repeat(len(rows), 1)
        depths = torch.zeros((len(rows), width), dtype=torch.long)
        for line, row in enumerate(rows):
            end[line, : len(row.end)] = torch.tensor(row.end)
            depths[line, : len(row.depths)] = torch.tensor(row.depths)
        sees = (place[None, None, :] <= place[None, :, None]) & (place[None, :, None] < end[:, None, :])
        dtype = self.model.dtype
        mask = torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)
        return {"attention_mask": mask[:, None], "position_ids": depths}

    def _attention(self, branching: bool) -> contextlib.AbstractContextManager[object]:
        """torch's plain attention where there is a mask: as fast as the fused one, and nearer to float64."""
        if not branching:
            return contextlib.nullcontext()
        from torch.nn import attention

        plain: contextlib.AbstractContextManager[object] = attention.sdpa_kernel([attention.SDPBackend.MATH])
        return plain

    def _hidden(self, arguments: dict[str, Any], nodes: Any) -> Any:
        """What the output head reads at `nodes` (n x 2: row and place), or the logits themselves."""
        lines, places = nodes.unbind(1)
        if self.direct:
            return self.model.base_model(**arguments).last_hidden_state[lines, places]
        return self.model(**arguments).logits[lines, places]

    def _predictions(self, hidden: Any, asked: Any, targets: Any) -> tuple[list[float], list[bool]]:
        """For each target the log-probability behind its node, `asked`, and whether none is likelier."""
        torch = self._torch
        values = torch.empty(len(targets))
        greedy = torch.empty(len(targets), dtype=torch.bool)
        order = torch.argsort(asked, stable=True)
        starts = range(0, len(hidden), self._rows)
        ends = torch.searchsorted(asked[order], torch.tensor([start + self._rows for start in starts]))
        done = 0
        for start, end in zip(starts, ends.tolist(), strict=True):
            part = hidden[start : start + self._rows]
            logits = (self._head(part) if self.direct else part).float()
            likeliest = logits.amax(dim=-1)
            totals = self._total(logits, likeliest)
            these = order[done:end]
            nodes = asked[these] - start
            chosen = logits[nodes, targets[these]]
            values[these] = chosen - totals[nodes]
            greedy[these] = chosen == likeliest[nodes]
            done = end
        return values.tolist(), greedy.tolist()

    def _total(self, logits: Any, likeliest: Any) -> Any:
        """log of the sum of exp over the vocabulary, a few rows at a time: they stay in the cache."""
        parts = [
            (logits[at : at + _SUM_ROWS] - likeliest[at : at + _SUM_ROWS, None]).exp_().sum(dim=-1)
            for at in range(0, len(logits), _SUM_ROWS)
        ]
        return self._torch.cat(parts).log_() + likeliest

    def _head(self, hidden: Any) -> Any:
        """Logits as the architecture's own forward makes them from the last hidden state."""
        logits = self._multiplied(self.model.get_output_embeddings(), hidden)
        cap = getattr(self._config, "final_logit_softcapping", None)
        if cap:
            logits = self._torch.tanh(logits / cap) * cap
        scaling = getattr(self._config, "logits_scaling", None)
        if scaling:
            logits = logits / scaling
        return logits * (getattr(self._config, "logit_scale", None) or 1)

    def _multiplied(self, head: Any, hidden: Any) -> Any:
        """The head's product, in memory that is taken once: new pages for each cost a fifth of its time."""
        if type(head) is not self._torch.nn.Linear or head.bias is not None:
            return head(hidden)
        if self._buffer is None:
            self._buffer = hidden.new_empty((self._rows, head.out_features))
        return self._torch.mm(hidden, head.weight.t(), out=self._buffer[: len(hidden)])

    def _agrees(self, shared: bool) -> bool:
        """Whether the quick way gives what the model's own forward gives, on random tokens."""
        probe = _probe(int(self._config.vocab_size))
        expected = self._plainly(probe)
        before = self.direct
        self.direct = before or not shared
        try:
            rows = trees.forest(probe, shared)
            found = totals([(row, self.read([row])[0]) for row in rows], len(probe))
        except Exception:  # an architecture that takes no such arguments
            found = None
        self.direct = before
        close = TOLERANCE.get(self.dtype, TOLERANCE["float32"])
        return found is not None and all(
            abs(one - other) <= close for one, other in zip(found.loglikelihoods, expected, strict=True)
        )

    def _plainly(self, probe: Sequence[Alternative]) -> list[float]:
        torch = self._torch
        found = []
        with torch.inference_mode():
            for one in probe:
                logits = self.model(input_ids=torch.tensor([one.ids]), use_cache=False).logits[0].float()
                chances = torch.log_softmax(logits, dim=-1)
                found.append(
                    sum(float(chances[at - 1, one.ids[at]]) for at in range(one.start, len(one.ids)))
                )
        return found


def totals(rows: Sequence[tuple[Tree, Sequence[tuple[float, bool]]]], alternatives: int) -> Read:
    """Sums over each alternative's tokens, by the rows' owners."""
    values = [0.0] * alternatives
    greedy = [True] * alternatives
    for row, predicted in rows:
        for owner, (value, likeliest) in zip(row.owners, predicted, strict=True):
            values[owner] += value
            greedy[owner] = greedy[owner] and likeliest
    return Read(values, greedy)


def _check_whole(model: str, told: dict[str, Any]) -> None:
    """`EngineError` where transformers would fill in random weights for what the checkpoint lacks."""
    problems = {
        "lacks": sorted(map(str, told.get("missing_keys", ()))),
        "has other shapes of": sorted(f"{one[0]}" for one in told.get("mismatched_keys", ())),
    }
    for problem, names in problems.items():
        if names:
            raise EngineError(
                f"the checkpoint of {model} {problem} {counted(len(names), 'tensor')} that its config.json "
                f"asks for ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}); it is not whole, or of "
                "another architecture: get it again"
            )


def _probe(vocabulary: int) -> list[Alternative]:
    """Three alternatives that branch twice, of tokens spread over the vocabulary."""
    spread = [(7919 * (step + 1)) % vocabulary for step in range(40)]
    stem, branch = spread[:12], spread[12:16]
    ends = ((*branch, *spread[16:21]), (*branch, *spread[21:30]), tuple(spread[30:36]))
    return [Alternative((*stem, *end), len(stem)) for end in ends]


def _window(config: Any) -> int | None:
    """The shortest span that some layer's attention is limited to, tokens; None when there is no limit.

    Branching gives every layer the same mask, so a tree that is deeper must be read as chains.
    """
    found = []
    with contextlib.suppress(AttributeError, TypeError):
        for name, value in config.to_dict().items():
            limited = "window" in name or "chunk" in name
            if limited and isinstance(value, int) and not isinstance(value, bool) and value > 0:
                found.append(value)
    return min(found, default=None)


def _libraries() -> tuple[Any, Any]:
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        import torch
        import transformers
    except ImportError as error:
        raise EngineError(
            f"{error.name} is not installed; install it with `pip install 'nanolm[transformers]'`, or choose "
            "another engine with --engine"
        ) from error
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return torch, transformers
