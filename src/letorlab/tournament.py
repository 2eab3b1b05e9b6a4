"""From preferences f(x, x') within a query to a ranking of its documents."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, group_rows

ROWS = 1024  # documents whose preferences over all others are held at a time
MOST = 100  # documents of a query whose triples are looked at

PREFERENCES: dict[str, Callable[[Floats], Floats]] = {
    "clip": lambda f: np.clip(f, -1.0, 1.0),
    "mean": lambda f: f,
    "wins": np.sign,
}


Preferences = Callable[[slice], Floats]  # f(x, x') of some documents x of a query over all x' of it, (rows, n_docs)


def scores_of_queries(
    qid: ArrayLike | None, n_docs: int, rule: Callable[[Ints], Preferences], aggregate: str
) -> Floats:
    """Scores (n_docs,) of documents by the preferences over the documents of the same query.

    Parameters
    ----------
    qid : (n_docs,) array-like, optional
        Without it all documents are one query.
    rule : callable
        From the rows of a query to its preferences.
    aggregate : str
        As in `scores_from_preferences`.
    """
    order, offsets, _ = group_rows(np.zeros(n_docs) if qid is None else qid)
    scores = np.empty(n_docs)
    for start, stop in pairwise(offsets):
        rows = order[start:stop]
        scores[rows] = scores_from_preferences(rule(rows), len(rows), aggregate)
    return scores


def scores_from_preferences(preferences: Preferences, n_docs: int, aggregate: str) -> Floats:
    """Mean preference of each document over all documents of its query.

    Parameters
    ----------
    preferences : callable
        f of the documents of one query, some rows at a time.
    n_docs : int
        Of the query.
    aggregate : {"clip", "mean", "wins"}
        Average clip(f, -1, 1), f itself, or its sign: the share of wins less that of losses (Copeland).

    Returns
    -------
    (n_docs,) float64
        In [-1, 1] for "clip" and "wins".
    """
    if aggregate not in PREFERENCES:
        raise InputError(f"unknown aggregate {aggregate!r} of the preferences; known: {', '.join(PREFERENCES)}")
    preference = PREFERENCES[aggregate]
    parts = [slice(start, min(start + ROWS, n_docs)) for start in range(0, n_docs, ROWS)]
    return np.concatenate([preference(preferences(part)).mean(axis=1) for part in parts])


def intransitive_triples(f: Floats) -> tuple[int, int]:
    """Triples of documents that f prefers in a circle, and all triples, for preferences f (n_docs, n_docs).

    Each circle x > y > z > x shows three times on the diagonal of P^3, where P holds the strict preferences.
    """
    n, prefers = len(f), (f > 0).astype(np.float64)
    circles = float(np.sum((prefers @ prefers) * prefers.T)) / 3.0
    return round(circles), n * (n - 1) * (n - 2) // 6


def intransitive_share(left: Floats, right: Floats, offsets: Ints) -> float:
    """Share of the triples of documents of a query that are preferred in a circle; 0 if there is no triple.

    Of a query with more than 100 documents, 100 evenly spaced ones are looked at.

    Parameters
    ----------
    left, right : (n_docs, rank) float64
        f(x, x') = left(x)' right(x').
    offsets : (n_queries + 1,) int64
        Bounds of the queries.
    """
    circles = triples = 0
    for start, stop in pairwise(offsets.tolist()):
        rows = np.unique(np.linspace(start, stop - 1, min(MOST, stop - start)).round().astype(np.int64))
        found = intransitive_triples(left[rows] @ right[rows].T)
        circles, triples = circles + found[0], triples + found[1]
    return circles / triples if triples else 0.0
