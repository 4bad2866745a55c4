"""A worker that speaks the frames without vLLM: it echoes, and misbehaves when a prompt tells it to.

Files in the model folder: `slow`; `dies` and `hangs` with the seeds that make it do so.

Prompt [1]: dies. Prompt [2]: dies once (a file in the model folder remembers). Prompt [3]: hangs.
Prompt [4]: is slow.
Else the text is the prompt's length, and the seed.
"""

import os
import sys
import time
from pathlib import Path

from nanolm.engines import frames


def _seeds(path: Path) -> set[int]:
    return set(map(int, path.read_text().split())) if path.exists() else set()


def answer(
    message: frames.Ask | frames.Score, folder: Path, dies: set[int], hangs: set[int]
) -> frames.Done | frames.Scored:
    if isinstance(message, frames.Score):
        return frames.Scored(number=message.number, value=-float(message.start))
    if (folder / "slow").exists():
        time.sleep(0.05)
    if message.seed in hangs:
        time.sleep(3600)
    if message.prompt_ids == (1,) or message.seed in dies:
        os._exit(9)
    if message.prompt_ids == (2,) and not (folder / "died").exists():
        (folder / "died").touch()
        print("CUDA out of memory")
        sys.stdout.flush()
        os._exit(1)
    if message.prompt_ids == (3,):
        time.sleep(3600)
    if message.prompt_ids == (4,):
        time.sleep(0.02)
    text = f"{len(message.prompt_ids)} {message.seed}"
    return frames.Done(number=message.number, text=text, finish_reason="stop", output_tokens=1)


def main() -> None:
    with os.fdopen(int(sys.argv[1]), "rb") as source, os.fdopen(int(sys.argv[2]), "wb") as out:
        settings = frames.read_for_worker(source)
        assert isinstance(settings, frames.Settings)
        folder = Path(settings.model)
        if (folder / "broken").exists():
            print("no such model")
            sys.exit(3)
        (folder / f"pid-{os.getpid()}").touch()
        dies, hangs = (_seeds(folder / name) for name in ("dies", "hangs"))
        frames.write(out, frames.Ready(version="0", settings={"max_num_seqs": settings.max_num_seqs or 8}))
        while (message := frames.read_for_worker(source)) is not None:
            for one in message.messages if isinstance(message, frames.Work) else ():
                frames.write(out, answer(one, folder, dies, hangs))


if __name__ == "__main__":
    main()
