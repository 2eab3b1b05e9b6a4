"""Seeded data in the shape of LETOR, of any size, with a part that no linear scorer can see.

Relevance grows with a score of the normalised features that is half linear, half a bump in one feature and an
interaction of two; to it come a level of the query and noise. So methods can be told apart on it in a minute.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from letorlab.errors import InputError
from letorlab.letor import write_letor
from letorlab.normalise import query_minmax
from letorlab.queries import Floats, Ints, Queries, offsets_from_sizes
from letorlab.seeds import Seed, stream

PARTS = 5
MIN_FEATURES = 5  # a bump, an interaction of two, something linear, a constant


def write_toy(
    folder: str | os.PathLike[str],
    *,
    queries: int,
    documents: Sequence[int],
    features: int,
    grades: int,
    seed: Seed,
) -> None:
    """Write `make_toy` as the five parts of a LETOR data set, S1.txt to S5.txt, of contiguous queries.

    Parameters are those of `make_toy`; the same ones give the same bytes.

    Raises
    ------
    InputError
        As `make_toy`, and if there are fewer than five queries: every part needs one.
    """
    if queries < PARTS:
        raise InputError(f"toy data has {PARTS} parts of at least one query; got queries: {queries}")
    data = make_toy(queries=queries, documents=documents, features=features, grades=grades, seed=seed)
    bounds = np.linspace(0, queries, PARTS + 1).astype(int)
    for part in range(PARTS):
        write_letor(_slice(data, bounds[part], bounds[part + 1]), Path(folder) / f"S{part + 1}.txt")


def make_toy(*, queries: int, documents: Sequence[int], features: int, grades: int, seed: Seed) -> Queries:
    """Draw a LETOR-shaped data set.

    Parameters
    ----------
    queries : int
        Number of queries, at least 1; qids are 1, 2, ...
    documents : [low, high]
        Bounds of the number of documents of a query, both included, low at least 1.
    features : int
        At least 5. They are min-max normalised within each query and rounded to six decimals, as LETOR's
        QueryLevelNorm; the last one is constant in every query, and so 0.
    grades : int
        Grades of relevance 0, 1, ..., at least 2. About 13 percent of the documents are relevant with two
        grades and 10 percent more with each further one, higher grades being rarer.
    seed : int, str or sequence of them
        Data sets of one study need different ones, for example ``[seed, name]``.

    Returns
    -------
    Queries
        One query in 30, at least one and at most two, has no relevant document (if there are 10 or more);
        about one document in 40 is a copy of another, under its own docid.

    Raises
    ------
    InputError
        If a number is too small.
    """
    _check_arguments(queries, documents, features, grades)
    rng = stream(seed, "toy")
    low, high = documents
    offsets = offsets_from_sizes(rng.integers(low, high, size=queries, endpoint=True))
    X = np.round(query_minmax(_raw_features(rng, offsets, features), offsets), 6)
    level = np.repeat(rng.normal(0.0, 0.4, size=queries), np.diff(offsets))
    utility = true_scores(X, seed=seed) + level + rng.normal(0.0, 0.35, size=len(X))
    y = _grades(utility, offsets, grades)
    _silence(rng, y, offsets)
    return Queries(
        X=X,
        y=y,
        offsets=offsets,
        qid=np.arange(1, queries + 1).astype(str),
        docid=np.array([f"toy-{number:06d}" for number in rng.permutation(len(X))]),
    )


def true_scores(X: Floats, *, seed: Seed) -> Floats:
    """The score (n_docs,) that relevance was drawn from, without noise: the best that a method can learn.

    Parameters
    ----------
    X : (n_docs, n_features) float64
        Features of `make_toy`, or others with values in [0, 1].
    seed : int, str or sequence of them
        The seed of the data.
    """
    weights = stream(seed, "toy weights").normal(size=X.shape[1] - 1)
    weights[:3] = 0.0  # the features of the nonlinear part
    centred = 2.0 * X - 1.0  # -1..1
    linear = centred[:, :-1] @ weights / np.linalg.norm(weights)
    bump = np.exp(-8.0 * centred[:, 0] ** 2)
    interaction = centred[:, 1] * centred[:, 2]
    return 1.2 * linear + 1.6 * bump + 2.0 * interaction


def _raw_features(rng: np.random.Generator, offsets: Ints, n_features: int) -> Floats:
    """(n_docs, n_features) as a search engine counts them: each query has its own scales and skewness."""
    sizes = np.diff(offsets)
    skewness = np.exp(rng.normal(0.0, 0.3, size=(len(sizes), n_features)))
    scale = np.exp(rng.normal(0.0, 1.0, size=(len(sizes), n_features)))
    uniform = rng.random((offsets[-1], n_features))
    X = np.repeat(scale, sizes, axis=0) * uniform ** np.repeat(skewness, sizes, axis=0)
    X[:, -1] = 3.0
    _copy_some(rng, X, offsets)
    return X


def _copy_some(rng: np.random.Generator, X: Floats, offsets: Ints) -> None:
    """Make about one document in 40, and at least one, a copy of its predecessor in the query."""
    follows = np.ones(len(X), dtype=bool)
    follows[offsets[:-1]] = False
    candidates = np.flatnonzero(follows)
    n_copies = min(len(candidates), max(1, len(X) // 40))
    copies = np.sort(rng.choice(candidates, size=n_copies, replace=False))
    for row in copies:
        X[row] = X[row - 1]


def _grades(utility: Floats, offsets: Ints, grades: int) -> Floats:
    """Grades (n_docs,) by thresholds that hold for all queries; the best document of each has one."""
    relevant = min(0.13 + 0.1 * (grades - 2), 0.5)
    steps = 0.6 ** np.arange(grades - 1)  # grade g + 1 is 0.6 times as frequent as grade g
    at_least = relevant * np.cumsum(steps[::-1])[::-1] / steps.sum()  # share of grade >= 1, >= 2, ...
    y = np.searchsorted(np.quantile(utility, 1.0 - at_least), utility).astype(np.float64)
    best = np.array([start + np.argmax(utility[start:end]) for start, end in _bounds(offsets)])
    y[best] = np.maximum(y[best], 1.0)
    return y


def _silence(rng: np.random.Generator, y: Floats, offsets: Ints) -> None:
    """Take every relevant document from one or two queries, if there are ten or more."""
    n_queries = len(offsets) - 1
    if n_queries < 10:
        return
    for query in rng.choice(n_queries, size=1 if n_queries < 60 else 2, replace=False):
        y[offsets[query] : offsets[query + 1]] = 0.0


def _bounds(offsets: Ints) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


def _slice(data: Queries, first: int, last: int) -> Queries:
    """Queries first..last - 1."""
    rows = slice(data.offsets[first], data.offsets[last])
    return Queries(
        X=data.X[rows],
        y=data.y[rows],
        offsets=data.offsets[first : last + 1] - data.offsets[first],
        qid=data.qid[first:last],
        docid=data.docid[rows],
    )


def _check_arguments(queries: int, documents: Sequence[int], features: int, grades: int) -> None:
    for name, value, least in (
        ("queries", queries, 1),
        ("features", features, MIN_FEATURES),
        ("grades", grades, 2),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"toy data: {name} must be a whole number of at least {least}; got {value!r}")
    whole = isinstance(documents, Sequence) and all(type(number) is int for number in documents)
    if not whole or len(documents) != 2 or not 1 <= documents[0] <= documents[1]:
        raise InputError(
            f"toy data: documents must be [low, high], whole numbers with 1 <= low <= high; got {documents!r}"
        )
