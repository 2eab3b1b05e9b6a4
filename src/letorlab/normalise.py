"""Normalisation of features: a step between the text and everything that is computed from it.

A feature that is constant where it is normalised becomes 0 there, single documents included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from letorlab.atomic import atomic_path
from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, Queries

HUGE = 1e18  # beyond it, squares are infinite in single precision, and no method can compute with a feature


def query_minmax(X: Floats, offsets: Ints) -> Floats:
    """Scale every feature to 0..1 within each query: LETOR's QueryLevelNorm.

    Parameters
    ----------
    X : (n_docs, n_features) float64
        Features.
    offsets : (n_queries + 1,) int64
        Bounds of the queries.
    """
    low = np.minimum.reduceat(X, offsets[:-1])
    return _scaled(X, offsets, low, np.maximum.reduceat(X, offsets[:-1]) - low)


def query_standard(X: Floats, offsets: Ints) -> Floats:
    """Shift and scale every feature to mean 0 and variance 1 within each query."""
    sizes = np.diff(offsets)
    low = np.minimum.reduceat(X, offsets[:-1])
    shifted = X - np.repeat(low, sizes, axis=0)  # a constant is now 0 exactly, and so are its mean and variance
    mean = np.add.reduceat(shifted, offsets[:-1]) / sizes[:, None]
    variance = np.add.reduceat((shifted - np.repeat(mean, sizes, axis=0)) ** 2, offsets[:-1]) / sizes[:, None]
    return _scaled(shifted, offsets, mean, np.sqrt(variance))


def unchanged(X: Floats, offsets: Ints) -> Floats:
    """The features as they are."""
    return X


# `global_standard` is that of a fold's training documents, so it is not known before the folds: see `fold_scaling`.
NORMALISATIONS: dict[str, Callable[[Floats, Ints], Floats]] = {
    "none": unchanged,
    "query_minmax": query_minmax,
    "query_standard": query_standard,
    "global_standard": unchanged,
}


def normalised(queries: Queries, how: str, *, largest: float | None = None) -> Queries:
    """Clip values to -largest..largest, then normalise within queries.

    Raises
    ------
    InputError
        If a value is too large to compute with, and `largest` does not say what to do.
    """
    X = queries.X if largest is None else np.clip(queries.X, -largest, largest)
    extreme = np.abs(X).max(axis=0)
    if (extreme > HUGE).any():
        feature = int(np.argmax(extreme))
        raise InputError(
            f"feature {feature + 1} holds {extreme[feature]:g}, which no method can square; give the data set a bound, "
            "as in `largest: 1.0e+6`, to which such values are clipped"
        )
    return replace(queries, X=NORMALISATIONS[how](X, queries.offsets))


def fold_scaling(train: Sequence[Queries]) -> tuple[Floats, Floats]:
    """Mean and standard deviation, (n_features,) each, of the training documents; the latter 1 where it is 0."""
    n = sum(part.n_docs for part in train)
    mean = sum((part.X.sum(axis=0) for part in train), np.zeros(train[0].n_features)) / n
    squares = sum((((part.X - mean) ** 2).sum(axis=0) for part in train), np.zeros(len(mean)))
    low, high = (f([f(part.X, axis=0) for part in train], axis=0) for f in (np.min, np.max))
    return mean, np.where(low == high, 1.0, np.sqrt(squares / n))


def save_scaling(path: str | Path, scaling: tuple[Floats, Floats]) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, shift=scaling[0], scale=scaling[1])


def load_scaled(queries: Queries, path: Path) -> Queries:
    """The queries with the scaling of their fold, if there is one at `path`."""
    if not path.exists():
        return queries
    with np.load(path, allow_pickle=False) as file:
        return replace(queries, X=(queries.X - file["shift"]) / file["scale"])


def fill_nulls(X: Floats, offsets: Ints, *, zero: Sequence[int] = ()) -> None:
    """Put the least value of its query in the place of every NaN, 0 if all are NaN, and 0 in the features `zero`.

    LETOR's Feature-min files hold the minimum for most features, but 0 for BM25 and its logarithm, whatever the others
    are: features 11, 12, 26, 27, 41 and 42 of OHSUMED. Numbers count from 1.
    """
    least = np.nan_to_num(np.fmin.reduceat(X, offsets[:-1]), nan=0.0)
    least[:, [number - 1 for number in zero if number <= X.shape[1]]] = 0.0
    rows, columns = np.nonzero(np.isnan(X))
    X[rows, columns] = least[np.searchsorted(offsets, rows, "right") - 1, columns]


def _scaled(X: Floats, offsets: Ints, shift: Floats, width: Floats) -> Floats:
    """(X - shift) / width with one shift and width for each query and feature."""
    sizes = np.diff(offsets)
    return (X - np.repeat(shift, sizes, axis=0)) / np.repeat(np.where(width == 0.0, 1.0, width), sizes, axis=0)
