"""Strict pairs as blocks of a matrix: better documents of a query against worse ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, query_of_docs

ROWS = 64  # better documents that a block gathers where grades are small: bigger blocks, fewer calls
ENTRIES = 2**19  # that a block has at most, so that memory does not grow with the square of a query


@dataclass(frozen=True)
class Block:
    """All strict pairs of the documents `rows` with worse ones among the documents `cols`, of one query.

    Attributes
    ----------
    rows, cols : slice
        Positions in the order of `PairBlocks.order`.
    upper : slice
        The same documents as `rows`, counted among the better documents only (`PairBlocks.upper`).
    weight : float
        Weight c of each pair in the risk.
    strict : (n_rows, k) bool array or None
        Which of the first k columns are worse than each row; all later columns are. None if all are.
    """

    rows: slice
    cols: slice
    upper: slice
    weight: float
    strict: NDArray[np.bool_] | None

    def keep_strict(self, values: Floats) -> Floats:
        """The values (n_rows, n_cols), changed in place, with 0 where a pair is not strict."""
        if self.strict is not None:
            values[:, : self.strict.shape[1]] *= self.strict
        return values

    def weights(self) -> Floats:
        """Weight of each pair, (n_rows, n_cols), with 0 where a pair is not strict."""
        shape = self.rows.stop - self.rows.start, self.cols.stop - self.cols.start
        return self.keep_strict(np.full(shape, self.weight))

    def reweighted(self, weight: float) -> Block:
        return replace(self, weight=weight)

    def weighted_sum(self, values: Floats) -> float:
        """Sum over the strict pairs of the values (n_rows, n_cols), with their weight; changes the values."""
        return self.weight * float(self.keep_strict(values).sum())


class PairBlocks:
    """All strict pairs within queries, and their weights in the empirical ranking risk.

    Documents are put in the order of their query and of falling relevance; the documents that are worse than one
    of a grade are then the rest of the query, and the pairs of a grade one block, a slice by a slice. Documents
    whose grades are small share a block with a mask.

    Parameters
    ----------
    y : (n_docs,) float64
        Relevance.
    offsets : (n_queries + 1,) int64
        Bounds of the queries.
    weighting : {"pairs", "queries"}
        With "pairs" the risk is a sum over the ordered pairs of different documents in a query, divided by their
        number N = sum n_q (n_q - 1), tied pairs included: a strict pair, which is two ordered ones, weighs 2 / N.
        With one query this is the risk of the paper. With "queries" it is the mean over queries of the mean over
        their strict pairs, so that a query with many documents, or few ties, counts no more than another.

    Attributes
    ----------
    order : (n_docs,) int64
        Rows of the data in the order described.
    upper : (n_upper,) int64
        Positions in that order of the documents that are better than another of their query.
    blocks : list of Block
    grades : list of (list of int, float)
        For each query the bounds of its grades in that order, and the weight of its strict pairs.
    n_docs, n_pairs : int
    total : float
        Sum of the weights of all strict pairs.

    Raises
    ------
    InputError
        If the weighting is another, or there is no strict pair.
    """

    def __init__(self, y: Floats, offsets: Ints, weighting: str = "queries") -> None:
        self.n_docs = len(y)
        self.order = np.lexsort((-y, query_of_docs(offsets)))
        grades = y[self.order]
        bounds = [_grade_bounds(grades, start, stop) for start, stop in pairwise(offsets.tolist())]
        spans = [[(first, end, query[-1]) for first, end in pairwise(query[:-1])] for query in bounds]
        counts = np.array([sum((end - first) * (stop - end) for first, end, stop in query) for query in spans])
        self.n_pairs = int(counts.sum())
        if self.n_pairs == 0:
            raise InputError(
                f"none of the {len(spans)} queries has documents of different relevance: "
                "there is no pair to learn from. Check the labels, or the qid column"
            )
        weights = _weights(weighting, counts, np.diff(offsets))
        self.total = float(weights @ counts)
        self.grades = list(zip(bounds, weights.tolist(), strict=True))
        self.blocks: list[Block] = []
        upper: list[Ints] = []
        for query_spans, weight in zip(spans, weights, strict=True):
            self.blocks += _blocks(grades, query_spans, sum(map(len, upper)), float(weight))
            upper += [np.arange(first, end) for first, end, _ in query_spans]
        self.upper = np.concatenate(upper)

    @property
    def all_pairs_strict(self) -> bool:
        """Whether there is one query, and no two of its documents have the same relevance."""
        return 2 * self.n_pairs == self.n_docs * (self.n_docs - 1)


def tied_blocks(grades: Floats, offsets: Ints, weight: float) -> list[Block]:
    """All ordered pairs of different documents of the same query and grade, as blocks.

    Parameters
    ----------
    grades : (n_docs,) float64
        Relevance in the order of `PairBlocks.order`.
    """
    blocks: list[Block] = []
    for start, stop in pairwise(offsets.tolist()):
        for first, end in pairwise(_grade_bounds(grades, start, stop)):
            if end - first > 1:
                blocks += _tied_grade(first, end, weight)
    return blocks


def _tied_grade(first: int, end: int, weight: float) -> Iterator[Block]:
    """Documents first..end against each other, some rows at a time, so that only these rows need a mask."""
    step = min(max(1, ENTRIES // (end - first)), 4 * ROWS)
    for begin in range(first, end, step):
        rows = slice(begin, min(begin + step, end))
        yield Block(rows, slice(begin, end), rows, weight, ~np.eye(rows.stop - begin, dtype=bool))
        if begin > first:
            yield Block(rows, slice(first, begin), rows, weight, None)


def _weights(weighting: str, counts: Ints, sizes: Ints) -> Floats:
    """Weight of a strict pair of each query."""
    if weighting == "pairs":
        return np.full(len(counts), 2.0 / np.sum(sizes * (sizes - 1)))
    if weighting == "queries":
        return 1.0 / (np.count_nonzero(counts) * np.maximum(counts, 1))
    raise InputError(f'unknown weighting {weighting!r} of the pairs; known: "pairs", "queries"')


def _grade_bounds(grades: Floats, start: int, stop: int) -> list[int]:
    """Where the grades of a query begin, the best first, and its end: documents of a grade are better than the next."""
    falls = np.flatnonzero(np.diff(grades[start:stop])) + start + 1
    return [start, *falls.tolist(), stop]


def _blocks(grades: Floats, spans: list[tuple[int, int, int]], n_before: int, weight: float) -> Iterator[Block]:
    """Small grades share a block, of fewer than 2 ROWS better documents; large ones are split into several."""
    while spans:
        size = _together(spans)
        (first, begin, stop), end = spans[0], spans[size - 1][1]
        step = max(1, ENTRIES // (stop - begin))
        for row in range(first, end, step):
            rows = slice(row, min(row + step, end))
            upper = slice(n_before + rows.start - first, n_before + rows.stop - first)
            strict = grades[rows, None] > grades[None, begin:end] if size > 1 else None
            yield Block(rows, slice(begin, stop), upper, weight, strict)
        n_before += end - first
        spans = spans[size:]


def _together(spans: list[tuple[int, int, int]]) -> int:
    """How many of the next grades make up ROWS documents, without one that has as many itself."""
    size = next((k for k, span in enumerate(spans, 1) if span[1] - spans[0][0] >= ROWS), len(spans))
    first, end, _ = spans[size - 1]
    return size - 1 if size > 1 and end - first >= ROWS else size
