"""Training queries with equal documents merged: what a score can not tell apart is computed once.

A document drawn several times into a derived query has the same score each time, so that its rows of a Sinkhorn
matrix are equal, and so are the columns of the ranks that it fills. One row of mass m stands for them, see
`letorlab.sinkhorn`: the numbers are the same, and a derived query has 0.3 to 0.4 of the entries. Across queries a
document is scored once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, Queries, offsets_from_sizes
from letorlab.rank_linear import Measure


@dataclass(frozen=True)
class Merged:
    """Items: the different documents of each query, query after query.

    The order of queries and items depends on the data alone, not on the order in which they came.

    Parameters
    ----------
    documents : (n_documents, n_features) float64
        All different feature vectors.
    relevance : (n_documents,) float64
        Mean relevance of each.
    weight : (n_documents,) float64
        How often each occurs.
    document : (n_items,) int64
        Row of `documents`.
    mass : (n_items,) float64
        How often the document stands in the query.
    gains : (n_items, n_terms) float64
        Summed over equal documents, see `letorlab.rank_linear.Terms`.
    discounts : (largest query, n_terms) float64
    offsets : (n_queries + 1,) int64
        Bounds of the queries in the items; queries without any gain are left out.
    """

    documents: Floats
    relevance: Floats
    weight: Floats
    document: Ints
    mass: Floats
    gains: Floats
    discounts: Floats
    offsets: Ints

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1


def merge(queries: Queries, measure: Measure) -> Merged:
    """Merge equal documents within each query, and list all different ones.

    Raises
    ------
    InputError
        If no query has a document with gain: there is nothing to learn from.
    """
    terms = measure(queries.y, queries.offsets)
    first, document = distinct_rows(queries.X)
    query = np.repeat(np.argsort(np.argsort(queries.qid, kind="stable")), queries.sizes)
    order = np.lexsort((queries.y, document, query))
    starts = np.flatnonzero(np.diff(query[order] * len(first) + document[order], prepend=-1))
    gains = np.add.reduceat(terms.gains[order], starts)
    mass = np.diff(starts, append=len(order)).astype(np.float64)
    query, item_document = query[order[starts]], document[order[starts]]
    used = np.bincount(query, np.abs(gains).sum(1))[query] > 0
    if not used.any():
        raise InputError(
            f"none of the {queries.n_queries} queries has a document with gain: there is nothing to learn from. "
            "Check the labels"
        )
    weight = np.bincount(document).astype(np.float64)
    return Merged(
        documents=queries.X[first],
        relevance=np.bincount(document[order], queries.y[order]) / weight,
        weight=weight,
        document=item_document[used],
        mass=mass[used],
        gains=gains[used],
        discounts=terms.discounts,
        offsets=offsets_from_sizes(np.unique(query[used], return_counts=True)[1]),
    )


def unmerged(queries: Queries) -> Merged:
    """Every document an item of its own, whose gain is its label: for losses that look at documents one by one.

    Queries without a strict pair are left out: they do not say what should come first.

    Raises
    ------
    InputError
        If no query has two documents of different relevance.
    """
    canonical = queries.canonical()
    starts = canonical.offsets[:-1]
    mixed = np.maximum.reduceat(canonical.y, starts) > np.minimum.reduceat(canonical.y, starts)
    if not mixed.any():
        raise InputError(
            f"none of the {queries.n_queries} queries has documents of different relevance: "
            "there is nothing to learn from. Check the labels, or the qid column"
        )
    rows = np.repeat(mixed, canonical.sizes)
    one = np.ones(int(rows.sum()))
    return Merged(
        documents=canonical.X[rows],
        relevance=canonical.y[rows],
        weight=one,
        document=np.arange(len(one)),
        mass=one,
        gains=canonical.y[rows, None],
        discounts=np.zeros((int(canonical.sizes[mixed].max()), 1)),
        offsets=offsets_from_sizes(canonical.sizes[mixed]),
    )


def distinct_rows(X: Floats) -> tuple[Ints, Ints]:
    """Row numbers of the different rows of X, ordered by content, and for each row the place of its equal there."""
    rows = np.ascontiguousarray(X + 0.0)  # -0 becomes 0
    bytes_of_row = np.dtype((np.void, rows.itemsize * rows.shape[1]))
    _, first, inverse = np.unique(rows.view(bytes_of_row).ravel(), return_index=True, return_inverse=True)
    return first, inverse
