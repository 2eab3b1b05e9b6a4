"""From a doubly stochastic matrix of documents and ranks to one ranking (Adams and Zemel, section 5)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints

RULES = ("expected", "top", "full")
DIGITS = 9  # of an expected rank; what differs less differs by rounding


def ranking(Z: Floats, scores: Floats, *, rule: str = "top", top: int = 200) -> Ints:
    """The documents at ranks 1, 2, ..., (n_docs,).

    Parameters
    ----------
    Z : (n_docs, n_docs) float64
        Probability of document j at rank k.
    scores : (n_docs,) float64
        That Z was made from. They order documents whose expected ranks are equal; documents of equal scores, which
        have equal rows of Z, keep their order in the list.
    rule : {"expected", "top", "full"}
        expected: by expected rank. full: the permutation s of largest sum_k log Z_s[k],k, by the Hungarian method,
        O(n_docs^3). top: by expected rank, then the first `top` ranks anew by the Hungarian method.
    top : int

    Raises
    ------
    InputError
        If the rule is unknown or top is not positive.
    """
    check_rule(rule, top)
    expected = Z @ np.arange(1.0, Z.shape[1] + 1)
    order = np.lexsort((-scores, np.round(expected, DIGITS)))
    if rule == "expected":
        return order
    head = order if rule == "full" else order[:top]
    order[: len(head)] = head[_best_assignment(Z[head, : len(head)])]
    return _equals_in_place(order, scores)


def check_rule(rule: str, top: int) -> None:
    """Raise InputError if the rule is unknown or top is not positive."""
    if rule not in RULES:
        raise InputError(f"unknown rule for the permutation {rule!r}; known: {', '.join(RULES)}")
    if top < 1:
        raise InputError(f"top, the number of ranks that are assigned anew, must be at least 1; got {top}")


def _best_assignment(Z: Floats) -> Ints:
    """The row at each column, of largest sum of logarithms."""
    cost = -np.log(np.maximum(Z, np.finfo(np.float64).tiny))
    columns = linear_sum_assignment(cost)[1]
    return np.argsort(columns)


def _equals_in_place(order: Ints, scores: Floats) -> Ints:
    """Documents of equal scores share their ranks out in their own order: an assignment is indifferent to that."""
    rank = np.argsort(order)
    by_rank, by_place = np.lexsort((rank, scores)), np.lexsort((np.arange(len(order)), scores))
    rank[by_place] = rank[by_rank]
    return np.argsort(rank)


def scores_of_ranking(order: Ints, scores: Floats) -> Floats:
    """n_docs, n_docs - 1, ..., 1 for the documents at ranks 1, 2, ..., (n_docs,).

    Documents of equal `scores` share the value of the first of their ranks, so that no value depends on the order in
    which documents are listed; a measure that keeps the listed order of ties reads the same ranking from it.
    """
    by_rank = np.empty(len(order))
    by_rank[order] = np.arange(len(order), 0, -1)
    _, group = np.unique(scores, return_inverse=True)
    highest = np.zeros(len(order))
    np.maximum.at(highest, group, by_rank)
    return highest[group]
