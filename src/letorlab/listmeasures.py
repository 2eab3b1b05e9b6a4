"""AP and NDCG of the same queries under one scoring after the other: what boosting and line searches maximise.

Equal scores are ranked worst first, so that a ranker gains nothing by not deciding, and the order of the documents
does not matter; on scores without ties the values are those of `letorlab.metrics`, some ten times as fast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from letorlab.errors import InputError
from letorlab.metrics import parse_metric
from letorlab.profiles import profile_named
from letorlab.queries import Floats, Queries

SIGN = np.int64(-(2**63))


class ListMeasure:
    """A measure of training queries as a function of the scores.

    Parameters
    ----------
    queries : Queries
    metric : str
        "map" or, with any k, "ndcg@10".
    profile : str
        A name of `letorlab.profiles.PROFILES`.

    Raises
    ------
    InputError
        If the metric is another, or a label has no gain in the profile.
    """

    def __init__(self, queries: Queries, metric: str, profile: str) -> None:
        name, k = parse_metric(metric)
        if name not in ("map", "ndcg"):
            raise InputError(f"{metric!r} can not be maximised here; use map, or ndcg with a k such as ndcg@10")
        rule = profile_named(profile)
        if not (queries.y <= rule.max_label).all():
            raise InputError(
                f"labels must be at most {rule.max_label:g} in profile {profile!r}; found {queries.y.max():g}"
            )
        grades, grade = np.unique(queries.y, return_inverse=True)
        starts, width = queries.offsets[:-1, None], int(queries.sizes.max())
        rows = starts + np.arange(width)
        self._outside = rows >= queries.offsets[1:, None]
        self._rows = np.where(self._outside, starts, rows)
        self._bits = max(1, int(len(grades) - 1).bit_length())
        self._grade = grade.astype(np.int64)
        self._k = None if name == "map" else min(k or 1, width)
        if self._k is None:
            self._value = np.where(grades >= rule.relevant_from, 1.0, 0.0)
            self._ranks = np.arange(1.0, width + 1)
            self._scale = np.add.reduceat(self._value[grade], queries.offsets[:-1])
        else:
            self._value = rule.gain(grades)
            self._discount = rule.discount(np.arange(1.0, self._k + 1))
            best = self._value[self._ranked(queries.y)[:, : self._k]]
            self._scale = best @ self._discount
            if not rule.gain_of_short_lists and k is not None:
                self._scale = np.where(queries.sizes < k, np.inf, self._scale)
        self._scale = np.where(self._scale > 0, self._scale, np.inf)  # nothing to gain: the value is 0

    def __call__(self, scores: Floats) -> Floats:
        """Values (n_queries,) of scores (n_docs,)."""
        ranked = self._ranked(scores)
        if self._k is not None:
            return (self._value[ranked[:, : self._k]] @ self._discount) / self._scale
        relevant = self._value[ranked]
        return (relevant * np.cumsum(relevant, axis=1) / self._ranks).sum(1) / self._scale

    def _ranked(self, scores: Floats) -> NDArray[np.int64]:
        """Grades (n_queries, width) by falling score; the lowest grade beyond the end of a list.

        A score and its grade are one integer, ordered like the score; the grade takes the lowest bits.
        """
        bits = np.ascontiguousarray(-scores + 0.0).view(np.int64)  # + 0: no negative zero
        ordered = np.where(bits < 0, ~bits ^ SIGN, bits)
        keys = ((ordered >> self._bits) << self._bits) | self._grade
        padded = np.where(self._outside, np.iinfo(np.int64).max, keys[self._rows])
        padded.sort(axis=1)
        mask = (1 << self._bits) - 1
        return np.where(padded == np.iinfo(np.int64).max, 0, padded & mask)
