"""Ranking measures: pure functions from scores and labels to one value a query.

Every measure has the signature ``measure(scores, labels, offsets, *, ..., profile) -> (n_queries,)`` and
never averages: the mean over queries, and then over folds, is taken in one place, `letorlab.report.tables`.

What a measure means is fixed by its `Profile`. Two tools give the name NDCG to different numbers:

- ``letor3`` is the official LETOR 3.0 tool: gain 2^label - 1, ranks 1 *and* 2 undiscounted, rank i >= 3
  divided by log2(i), and a query with fewer than k documents counts 0 at k.
- ``standard_exp`` and ``standard_linear`` discount rank i by log2(1 + i), and cap k at the list length.

In every profile equal scores keep their order in the file, and a query without relevant document is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letorlab.comparison_metrics import comparison_accuracy, tie_auc
from letorlab.errors import InputError
from letorlab.queries import RELEVANT, Floats, Ints, query_of_docs


@dataclass(frozen=True)
class Profile:
    """What the measures of one evaluation tool mean.

    Parameters
    ----------
    exponential_gain : bool
        Gain 2^label - 1; otherwise the label itself.
    discount : callable
        Ranks 1, 2, ... (float array) -> weights of the gains.
    max_label : float
        Labels above it are refused: the tool has no gain for them, or the gain overflows.
    short_lists_count : bool
        Whether a query with fewer than k documents is measured at its own length (otherwise it is 0 at k).
    relevant_from : float
        Labels at or above it are relevant for precision, AP and RR.
    """

    exponential_gain: bool
    discount: Callable[[Floats], Floats]
    max_label: float
    short_lists_count: bool
    relevant_from: float = RELEVANT

    def gain(self, labels: Floats) -> Floats:
        return np.exp2(labels) - 1.0 if self.exponential_gain else labels


def _letor_discount(ranks: Floats) -> Floats:
    return 1.0 / np.log2(np.maximum(ranks, 2.0))


def _standard_discount(ranks: Floats) -> Floats:
    return 1.0 / np.log2(1.0 + ranks)


PROFILES = {
    "letor3": Profile(True, _letor_discount, max_label=2.0, short_lists_count=False),
    "standard_exp": Profile(True, _standard_discount, max_label=31.0, short_lists_count=True),
    "standard_linear": Profile(False, _standard_discount, max_label=np.inf, short_lists_count=True),
}


def dcg(scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3") -> Floats:
    """Discounted cumulative gain, sum over ranks i <= k of gain(label_i) discount(i).

    Parameters
    ----------
    scores, labels : (n_docs,) array_like
        Higher scores rank first; labels are relevance grades.
    offsets : (n_queries + 1,) int64
        Bounds of the queries (see `letorlab.queries.Queries`).
    k : int or (n_cutoffs,) array_like of int
        Truncation level, or several of them.
    profile : str
        A name of `PROFILES`.

    Returns
    -------
    (n_queries,) float64, or (n_queries, n_cutoffs) when k is a sequence.

    Raises
    ------
    InputError
        If lengths differ, a score is NaN, a label is negative or has no gain in the profile, or k < 1.
    """
    rule = profile_named(profile)
    ranked = _ranked_labels(scores, labels, offsets, rule)
    return _at_cutoffs(_cumulative_gain(ranked, offsets, k, rule), offsets, k, rule)


def ndcg(scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3") -> Floats:
    """DCG@k divided by the DCG@k of the best order; 0 where no document has gain. See `dcg`."""
    rule = profile_named(profile)
    ranked = _ranked_labels(scores, labels, offsets, rule)
    best = _ranked_labels(labels, labels, offsets, rule)
    gained = _cumulative_gain(ranked, offsets, k, rule)
    ideal = _cumulative_gain(best, offsets, k, rule)
    share = np.divide(gained, ideal, out=np.zeros_like(gained), where=ideal > 0)
    return _at_cutoffs(share, offsets, k, rule)


def precision(scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3") -> Floats:
    """Relevant documents among the first k, divided by k. See `dcg`.

    Where the profile counts short lists, a list shorter than k is padded with documents that are not relevant.
    """
    rule = profile_named(profile)
    ranked = _ranked_labels(scores, labels, offsets, rule)
    relevant = (ranked >= rule.relevant_from).astype(np.float64)
    hits: Floats = np.cumsum(_top(relevant, offsets, int(np.max(k))), axis=1)
    return _at_cutoffs(hits / np.arange(1.0, hits.shape[1] + 1), offsets, k, rule)


def average_precision(scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3") -> Floats:
    """Mean, over the relevant documents of the list, of the precision at their ranks; 0 if there is none."""
    rule = profile_named(profile)
    relevant = _ranked_labels(scores, labels, offsets, rule) >= rule.relevant_from
    hits: Floats = np.cumsum(relevant) - np.repeat(_before(relevant, offsets), np.diff(offsets))
    terms = np.where(relevant, hits / _ranks(offsets), 0.0)
    total = np.add.reduceat(relevant.astype(np.float64), offsets[:-1])
    return np.add.reduceat(terms, offsets[:-1]) / np.maximum(total, 1.0)


def reciprocal_rank(scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3") -> Floats:
    """1 / rank of the first relevant document; 0 if there is none."""
    rule = profile_named(profile)
    relevant = _ranked_labels(scores, labels, offsets, rule) >= rule.relevant_from
    return np.maximum.reduceat(np.where(relevant, 1.0 / _ranks(offsets), 0.0), offsets[:-1])


@dataclass(frozen=True)
class Metric:
    """An entry of `METRICS`: a measure, whether it takes k, and its profile if that is not the data set's."""

    measure: Callable[..., Floats]
    takes_k: bool
    profile: str | None = None


METRICS = {
    "ndcg": Metric(ndcg, takes_k=True),
    "precision": Metric(precision, takes_k=True),
    "map": Metric(average_precision, takes_k=False),
    "mrr": Metric(reciprocal_rank, takes_k=False),
    "dcg": Metric(dcg, takes_k=True),
    "ndcg_standard_exp": Metric(ndcg, takes_k=True, profile="standard_exp"),
    "ndcg_standard_linear": Metric(ndcg, takes_k=True, profile="standard_linear"),
    "comparison_accuracy": Metric(comparison_accuracy, takes_k=False),
    "tie_auc": Metric(tie_auc, takes_k=False),
}


def measure(
    name: str, scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str, cutoffs: ArrayLike
) -> Floats:
    """Values of the metric `name`: (n_queries, n_cutoffs), or (n_queries, 1) for a metric without k."""
    metric = metric_named(name)
    options = {"profile": metric.profile or profile}
    if metric.takes_k:
        return metric.measure(scores, labels, offsets, k=np.atleast_1d(cutoffs), **options)
    return metric.measure(scores, labels, offsets, **options)[:, None]


def parse_metric(text: str) -> tuple[str, int | None]:
    """``"ndcg@10"`` -> ("ndcg", 10); ``"map"`` -> ("map", None).

    Raises
    ------
    InputError
        If there is no such metric, or it is written with a k although it takes none, or the other way round.
    """
    name, at, k = text.partition("@")
    if metric_named(name).takes_k:
        if not k.isdigit() or int(k) < 1:
            raise InputError(f"metric {text!r}: {name} takes a k; write it as in {name}@10")
        return name, int(k)
    if at:
        raise InputError(f"metric {text!r}: {name} takes no k; write {name}")
    return name, None


def metric_named(name: str) -> Metric:
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
    return METRICS[name]


def profile_named(name: str) -> Profile:
    if name not in PROFILES:
        raise InputError(f"unknown metric profile {name!r}; known: {', '.join(PROFILES)}")
    return PROFILES[name]


def _ranked_labels(scores: ArrayLike, labels: ArrayLike, offsets: Ints, rule: Profile) -> Floats:
    """Labels (n_docs,) of every query in the order of falling scores; equal scores keep file order."""
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
    return y[np.lexsort((-s, query_of_docs(offsets)))]


def _cumulative_gain(ranked: Floats, offsets: Ints, k: ArrayLike, rule: Profile) -> Floats:
    """DCG at ranks 1..max(k), (n_queries, max(k)); lists that end earlier stay at their last value."""
    gains = _top(rule.gain(ranked), offsets, int(np.max(k)))
    return np.cumsum(gains * rule.discount(np.arange(1.0, gains.shape[1] + 1)), axis=1)


def _at_cutoffs(by_rank: Floats, offsets: Ints, k: ArrayLike, rule: Profile) -> Floats:
    cutoffs = np.asarray(k)
    if not np.issubdtype(cutoffs.dtype, np.integer) or (cutoffs < 1).any():
        raise InputError(f"k must be a whole number of at least 1; got {k!r}")
    if not rule.short_lists_count:
        lengths = np.arange(1, by_rank.shape[1] + 1)
        by_rank = np.where(lengths <= np.diff(offsets)[:, None], by_rank, 0.0)
    return by_rank[:, cutoffs - 1]


def _top(values: Floats, offsets: Ints, k: int) -> Floats:
    """The first k values of every query, (n_queries, k), 0 beyond its end."""
    rows = offsets[:-1, None] + np.arange(max(k, 1))
    inside = rows < offsets[1:, None]
    return np.where(inside, values[np.where(inside, rows, 0)], 0.0)


def _ranks(offsets: Ints) -> Floats:
    """Rank 1, 2, ... of every row within its query, (n_docs,)."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)) + 1.0


def _before(flags: NDArray[np.bool_], offsets: Ints) -> Ints:
    """How many flags are set in all earlier queries, (n_queries,)."""
    return np.concatenate([[0], np.cumsum(flags)])[offsets[:-1]]
