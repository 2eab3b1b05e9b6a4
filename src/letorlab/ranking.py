"""Documents in the order of their scores, and what is expected of it where scores are equal.

A tie is a run of equal scores in one query. The file's order is one of its orders; the alternative is the mean over
all of them, each being as likely (McSherry and Najork, Computing information retrieval performance measures
efficiently in the presence of tied scores, ECIR 2008). Both go the same way: with the file's order every document is
a run of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letorlab.errors import InputError
from letorlab.profiles import Profile
from letorlab.queries import Floats, Ints, query_of_docs

TIES = ("file", "expected")


@dataclass(frozen=True)
class Ranking:
    """The labels of every query from the first rank to the last.

    Parameters
    ----------
    labels : (n_docs,) float64
        Query after query; within a run of equal scores in the order of the file.
    offsets : (n_queries + 1,) int64
        Bounds of the queries.
    runs : (n_runs + 1,) int64
        Bounds of the runs, over which the measures take the mean.
    """

    labels: Floats
    offsets: Ints
    runs: Ints

    @property
    def ranks(self) -> Floats:
        """Rank 1, 2, ... of every row within its query, (n_docs,)."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], np.diff(self.offsets)) + 1.0

    def relevance(self, rule: Profile) -> Floats:
        """1 where the document is relevant, else 0, (n_docs,)."""
        return (self.labels >= rule.relevant_from).astype(np.float64)

    def mean_of_run(self, values: Floats) -> Floats:
        """Values (n_docs,) of the documents -> their expectation at each rank."""
        sizes = np.diff(self.runs)
        return np.repeat(np.add.reduceat(values, self.runs[:-1]) / sizes, sizes)

    def first_of_run(self) -> Ints:
        """Row at which the run of every row begins, (n_docs,)."""
        return np.repeat(self.runs[:-1], np.diff(self.runs))

    def sum_before_run(self, values: Floats) -> Floats:
        """Sum of values over the rows of the query that stand before the run of every row, (n_docs,)."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return sums[self.first_of_run()] - np.repeat(sums[self.offsets[:-1]], np.diff(self.offsets))


def rank(scores: ArrayLike, labels: ArrayLike, offsets: Ints, rule: Profile, ties: str = "file") -> Ranking:
    """Order documents by falling score.

    Parameters
    ----------
    scores, labels : (n_docs,) array_like
    offsets : (n_queries + 1,) int64
    rule : Profile
    ties : {"file", "expected"}
        Whether equal scores keep the order of the file, or make a run.

    Raises
    ------
    InputError
        If lengths differ, a score is NaN, or a label is negative or has no gain in the profile.
    """
    s, y = _checked(scores, labels, offsets, rule)
    if ties not in TIES:
        raise InputError(f"ties must be one of {', '.join(TIES)}; got {ties!r}")
    order = np.lexsort((-s, query_of_docs(offsets)))
    return Ranking(y[order], offsets, np.arange(len(y) + 1) if ties == "file" else _runs(s[order], offsets))


def queries_with_ties(scores: Floats, labels: Floats, offsets: Ints) -> NDArray[np.bool_]:
    """Queries, (n_queries,), in which documents of different relevance have equal scores: there the order matters."""
    order = np.lexsort((labels, scores, query_of_docs(offsets)))
    s, y = scores[order], labels[order]
    tied = np.concatenate([[False], (s[1:] == s[:-1]) & (y[1:] != y[:-1])])
    tied[offsets[:-1]] = False
    return np.logical_or.reduceat(tied, offsets[:-1])


def top_values(values: Floats, offsets: Ints, k: int) -> Floats:
    """The first k values of every query, (n_queries, k), 0 beyond its end."""
    rows = offsets[:-1, None] + np.arange(k)
    inside = rows < offsets[1:, None]
    return np.where(inside, values[np.where(inside, rows, 0)], 0.0)


def deepest(k: ArrayLike) -> int:
    """The largest cutoff of one or several, which must be whole numbers of at least 1."""
    cutoffs = np.asarray(k)
    if not np.issubdtype(cutoffs.dtype, np.integer) or (cutoffs < 1).any():
        raise InputError(f"k must be a whole number of at least 1; got {k!r}")
    return int(cutoffs.max())


def at_cutoffs(by_rank: Floats, offsets: Ints, k: ArrayLike, *, short_lists: bool) -> Floats:
    """Columns k of values at ranks 1, 2, ... (n_queries, n_ranks); 0 beyond a query's end unless `short_lists`."""
    if not short_lists:
        lengths = np.arange(1, by_rank.shape[1] + 1)
        by_rank = np.where(lengths <= np.diff(offsets)[:, None], by_rank, 0.0)
    return by_rank[:, np.asarray(k) - 1]


def _runs(ranked_scores: Floats, offsets: Ints) -> Ints:
    new = np.concatenate([[True], ranked_scores[1:] != ranked_scores[:-1]])
    new[offsets[:-1]] = True
    return np.append(np.flatnonzero(new), len(new))


def _checked(scores: ArrayLike, labels: ArrayLike, offsets: Ints, rule: Profile) -> tuple[Floats, Floats]:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if s.shape != y.shape or s.ndim != 1 or len(y) != offsets[-1]:
        raise InputError(f"{s.shape} scores and {y.shape} labels for {offsets[-1]} documents: one of each per document")
    if np.isnan(s).any():
        raise InputError(f"{np.isnan(s).sum()} scores are NaN; a document without score cannot be ranked")
    if not ((y >= 0) & (y <= rule.max_label)).all():
        raise InputError(
            f"labels must lie in [0, {rule.max_label:g}] in this metric profile; "
            f"found {y.min():g} to {y.max():g}. Choose another profile for the data set"
        )
    return s, y
