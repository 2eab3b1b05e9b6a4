"""Slow, obvious re-computations, one query and one document at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np


def ranked(scores: Sequence[float], labels: Sequence[float]) -> list[float]:
    """Labels by falling score; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return [labels[i] for i in order]


def letor3_discount(rank: int) -> float:
    return 1.0 if rank <= 2 else 1.0 / math.log2(rank)


def standard_discount(rank: int) -> float:
    return 1.0 / math.log2(1 + rank)


def dcg(labels: Sequence[float], k: int, discount: Callable[[int], float], gain: Callable[[float], float]) -> float:
    return sum(gain(label) * discount(rank) for rank, label in enumerate(labels[:k], start=1))


def ndcg(labels: Sequence[float], k: int, discount: Callable[[int], float], gain: Callable[[float], float]) -> float:
    ideal = dcg(sorted(labels, reverse=True), k, discount, gain)
    return dcg(labels, k, discount, gain) / ideal if ideal > 0 else 0.0


def average_precision(labels: Sequence[float]) -> float:
    relevant = [label >= 1 for label in labels]
    hits = [sum(relevant[: i + 1]) / (i + 1) for i in range(len(labels)) if relevant[i]]
    return sum(hits) / len(hits) if hits else 0.0


def expected_reciprocal_rank(labels: Sequence[float], top: float) -> float:
    """Chapelle et al. (2009), equation 5."""
    satisfies = [(2**label - 1) / 2**top for label in labels]
    return sum(p * math.prod(1 - q for q in satisfies[:i]) / (i + 1) for i, p in enumerate(satisfies))


def orders_of_ties(scores: Sequence[float]) -> list[list[float]]:
    """Scores without ties, one list for every order in which equal scores may stand."""
    groups = [[i for i, s in enumerate(scores) if s == value] for value in sorted(set(scores), reverse=True)]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    chains = [[i for group in order for i in group] for order in orders]
    return [[-float(chain.index(i)) for i in range(len(scores))] for chain in chains]


def strict_pairs(y: np.ndarray, offsets: np.ndarray) -> list[tuple[int, int]]:
    """All (i, j) of one query with y_i > y_j."""
    return [
        (i, j)
        for start, stop in pairwise(offsets)
        for i in range(start, stop)
        for j in range(start, stop)
        if y[i] > y[j]
    ]


def difference_matrix(pairs: Sequence[tuple[int, int]], n_docs: int) -> np.ndarray:
    """D, one row e_i - e_j for each pair (i, j)."""
    D = np.zeros((len(pairs), n_docs))
    for row, (i, j) in enumerate(pairs):
        D[row, i] += 1
        D[row, j] -= 1
    return D
