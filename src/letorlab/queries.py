"""Documents grouped by query: the one data structure, and the only grouping code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from letorlab.atomic import atomic_path
from letorlab.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Text = NDArray[np.str_]

RELEVANT = 1.0  # a document is relevant from this label on, as in the LETOR 3.0 tool


@dataclass(frozen=True)
class Queries:
    """Documents of several queries, stored query after query (CSR by query).

    Parameters
    ----------
    X : (n_docs, n_features) float64
        Features.
    y : (n_docs,) float64
        Relevance, 0 or more.
    offsets : (n_queries + 1,) int64
        Query q holds the rows ``offsets[q]:offsets[q + 1]``; strictly increasing from 0 to n_docs.
    qid : (n_queries,) str
        Query identifiers, all different.
    docid : (n_docs,) str
        Document identifiers.

    Raises
    ------
    InputError
        If the shapes disagree, a query is empty or named twice, or a value is not finite.
    """

    X: Floats
    y: Floats
    offsets: Ints
    qid: Text
    docid: Text

    def __post_init__(self) -> None:
        _check_offsets(self.offsets, len(self.y))
        if self.X.ndim != 2 or len(self.X) != len(self.y) or len(self.docid) != len(self.y):
            raise InputError(
                f"X has shape {self.X.shape}, y {self.y.shape} and docid {self.docid.shape}: "
                "X needs two dimensions and all three one row per document"
            )
        if len(self.qid) != len(self.offsets) - 1:
            raise InputError(f"{len(self.qid)} qids were given for {len(self.offsets) - 1} queries")
        if len(np.unique(self.qid)) != len(self.qid):
            names, counts = np.unique(self.qid, return_counts=True)
            raise InputError(f"qid {names[counts > 1][0]} names two queries; merge or rename them")
        if not (np.isfinite(self.X).all() and np.isfinite(self.y).all()):
            raise InputError("features and relevance must be finite; found NaN or infinity")

    @property
    def n_docs(self) -> int:
        return len(self.y)

    @property
    def n_queries(self) -> int:
        return len(self.qid)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def sizes(self) -> Ints:
        """Documents of each query, (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def qid_of_docs(self) -> Text:
        """The qid of every row, (n_docs,): the form in which scikit-learn style estimators take groups."""
        return np.repeat(self.qid, self.sizes)

    @classmethod
    def from_rows(cls, X: ArrayLike, y: ArrayLike, qid: ArrayLike, docid: ArrayLike | None = None) -> Queries:
        """Group rows by qid, keeping the order in which queries and documents first appear."""
        order, offsets, names = group_rows(qid)
        features, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        ids = np.arange(len(order)).astype(str) if docid is None else np.asarray(docid).astype(str)
        if not len(features) == len(labels) == len(ids) == len(order):
            raise InputError(
                f"{len(features)} rows of X, {len(labels)} of y, {len(order)} of qid, {len(ids)} of docid: "
                "each document needs one of each"
            )
        return cls(
            X=np.ascontiguousarray(features[order]),
            y=labels[order],
            offsets=offsets,
            qid=names,
            docid=ids[order],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Queries]) -> Queries:
        """All queries of `parts`, in order; a qid that stands in two parts is an error."""
        widths = {part.n_features for part in parts}
        if len(widths) != 1:
            raise InputError(f"parts with the same features are needed; got {sorted(widths)} features")
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(
            X=np.concatenate([part.X for part in parts]),
            y=np.concatenate([part.y for part in parts]),
            offsets=offsets_from_sizes(sizes),
            qid=np.concatenate([part.qid for part in parts]),
            docid=np.concatenate([part.docid for part in parts]),
        )

    def take(self, chosen: NDArray[np.bool_]) -> Queries:
        """The queries where `chosen` (n_queries,) is true; at least one."""
        rows = np.repeat(chosen, self.sizes)
        offsets = offsets_from_sizes(self.sizes[chosen])
        return Queries(self.X[rows], self.y[rows], offsets, self.qid[chosen], self.docid[rows])

    def canonical(self) -> Queries:
        """The same documents in an order that depends on them alone: by qid, then by their features and relevance.

        A fit that starts from here gives the same numbers, to the last digit, in whatever order the rows came.
        """
        by_qid = np.argsort(self.qid, kind="stable")
        rank_of_query = np.argsort(by_qid, kind="stable")
        order = np.lexsort([self.y, *self.X.T[::-1], np.repeat(rank_of_query, self.sizes)])
        return Queries(
            X=self.X[order],
            y=self.y[order],
            offsets=offsets_from_sizes(self.sizes[by_qid]),
            qid=self.qid[by_qid],
            docid=self.docid[order],
        )

    def save(self, path: str | Path) -> None:
        """Write an uncompressed ``.npz``: exact, the same bytes every time, and read at disk speed."""
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, X=self.X, y=self.y, offsets=self.offsets, qid=self.qid, docid=self.docid)

    @classmethod
    def load(cls, path: str | Path) -> Queries:
        """Read what `save` wrote; nothing in the file is executed."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**{name: file[name] for name in ("X", "y", "offsets", "qid", "docid")})


def offsets_from_sizes(sizes: ArrayLike) -> Ints:
    """Offsets (n_queries + 1,) of queries with the given numbers of documents."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def query_of_docs(offsets: Ints) -> Ints:
    """Index of the query of every row, (n_docs,)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def group_rows(qid: ArrayLike) -> tuple[Ints, Ints, Text]:
    """Group rows that need not be sorted: a qid is one query wherever its rows stand.

    Returns
    -------
    order : (n_docs,) int64
        Rows of the first query to appear, in their order, then of the second, and so on.
    offsets : (n_queries + 1,) int64
        Bounds of the queries in ``order``.
    names : (n_queries,) str
        The qids, in order of first appearance.
    """
    names, first, inverse, counts = np.unique(
        np.asarray(qid).astype(str), return_index=True, return_inverse=True, return_counts=True
    )
    by_appearance = np.argsort(first)
    place = np.empty_like(by_appearance)
    place[by_appearance] = np.arange(len(names))
    order = np.argsort(place[inverse], kind="stable")
    return order, offsets_from_sizes(counts[by_appearance]), names[by_appearance]


def _check_offsets(offsets: Ints, n_docs: int) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n_docs or (np.diff(offsets) <= 0).any():
        raise InputError(
            f"offsets must increase strictly from 0 to the number of documents ({n_docs}); "
            f"got {offsets[:3].tolist()}...{offsets[-3:].tolist()} of length {len(offsets)}"
        )
