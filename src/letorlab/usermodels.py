"""Measures of a reader who goes down the list: reciprocal rank, expected reciprocal rank, rank-biased precision.

Same signature as in `letorlab.metrics`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from letorlab.errors import InputError
from letorlab.profiles import profile_named
from letorlab.queries import Floats, Ints, query_of_docs
from letorlab.ranking import Ranking, at_cutoffs, deepest, rank, top_values

PERSISTENCE = 0.8  # of the reader of RBP: Moffat and Zobel's middle value


def reciprocal_rank(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """1 / rank of the first relevant document; 0 if there is none."""
    rule = profile_named(profile)
    ranking = rank(scores, labels, offsets, rule, ties)
    return np.add.reduceat(_stopping(ranking, ranking.relevance(rule)) / ranking.ranks, offsets[:-1])


def err(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """Expected reciprocal rank, down to rank k, of the document that satisfies the reader. See `letorlab.metrics.dcg`.

    A document of grade g satisfies with probability (2^g - 1) / 2^top (Chapelle, Metzler, Zhang and Grinspan, CIKM
    2009), top being 2 in the profiles letor3 and letor4, 4 in the others. A short list is measured at its own length.

    Raises
    ------
    InputError
        Also if a label exceeds top.
    """
    rule = profile_named(profile)
    ranking = rank(scores, labels, offsets, rule, ties)
    if ranking.labels.max() > rule.top_grade:
        raise InputError(
            f"ERR knows grades up to {rule.top_grade:g} in the profile {profile}; found {ranking.labels.max():g}. "
            "Leave err out of the metrics"
        )
    satisfied = _stopping(ranking, (np.exp2(ranking.labels) - 1.0) / np.exp2(rule.top_grade))
    by_rank: Floats = np.cumsum(top_values(satisfied / ranking.ranks, offsets, deepest(k)), axis=1)
    return at_cutoffs(by_rank, offsets, k, short_lists=True)


def rbp(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: Ints,
    *,
    persistence: float = PERSISTENCE,
    profile: str = "letor3",
    ties: str = "file",
) -> Floats:
    """Rank-biased precision: (1 - p) times the sum of p^(rank - 1) over relevant documents (Moffat and Zobel, 2008).

    Parameters
    ----------
    persistence : float
        p in [0, 1), the probability that the reader looks at the next document.
    """
    if not 0 <= persistence < 1:
        raise InputError(f"the persistence of RBP must lie in [0, 1); got {persistence}")
    rule = profile_named(profile)
    ranking = rank(scores, labels, offsets, rule, ties)
    terms = ranking.mean_of_run(ranking.relevance(rule)) * persistence ** (ranking.ranks - 1.0)
    return (1.0 - persistence) * np.add.reduceat(terms, offsets[:-1])


def _stopping(ranking: Ranking, stop: Floats) -> Floats:
    """Probability (n_docs,) that a reader, who stops at a document with probability `stop`, does so at each rank."""
    passed = _passing(ranking, stop)
    reached = np.concatenate([[1.0], passed[:-1]])
    reached[ranking.offsets[:-1]] = 1.0
    return reached - passed


def _passing(ranking: Ranking, stop: Floats) -> Floats:
    """Probability (n_docs,) that the reader goes on after each rank.

    Within a run it is the mean over the run's orders, and so over the sets of documents that may stand above.
    """
    sizes, query = np.diff(ranking.offsets), query_of_docs(ranking.offsets)
    place = np.arange(len(stop)) - ranking.offsets[query]
    go_on = np.ones((len(sizes), int(sizes.max())))
    go_on[query, place] = 1.0 - stop
    passed: Floats = np.cumprod(go_on, axis=1)[query, place]
    for start, end in _mixed_runs(ranking, stop):
        reached = passed[start - 1] if place[start] else 1.0
        if reached > 0.0:
            passed[start:end] = reached * _mean_products(1.0 - stop[start:end])
    return passed


def _mixed_runs(ranking: Ranking, values: Floats) -> list[tuple[int, int]]:
    """Runs with more than one value: only their order matters."""
    low, high = (f.reduceat(values, ranking.runs[:-1]) for f in (np.minimum, np.maximum))
    mixed = np.flatnonzero(low < high)
    return list(zip(ranking.runs[mixed].tolist(), ranking.runs[mixed + 1].tolist(), strict=True))


def _mean_products(q: Floats) -> Floats:
    """The mean product over all sets of 1, 2, ..., n of the n numbers q: elementary symmetric means."""
    j = np.arange(1.0, len(q) + 1)
    means = np.zeros(len(q) + 1)
    means[0] = 1.0
    for m, value in enumerate(q.tolist(), 1):
        share = j[:m] / m  # a set of j of the first m numbers holds the m-th with this probability
        means[1 : m + 1] = (1.0 - share) * means[1 : m + 1] + share * value * means[:m]
    return means[1:]
