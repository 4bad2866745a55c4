"""Seeds of samples: fixed for ever by benchmark, item and sample (protocol §5, "fixed seeds")."""

import hashlib


def seed(benchmark: str, item: str, sample: int) -> int:
    """The seed of one sample: 31 bits, from SHA-256 of `"<benchmark>/<item>/<sample>"`.

    Never from the edition, so that a patch edition (§10) finds the same record; never one seed for
    all items, since equal random streams would correlate their errors.
    """
    digest = hashlib.sha256(f"{benchmark}/{item}/{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
