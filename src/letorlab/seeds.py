"""Random streams named by what they are for, so that no stream depends on the order of the work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

Seed = int | str | Sequence[int | str]


def stream(*names: Seed) -> np.random.Generator:
    """The random generator of `names`, for example ``stream(seed, "resample", qid)``.

    The same names give the same stream on every machine and in every process; other names, 1 and "1"
    included, give an independent one. SHA-256 makes the names into the entropy of a NumPy SeedSequence.
    """
    text = json.dumps([_plain(name) for name in names])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest, "big")))


def _plain(name: Seed) -> int | str | list[int | str | list]:
    """Without NumPy's types, which JSON does not know."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, int | np.integer):
        return int(name)
    return [_plain(part) for part in name]
