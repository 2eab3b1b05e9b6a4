"""Ranking measures: pure functions from scores and labels to one value a query.

Every measure has the signature ``measure(scores, labels, offsets, *, ..., profile, ties) -> (n_queries,)`` and never
averages: the mean over queries, and then over folds, is taken in one place, `letorlab.report.tables`.

What a measure means is fixed by its profile, see `letorlab.profiles`. Equal scores keep their order in the file, as
in the official tools; with ``ties="expected"`` the value is the mean over all orders of equal scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letorlab.comparison_metrics import comparison_accuracy, tie_auc
from letorlab.errors import InputError
from letorlab.profiles import Profile, profile_named
from letorlab.queries import Floats, Ints
from letorlab.ranking import Ranking, at_cutoffs, deepest, rank, top_values
from letorlab.usermodels import err, rbp, reciprocal_rank


def dcg(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3", ties: str = "file"
) -> Floats:
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
        A name of `letorlab.profiles.PROFILES`.
    ties : {"file", "expected"}
        Equal scores keep the order of the file, or the value is the mean over all their orders.

    Returns
    -------
    (n_queries,) float64, or (n_queries, n_cutoffs) when k is a sequence.

    Raises
    ------
    InputError
        If lengths differ, a score is NaN, a label is negative or has no gain in the profile, or k < 1.
    """
    rule = profile_named(profile)
    gained = _cumulative_gain(rank(scores, labels, offsets, rule, ties), rule, deepest(k))
    return at_cutoffs(gained, offsets, k, short_lists=rule.gain_of_short_lists)


def ndcg(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """DCG@k divided by the DCG@k of the best order; 0 where no document has gain. See `dcg`."""
    rule = profile_named(profile)
    share = _share_of_best(scores, labels, offsets, rule, ties, deepest(k))
    return at_cutoffs(share, offsets, k, short_lists=rule.gain_of_short_lists)


def mean_ndcg(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor4", ties: str = "file"
) -> Floats:
    """MeanNDCG of the LETOR 4.0 tool: the mean of NDCG@1, ..., NDCG@n over the n documents of a query."""
    sizes = np.diff(offsets)
    share = _share_of_best(scores, labels, offsets, profile_named(profile), ties, int(sizes.max()))
    inside = np.arange(share.shape[1]) < sizes[:, None]
    return np.sum(share, axis=1, where=inside) / sizes


def precision(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, k: ArrayLike, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """Relevant documents among the first k, divided by k. See `dcg`."""
    rule = profile_named(profile)
    ranking = rank(scores, labels, offsets, rule, ties)
    relevant = ranking.mean_of_run(ranking.relevance(rule))
    hits: Floats = np.cumsum(top_values(relevant, offsets, deepest(k)), axis=1)
    return at_cutoffs(hits / np.arange(1.0, hits.shape[1] + 1), offsets, k, short_lists=rule.precision_of_short_lists)


def average_precision(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """Mean, over the relevant documents of the list, of the precision at their ranks; 0 if there is none."""
    rule = profile_named(profile)
    ranking = rank(scores, labels, offsets, rule, ties)
    relevant = ranking.relevance(rule)
    size = np.repeat(np.diff(ranking.runs), np.diff(ranking.runs))
    share = ranking.mean_of_run(relevant)
    # of the other relevant documents of a run, each stands above a given rank of it with this probability
    above = (np.arange(len(size)) - ranking.first_of_run()) / np.maximum(size - 1, 1)
    hits = ranking.sum_before_run(relevant) + 1.0 + above * np.maximum(share * size - 1.0, 0.0)
    terms = share * hits / ranking.ranks
    total = np.add.reduceat(relevant, offsets[:-1])
    return np.add.reduceat(terms, offsets[:-1]) / np.maximum(total, 1.0)


@dataclass(frozen=True)
class Metric:
    """An entry of `METRICS`: a measure, whether it takes k, and its profile if that is not the data set's.

    `undefined` says on which queries it is 0 over 0: those without any ``"gain"``, without any ``"relevant"``
    document, or none.
    """

    measure: Callable[..., Floats]
    takes_k: bool
    profile: str | None = None
    undefined: str | None = None


METRICS = {
    "ndcg": Metric(ndcg, takes_k=True, undefined="gain"),
    "precision": Metric(precision, takes_k=True),
    "map": Metric(average_precision, takes_k=False, undefined="relevant"),
    "mrr": Metric(reciprocal_rank, takes_k=False, undefined="relevant"),
    "dcg": Metric(dcg, takes_k=True),
    "mean_ndcg": Metric(mean_ndcg, takes_k=False, undefined="gain"),
    "err": Metric(err, takes_k=True),
    "rbp": Metric(rbp, takes_k=False),
    "ndcg_standard_exp": Metric(ndcg, takes_k=True, profile="standard_exp", undefined="gain"),
    "ndcg_standard_linear": Metric(ndcg, takes_k=True, profile="standard_linear", undefined="gain"),
    "comparison_accuracy": Metric(comparison_accuracy, takes_k=False),
    "tie_auc": Metric(tie_auc, takes_k=False),
}


def measure(
    name: str,
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: Ints,
    *,
    profile: str,
    cutoffs: ArrayLike,
    ties: str = "file",
    undefined: float = 0.0,
) -> Floats:
    """Values of the metric `name`: (n_queries, n_cutoffs), or (n_queries, 1) for a metric without k.

    Parameters
    ----------
    undefined : float
        Value of NDCG, AP and RR on a query without relevant document.
    """
    metric = metric_named(name)
    options = {"profile": metric.profile or profile, "ties": ties}
    if metric.takes_k:
        values = metric.measure(scores, labels, offsets, k=np.atleast_1d(cutoffs), **options)
    else:
        values = metric.measure(scores, labels, offsets, **options)[:, None]
    if undefined:
        values[_lacks(metric.undefined, np.asarray(labels), offsets, profile_named(options["profile"]))] = undefined
    return values


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


def _lacks(what: str | None, labels: Floats, offsets: Ints, rule: Profile) -> NDArray[np.bool_]:
    """Queries without any gain, or without any relevant document, (n_queries,)."""
    best = np.maximum.reduceat(labels, offsets[:-1])
    return {"gain": best <= 0.0, "relevant": best < rule.relevant_from, None: np.zeros(len(best), bool)}[what]


def _share_of_best(scores: ArrayLike, labels: ArrayLike, offsets: Ints, rule: Profile, ties: str, depth: int) -> Floats:
    """NDCG at ranks 1..depth, (n_queries, depth), short lists at their own length."""
    gained = _cumulative_gain(rank(scores, labels, offsets, rule, ties), rule, depth)
    ideal = _cumulative_gain(rank(labels, labels, offsets, rule), rule, depth)
    return np.divide(gained, ideal, out=np.zeros_like(gained), where=ideal > 0)


def _cumulative_gain(ranking: Ranking, rule: Profile, depth: int) -> Floats:
    """DCG at ranks 1..depth, (n_queries, depth); lists that end earlier stay at their last value."""
    gains = top_values(ranking.mean_of_run(rule.gain(ranking.labels)), ranking.offsets, depth)
    return np.cumsum(gains * rule.discount(np.arange(1.0, depth + 1)), axis=1)
