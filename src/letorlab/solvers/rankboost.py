"""The two halves of a round of RankBoost: weights of all strict pairs, and the best step on one feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, Queries, query_of_docs

LARGEST_SHARE = 1.0 - 1e-10  # a step that makes no mistake would be infinite
WEIGHTINGS = ("pairs", "queries")


class PairWeights:
    """Weights exp(-(s_i - s_j)) of the strict pairs (i, j) of every query, which are products of two document weights.

    So their sums over the pairs of a document need one number for every grade of its query: O(n_docs) in all.

    Parameters
    ----------
    queries : Queries
    weighting : {"pairs", "queries"}
        Whether all pairs start with equal weight, or each query's pairs together with weight 1.

    Raises
    ------
    InputError
        If the weighting is unknown, or no query has two documents of different relevance.
    """

    def __init__(self, queries: Queries, weighting: str) -> None:
        if weighting not in WEIGHTINGS:
            raise InputError(f"unknown weighting {weighting!r}; known: {', '.join(WEIGHTINGS)}")
        grades, grade = np.unique(queries.y, return_inverse=True)
        self._starts, self._query = queries.offsets[:-1], query_of_docs(queries.offsets)
        self._shape = (queries.n_queries, len(grades))
        self._cell = self._query * len(grades) + grade
        counts = self._sums(np.ones(queries.n_docs))
        n_pairs = (counts * _before(counts)).sum(1)
        if not n_pairs.any():
            raise InputError(
                f"none of the {queries.n_queries} queries has documents of different relevance: "
                "there is no pair to learn from. Check the labels, or the qid column"
            )
        self.n_pairs = int(n_pairs.sum())
        weight = n_pairs > 0 if weighting == "pairs" else 1.0 / np.maximum(n_pairs, 1.0) * (n_pairs > 0)
        self._weight = weight / float(weight @ n_pairs)  # of a pair, by query

    def evaluate(self, scores: Floats) -> tuple[float, Floats]:
        """The loss, and for each document the weight of its pairs where it is better less of those where it is worse.

        The loss is the sum of the weights of all pairs, 1 at equal scores.
        """
        rising, falling = self._halves(scores)
        below, above = _before(self._sums(rising)), _after(self._sums(falling))
        better = falling * below.ravel()[self._cell]
        weight = self._weight[self._query]
        return float(weight @ better), weight * (better - rising * above.ravel()[self._cell])

    def _halves(self, scores: Floats) -> tuple[Floats, Floats]:
        """exp(s) and exp(-s), scores centred on each query so that neither overflows."""
        centre = 0.5 * (np.maximum.reduceat(scores, self._starts) + np.minimum.reduceat(scores, self._starts))
        centred = scores - centre[self._query]
        return np.exp(centred), np.exp(-centred)

    def _sums(self, values: Floats) -> Floats:
        """Sums (n_queries, n_grades)."""
        sums = np.zeros(self._shape)
        np.add.at(sums.reshape(-1), self._cell, values)
        return sums


def _before(sums: Floats) -> Floats:
    """Sums over lower grades."""
    return np.cumsum(sums, axis=1) - sums


def _after(sums: Floats) -> Floats:
    """Sums over higher grades."""
    return np.cumsum(sums[:, ::-1], axis=1)[:, ::-1] - sums


@dataclass(frozen=True)
class Step:
    """alpha where a feature is above its threshold number `place`, 0 elsewhere."""

    feature: int
    place: int
    alpha: float


class Stumps:
    """All steps 1[x_k > threshold] on the training documents.

    Parameters
    ----------
    X : (n_docs, n_features) float64
    n_thresholds : int or None
        At most so many of a feature, at quantiles of its different values; None: between all of them.

    Attributes
    ----------
    thresholds : list of (m_k,) float64
        Of each feature, rising.
    """

    def __init__(self, X: Floats, n_thresholds: int | None) -> None:
        if n_thresholds is not None and not n_thresholds >= 1:
            raise InputError(f"n_thresholds must be a whole number of at least 1, or None; got {n_thresholds}")
        self.thresholds = [_thresholds(column, n_thresholds) for column in X.T]
        sizes = np.array([len(cuts) + 1 for cuts in self.thresholds])
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        self._feature = np.repeat(np.arange(len(sizes)), sizes)
        cells = self.codes(X) + self._first[:-1]
        n_docs, n_features = X.shape
        documents = np.repeat(np.arange(n_docs), n_features)
        ones = np.ones(n_docs * n_features)
        self._members = csr_array((ones, (cells.ravel(), documents)), shape=(self._first[-1], n_docs))

    def codes(self, X: Floats) -> Ints:
        """How many thresholds of its feature each value is above, (n_docs, n_features)."""
        columns = [np.searchsorted(cuts, column, "left") for cuts, column in zip(self.thresholds, X.T, strict=True)]
        return np.stack(columns, axis=1)

    def best(self, potential: Floats, loss: float) -> Step:
        """The step whose pairs' weight ordered rightly, less that ordered wrongly, is farthest from 0."""
        upto = np.cumsum(self._members @ potential)
        ends = upto[self._first[1:] - 1]
        # potential above a threshold; at a feature's last value nothing is above, and the share is 0
        above = (ends[self._feature] - upto) / loss
        above[self._first[1:] - 1] = 0.0
        cell = int(np.argmax(np.abs(above)))
        share = float(np.clip(above[cell], -LARGEST_SHARE, LARGEST_SHARE))
        feature = int(self._feature[cell])
        return Step(feature, cell - int(self._first[feature]), float(np.arctanh(share)))

    def table(self, steps: list[Step]) -> list[Floats]:
        """The sum of steps as a value for each code, feature by feature."""
        jumps = [np.zeros(len(cuts) + 1) for cuts in self.thresholds]
        for step in steps:
            jumps[step.feature][step.place + 1] += step.alpha
        return [np.cumsum(jump) for jump in jumps]


def _thresholds(column: Floats, n_thresholds: int | None) -> Floats:
    """Midpoints of neighbouring values, or as many of them as wanted, evenly spread over the values."""
    values = np.unique(column)
    cuts = 0.5 * (values[1:] + values[:-1])
    if n_thresholds is None or len(cuts) <= n_thresholds:
        return cuts
    return cuts[np.linspace(0, len(cuts) - 1, n_thresholds).round().astype(np.int64)]
