"""A worker that speaks the frames without vLLM: it echoes, and misbehaves when a prompt tells it to.

Prompt [1]: dies. Prompt [2]: dies once (a file in the model folder remembers). Prompt [3]: hangs.
Prompt [4]: is slow.
Else the text is the prompt's length, and the seed.
"""

import os
import sys
import time
from pathlib import Path

from nanolm.engines import frames


def main() -> None:
    with os.fdopen(int(sys.argv[1]), "rb") as source, os.fdopen(int(sys.argv[2]), "wb") as out:
        settings = frames.read_for_worker(source)
        assert isinstance(settings, frames.Settings)
        folder = Path(settings.model)
        if (folder / "broken").exists():
            print("no such model")
            sys.exit(3)
        (folder / f"pid-{os.getpid()}").touch()
        frames.write(out, frames.Ready(version="0", settings={"max_num_seqs": settings.max_num_seqs or 8}))
        while (message := frames.read_for_worker(source)) is not None:
            if isinstance(message, frames.Score):
                frames.write(out, frames.Scored(number=message.number, value=-float(message.start)))
            if not isinstance(message, frames.Ask):
                continue
            if message.prompt_ids == (1,):
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
            done = frames.Done(number=message.number, text=text, finish_reason="stop", output_tokens=1)
            frames.write(out, done)


if __name__ == "__main__":
    main()
