"""Outputs of an earlier record as if a model wrote them now: to try a harness without a model."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nanolm import __version__
from nanolm.engines.engine import Generation
from nanolm.errors import EngineError
from nanolm.records import Record
from nanolm.schema import Request


class ReplayEngine:
    """Gives the recorded text for the same benchmark, item, sample, prompt and decoding, else an error."""

    name = "replay"
    version = __version__

    def __init__(self, folder: Path) -> None:
        """`folder` holds `outputs.jsonl` or `outputs.jsonl.zst`; `EngineError` when it holds none."""
        self._record = Record(folder)
        if not len(self._record):
            self._record.close()
            raise EngineError(
                f"--engine=replay: {folder} holds no recorded outputs; name a folder that does with"
                " --replay-from=DIR"
            )
        self.folder = folder

    def generate(self, requests: Sequence[Request]) -> Iterator[Generation]:
        """In the order of the requests."""
        for request in requests:
            output = self._record.get(request.benchmark, request.item, request.sample)
            if output is None:
                problem = f"{self.folder} holds no such output"
            elif output.prompt_digest != request.prompt_digest:
                problem = f"{self.folder} holds an output to another prompt ({output.prompt_digest})"
            elif output.decoding != request.decoding:
                problem = f"{self.folder} holds an output of another decoding ({output.decoding})"
            else:
                yield Generation(
                    request=request,
                    text=output.text,
                    finish_reason=output.finish_reason,
                    output_tokens=output.output_tokens,
                    error=output.error,
                    started=output.started,
                    seconds=output.seconds,
                )
                continue
            yield Generation(request=request, text="", finish_reason="error", error=problem)

    def score(self, prompt_ids: Sequence[int], continuation_ids: Sequence[int]) -> float:
        """Log-likelihoods are not recorded."""
        raise EngineError("--engine=replay has no log-likelihoods; choose --engine=vllm")

    def close(self) -> None:
        """May be called twice."""
        self._record.close()
