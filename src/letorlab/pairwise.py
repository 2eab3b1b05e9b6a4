"""Sums over all strict pairs of a query, by sorting instead of listing them.

A strict pair (i, j) are two documents of one query with y_i > y_j. With scores s, a margin loss sees it through
s_i - s_j. There can be n^2/4 such pairs, but the ones with s_i - s_j < 1 form, for each i, a run of the sorted
scores, so their sums are differences of cumulative sums: O(n log n) a query for each grade above the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from letorlab.queries import Floats, Ints, query_of_docs


@dataclass(frozen=True)
class Level:
    """The pairs whose better document has one grade: `upper` (that grade) against `lower` (all lower grades).

    `upper` and `lower` are rows, grouped by query; `upper_query` and `lower_query` their queries.
    """

    upper: Ints
    lower: Ints
    upper_query: Ints
    lower_query: Ints

    def swapped(self) -> Level:
        return Level(self.lower, self.upper, self.lower_query, self.upper_query)


class StrictPairs:
    """All strict pairs of grouped documents.

    Parameters
    ----------
    y : (n_docs,) float64
        Relevance.
    offsets : (n_queries + 1,) int64
        Bounds of the queries.

    Attributes
    ----------
    n_docs, n_pairs : int
    levels : list of Level
        One for each grade above the lowest; together they hold each strict pair once.
    """

    def __init__(self, y: Floats, offsets: Ints) -> None:
        self.n_docs = len(y)
        query, rows = query_of_docs(offsets), np.arange(len(y))
        self.levels = [
            Level(rows[y == grade], rows[y < grade], query[y == grade], query[y < grade]) for grade in np.unique(y)[1:]
        ]
        n_queries = len(offsets) - 1
        self.n_pairs = sum(
            int(np.bincount(x.upper_query, minlength=n_queries) @ np.bincount(x.lower_query, minlength=n_queries))
            for x in self.levels
        )

    def violated(self, scores: Floats, margin: float = 1.0, above: float = -np.inf) -> ViolatedPairs:
        """The pairs with above <= s_i - s_j < margin, at scores s (n_docs,)."""
        return ViolatedPairs([_Runs.build(x, scores, margin, above) for x in self.levels], self.n_docs)

    def concordance(self, scores: Floats) -> float:
        """Share of the strict pairs that scores order correctly, a tie counting one half (0.5 if no pair).

        On two grades and one query this is the area under the ROC curve.
        """
        if self.n_pairs == 0:
            return 0.5
        wrong = sum(_n_reversed(x, scores) for x in self.levels)
        right = sum(_n_reversed(x.swapped(), scores) for x in self.levels)
        return 0.5 + (right - wrong) / (2.0 * self.n_pairs)


class ViolatedPairs:
    """A set of pairs (i better, j worse) that is kept as runs of sorted lists, one `_Runs` for each `Level`.

    With the pair differences D, one row e_i - e_j for each pair, this is the algebra of D: `count` is the number
    of rows, `degree` is D' 1, `laplacian(v)` is D' D v, and `gram(X)` is X' D' D X.
    """

    def __init__(self, runs: list[_Runs], n_docs: int) -> None:
        self._runs = runs
        self.count = sum(int(x.n_lower.sum()) for x in runs)
        self.degree = np.zeros(n_docs)  # pairs in which a document is the better one, less those it is the worse one
        self._n_pairs = np.zeros(n_docs)  # pairs that a document is in
        for x in runs:
            self.degree[x.upper] += x.n_lower
            self.degree[x.lower] -= x.n_upper
            self._n_pairs[x.upper] += x.n_lower
            self._n_pairs[x.lower] += x.n_upper

    def laplacian(self, v: Floats) -> Floats:
        """D' D v, (n_docs,)."""
        result = self._n_pairs * v
        for x in self._runs:
            result[x.upper] -= x.sums_of_lower(v[x.lower])
            result[x.lower] -= x.sums_of_upper(v[x.upper])
        return result

    def gram(self, X: Floats) -> Floats:
        """X' D' D X for X (n_docs, d), in O(n d^2): two matrix products for each level."""
        mixed = sum((X[x.upper].T @ x.sums_of_lower(X[x.lower]) for x in self._runs), np.zeros((X.shape[1],) * 2))
        return X.T @ (self._n_pairs[:, None] * X) - mixed - mixed.T


@dataclass(frozen=True)
class _Runs:
    """Violated pairs of one level: document ``upper[a]`` with each of ``lower[first[a]:stop[a]]``.

    `lower` is sorted by score within each query; the worse documents of a query that violate the margin of
    ``upper[a]`` are those from some score on (up to another, if there is a lower bound), so they are one run.
    """

    upper: Ints
    lower: Ints
    first: Ints
    stop: Ints

    @classmethod
    def build(cls, level: Level, scores: Floats, margin: float, above: float = -np.inf) -> _Runs:
        lower, n_far = _sorted_run(level, scores, margin)
        if above == -np.inf:
            stop = np.searchsorted(level.lower_query, level.upper_query, "right")
        else:
            stop = _sorted_run(level, scores, above)[1]
        return cls(upper=level.upper, lower=lower, first=n_far, stop=stop)

    @cached_property
    def n_lower(self) -> Ints:
        """Violated pairs of each better document."""
        return self.stop - self.first

    @cached_property
    def n_upper(self) -> Floats:
        """Violated pairs of each worse document."""
        return self.sums_of_upper(np.ones(len(self.upper)))

    def sums_of_lower(self, V: Floats) -> Floats:
        """For each better document, the sum of V (n_lower_docs, ...) over its run."""
        sums = np.zeros((len(V) + 1, *V.shape[1:]))
        np.cumsum(V, axis=0, out=sums[1:])
        return sums[self.stop] - sums[self.first]

    def sums_of_upper(self, v: Floats) -> Floats:
        """For each worse document, the sum of v (n_upper_docs,) over the better ones whose run it is in."""
        bins = len(self.lower) + 1
        return np.cumsum(np.bincount(self.first, v, bins) - np.bincount(self.stop, v, bins))[:-1]


def _sorted_run(level: Level, scores: Floats, margin: float) -> tuple[Ints, Ints]:
    """`lower` by query and score, and for each of `upper` how many of them come before its s_j > s_i - margin."""
    n_lower = len(level.lower)
    query = np.concatenate([level.lower_query, level.upper_query])
    # Worse documents come first, so a stable sort keeps s_j before an equal s_i - margin: not violated.
    keys = np.concatenate([scores[level.lower], scores[level.upper] - margin])
    order = np.lexsort((keys, query))
    is_lower = order < n_lower
    before = np.empty(len(level.upper), dtype=np.int64)
    before[order[~is_lower] - n_lower] = np.cumsum(is_lower)[~is_lower]
    return level.lower[order[is_lower]], before


def _n_reversed(level: Level, scores: Floats) -> int:
    """Pairs of a level with s_upper < s_lower."""
    return int(_Runs.build(level, scores, 0.0).n_lower.sum())
