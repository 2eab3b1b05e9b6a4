"""Rank-linear measures: sums over documents of l(relevance, rank), whose mean under a random ranking is linear.

With Z_jk the probability that document j stands at rank k, the expectation is sum_jk Z_jk l(r_j, k) (Adams and Zemel,
section 2). Every l is written as sum_r gains[j, r] discounts[k, r]: one term for NDCG, precision and RBP, one term for
each grade of relevance for a function of the user.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.profiles import Profile, profile_named
from letorlab.queries import Floats, Ints, query_of_docs

GradeGain = Callable[[float, Floats], Floats]


@dataclass(frozen=True)
class Terms:
    """l(r_j, k) = sum_r gains[j, r] discounts[k - 1, r] of every document j of all queries, at every rank k.

    Parameters
    ----------
    gains : (n_docs, n_terms) float64
    discounts : (largest query, n_terms) float64
    """

    gains: Floats
    discounts: Floats


Measure = Callable[[Floats, Ints], Terms]  # labels (n_docs,) and offsets (n_queries + 1,) to terms


def expected_value(Z: Floats, gains: Floats, discounts: Floats) -> float:
    """sum_jk Z_jk l(r_j, k) of one query; Z (n_docs, n_docs), documents by ranks."""
    return float(np.einsum("jr,jk,kr->", gains, Z, discounts[: Z.shape[1]]))


def ndcg_terms(k: int | None = None, profile: str = "letor3") -> Measure:
    """NDCG@k with the gains and discounts of a metric profile; k None counts all ranks.

    A list shorter than k is measured at its own length. A query without gain has only zeros.
    """
    rule = profile_named(profile)

    def terms(labels: Floats, offsets: Ints) -> Terms:
        _check_labels(labels, rule)
        discounts = _cut(rule.discount(_ranks_up_to(offsets)), k)
        gains = rule.gain(labels)
        query = query_of_docs(offsets)
        falling = gains[np.lexsort((-gains, query))]
        ideal = np.add.reduceat(falling * discounts[np.arange(len(labels)) - offsets[query]], offsets[:-1])
        return Terms((gains / np.where(ideal > 0, ideal, 1.0)[query])[:, None], discounts[:, None])

    return terms


def precision_terms(k: int, profile: str = "letor3") -> Measure:
    """Relevant documents among the first k, divided by k."""
    rule = profile_named(profile)

    def terms(labels: Floats, offsets: Ints) -> Terms:
        relevant = (labels >= rule.relevant_from).astype(np.float64)
        return Terms(relevant[:, None] / k, _cut(np.ones(_largest(offsets)), k)[:, None])

    return terms


def rbp_terms(persistence: float, profile: str = "letor3") -> Measure:
    """Rank-biased precision: (1 - p) times the sum over relevant documents of p^(rank - 1)."""
    if not 0 <= persistence < 1:
        raise InputError(f"the persistence of RBP must lie in [0, 1); got {persistence}")
    rule = profile_named(profile)

    def terms(labels: Floats, offsets: Ints) -> Terms:
        relevant = (labels >= rule.relevant_from).astype(np.float64)
        discounts = persistence ** (_ranks_up_to(offsets) - 1.0)
        return Terms((1.0 - persistence) * relevant[:, None], discounts[:, None])

    return terms


def grade_terms(gain: GradeGain) -> Measure:
    """Any l(relevance, ranks): called once for each grade, with all ranks 1, 2, ..., it returns one value a rank."""

    def terms(labels: Floats, offsets: Ints) -> Terms:
        grades, grade_of = np.unique(labels, return_inverse=True)
        ranks = _ranks_up_to(offsets)
        table = np.column_stack([np.broadcast_to(gain(float(grade), ranks), ranks.shape) for grade in grades])
        if not np.isfinite(table).all():
            raise InputError("the gain l(relevance, ranks) must be finite at every rank; it gave NaN or infinity")
        return Terms(np.eye(len(grades))[grade_of], table.astype(np.float64))

    return terms


def measure_named(objective: str | GradeGain, profile: str = "letor3") -> Measure:
    """``"ndcg"``, ``"ndcg@10"``, ``"precision@5"``, ``"rbp@0.9"`` (its persistence), or a function for `grade_terms`.

    Raises
    ------
    InputError
        If there is no such objective, or its number is missing or out of range.
    """
    if callable(objective):
        return grade_terms(objective)
    name, at, number = objective.partition("@")
    if name == "ndcg" and (not at or _is_rank(number)):
        return ndcg_terms(int(number) if at else None, profile)
    if name == "precision" and _is_rank(number):
        return precision_terms(int(number), profile)
    if name == "rbp" and number.replace(".", "", 1).isdigit():
        return rbp_terms(float(number), profile)
    raise InputError(
        f"unknown objective {objective!r}; known: ndcg, ndcg@10, precision@10 (any k of at least 1), "
        "rbp@0.9 (any persistence in [0, 1)), or a function of relevance and ranks"
    )


def _is_rank(number: str) -> bool:
    return number.isdigit() and int(number) >= 1


def _cut(discounts: Floats, k: int | None) -> Floats:
    return discounts if k is None else np.where(np.arange(len(discounts)) < k, discounts, 0.0)


def _largest(offsets: Ints) -> int:
    return int(np.diff(offsets).max())


def _ranks_up_to(offsets: Ints) -> Floats:
    return np.arange(1.0, _largest(offsets) + 1)


def _check_labels(labels: Floats, rule: Profile) -> None:
    if not ((labels >= 0) & (labels <= rule.max_label)).all():
        raise InputError(
            f"labels must lie in [0, {rule.max_label:g}] for this gain; found {labels.min():g} to {labels.max():g}. "
            "Choose another profile"
        )
