"""The process that holds llama.cpp: JSON lines in on standard input, JSON lines out on standard output."""

import http.client
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit


def start(settings: dict[str, Any]) -> Any:
    """A loaded server. Raises what xllamacpp raises; it goes to the log."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.n_ctx = settings["context"]
    params.n_parallel = settings["slots"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams.poll = 0  # threads that spin lose all their time on a machine that others use too
    params.special = True  # §6.1 works on the text with its special tokens
    params.warmup = False
    params.ui = False
    params.fit_params = False  # the context is what it was asked to be
    params.cache_ram_mib = 0
    if settings["drafts"]:
        params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]
        params.speculative.ngram_mod.n_match = 16
        params.speculative.ngram_mod.n_max = 64
        # Steps over long replies take half the time without it on a processor; reading prompts takes longer.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(params)


class Tokenizer:
    """llama.cpp's tokenizer, which only its loopback port offers."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=60)

    def tokens(self, text: str) -> list[int]:
        body = json.dumps({"content": text, "add_special": False, "parse_special": True})
        self._connection.request("POST", "/tokenize", body, {"Content-Type": "application/json"})
        answer = json.loads(self._connection.getresponse().read())
        return list(answer["tokens"])


def main() -> None:
    """Until standard input ends, by the main process's death too: then at once, whatever is written."""
    settings = json.loads(sys.argv[1])
    out = sys.stdout
    server = start(settings)
    tokenizer = Tokenizer(server.listening_address)
    mutex = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        with mutex:
            out.write(json.dumps(message) + "\n")
            out.flush()

    def complete(number: int, parameters: dict[str, Any]) -> None:
        started = time.monotonic()
        try:
            answer = server.handle_completions(parameters)
        except Exception as error:
            answer = {"error": {"message": f"{type(error).__name__}: {error}"}}
        message: dict[str, Any] = {"number": number, "seconds": time.monotonic() - started}
        if "error" in answer:
            message["error"] = str(answer["error"].get("message", answer["error"]))
        else:
            choice = answer["choices"][0]
            message |= {
                "text": choice["text"],
                "finish_reason": "length" if choice["finish_reason"] == "length" else "stop",
                "output_tokens": answer["usage"]["completion_tokens"],
            }
        say(message)

    say({"ready": True})
    pool = ThreadPoolExecutor(settings["slots"])
    for line in sys.stdin:
        message = json.loads(line)
        if "tokenize" in message:
            say({"tokens": tokenizer.tokens(message["tokenize"])})
        else:
            pool.submit(complete, message["number"], message["parameters"])
    os._exit(0)


if __name__ == "__main__":
    main()
