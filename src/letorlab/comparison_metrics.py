"""Measures of comparisons between the documents of a query, for scores: how well all its pairs are told, ties included.

Same signature as `letorlab.metrics`; the order of equal scores changes none of them. A query without the pairs that a
measure needs is 0, as one without relevant document is in the others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from letorlab import comparison_measures
from letorlab.comparisons import score_differences
from letorlab.queries import Floats, Ints


def comparison_accuracy(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """Share of the pairs of documents whose outcome is predicted, (n_queries,): a difference of at most 1 is a tie.

    It is 1 minus the zero-one error of Venuto et al. For scores in units of the tie threshold, as `svmcompare` gives
    them; other methods' scores know no such unit. No profile changes it.
    """

    def accuracy(difference: Floats, outcome: Ints) -> float:
        predicted = comparison_measures.outcomes(difference, 1.0)
        return 1.0 - comparison_measures.comparison_errors(outcome, predicted).share

    return _of_queries(scores, labels, offsets, lambda outcome: len(outcome) > 0, accuracy)


def tie_auc(
    scores: ArrayLike, labels: ArrayLike, offsets: Ints, *, profile: str = "letor3", ties: str = "file"
) -> Floats:
    """Area under the ROC curve of the tie threshold, (n_queries,), see `letorlab.comparison_measures.tie_roc`.

    It does not change with the unit of the scores, nor with a profile.
    """
    return _of_queries(scores, labels, offsets, _has_both, comparison_measures.tie_auc)


def _has_both(outcome: Ints) -> bool:
    return bool((outcome == 0).any() and (outcome != 0).any())


def _of_queries(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: Ints,
    defined: Callable[[Ints], bool],
    value: Callable[[Floats, Ints], float],
) -> Floats:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    values = np.zeros(len(offsets) - 1)
    for query, (start, stop) in enumerate(pairwise(offsets.tolist())):
        difference, outcome = score_differences(s[start:stop], y[start:stop], np.array([0, stop - start]))
        if defined(outcome):
            values[query] = value(difference, outcome)
    return values
