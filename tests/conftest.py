"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from letorlab.queries import Queries, offsets_from_sizes

# The same examples on every machine, and no verdict from a clock.
settings.register_profile("letorlab", deadline=None, derandomize=True)
settings.load_profile("letorlab")


@pytest.fixture(scope="session")
def letor_home() -> Path:
    """The folder of the real LETOR files; tests that need it are skipped where LETOR_HOME is not set."""
    home = os.environ.get("LETOR_HOME")
    if not home:
        pytest.skip("LETOR_HOME is not set: the real LETOR files are needed here")
    return Path(home)


def random_queries(
    seed: int, *, n_queries: int = 7, grades: int = 3, n_features: int = 4, ties: bool = False
) -> Queries:
    """Small random queries of 1 to 12 documents; `ties` rounds the features so that documents coincide."""
    rng = np.random.default_rng(seed)
    offsets = offsets_from_sizes(rng.integers(1, 13, n_queries))
    X = rng.normal(size=(offsets[-1], n_features))
    return Queries(
        X=np.round(X) if ties else X,
        y=rng.integers(0, grades, offsets[-1]).astype(float),
        offsets=offsets,
        qid=np.array([f"q{q}" for q in range(n_queries)]),
        docid=np.arange(offsets[-1]).astype(str),
    )
