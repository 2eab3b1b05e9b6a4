"""Reference scorers: what a method must beat before it is worth a look."""

from __future__ import annotations

import hashlib
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.pairwise import StrictPairs
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result


class BestFeature(BaseEstimator):
    """Rank by the one feature, rising or falling, that orders most strict training pairs correctly.

    Attributes
    ----------
    feature_ : int
        Column of X, from 0.
    sign_ : float
        1 or -1.
    concordance_ : float
        Share of training pairs that it orders correctly, ties counting one half.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> Self:
        features, relevance = fit_arrays(self, X, y)
        queries = Queries.from_rows(features, relevance, qid)
        pairs = StrictPairs(queries.y, queries.offsets)
        share = np.array([pairs.concordance(column) for column in queries.X.T])
        self.feature_ = int(np.argmax(np.abs(share - 0.5)))
        self.sign_ = 1.0 if share[self.feature_] >= 0.5 else -1.0
        self.concordance_ = float(max(share[self.feature_], 1 - share[self.feature_]))
        self.result_ = _exact(np.array([self.sign_]), 1.0 - self.concordance_, len(share))
        self.fit_facts_: dict[str, Any] = {"n_pairs": pairs.n_pairs}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        features = predict_array(self, X)
        return self.sign_ * features[:, self.feature_]


class RandomScores(BaseEstimator):
    """Scores uniform on [0, 1), drawn anew for every document but the same on every run.

    A score is a hash of the seed, the query and the features, so it depends neither on the order of the documents
    nor on which others are scored with it. Documents of a query that have equal features get equal scores, as from
    any ranker.

    Parameters
    ----------
    seed : int, default 0
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        fit_arrays(self, X, y)
        self.result_ = _exact(np.zeros(0), 0.0, 0)
        self.fit_facts_: dict[str, Any] = {}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        features = np.ascontiguousarray(predict_array(self, X))
        names = np.zeros(len(features), dtype=str) if qid is None else np.asarray(qid).astype(str)
        prefix = [f"{self.seed}\0{name}\0".encode() for name in names]
        return np.array([_uniform(start + x.tobytes()) for start, x in zip(prefix, features, strict=True)])


class ConstantScores(BaseEstimator):
    """The same score for every document: what remains is the order of the file, where the measure keeps it."""

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        fit_arrays(self, X, y)
        self.result_ = _exact(np.zeros(0), 0.0, 0)
        self.fit_facts_: dict[str, Any] = {}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        return np.zeros(len(predict_array(self, X)))


def _exact(coef: Floats, objective: float, n_iter: int) -> Result:
    """The result of a rule that is found by looking at every candidate, or has nothing to find."""
    return Result(coef, objective, relative_gap=None, n_iter=n_iter, converged=True)


def _uniform(key: bytes) -> float:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2.0**64
