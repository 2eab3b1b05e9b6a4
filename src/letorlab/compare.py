"""Intervals and paired tests on per-query values.

The value of a method on a data set is LETOR's: the mean over folds of the mean over the fold's test queries. Folds
differ in size, so a query counts 1 / (n_folds n_queries of its fold).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints


def query_weights(fold: Ints) -> Floats:
    """Weight of every query (n_queries,) in the mean of fold means; sums to 1."""
    folds, inverse, counts = np.unique(fold, return_inverse=True, return_counts=True)
    return 1.0 / (len(folds) * counts[inverse])


def bootstrap_weights(fold: Ints, *, resamples: int, rng: np.random.Generator) -> Floats:
    """Weights (resamples, n_queries) of bootstrap means of fold means: queries are resampled within their fold.

    Parameters
    ----------
    fold : (n_queries,) int
        Fold of every query.
    rng : numpy.random.Generator
        One set of resamples serves all methods, so that differences are resampled with their parts.
    """
    weights = np.zeros((resamples, len(fold)))
    for name in np.unique(fold):
        members = np.flatnonzero(fold == name)
        counts = rng.multinomial(len(members), np.full(len(members), 1.0 / len(members)), size=resamples)
        weights[:, members] = counts
    return weights * query_weights(fold)


def interval(values: Floats, weights: Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Percentile bootstrap limits, each (m,), of the weighted means of values (n_queries, m)."""
    tail = (1.0 - level) / 2
    low, high = np.quantile(weights @ values, [tail, 1.0 - tail], axis=0)
    return low, high


@dataclass(frozen=True)
class PairedTest:
    """t statistic and two-sided p-value of a paired t-test; None where the test says nothing."""

    t_statistic: float | None
    p_value: float | None


def paired_t_test(a: Floats, b: Floats) -> PairedTest:
    """Student's paired t-test over queries (LETOR's own practice), of a against b, each (n_queries,).

    Identical values give p = 1 without a statistic; one query, or the same difference on all, gives neither.
    """
    from scipy.stats import ttest_rel

    difference = a - b
    if not difference.any():
        return PairedTest(None, 1.0)
    if len(difference) < 2 or np.ptp(difference) <= 1e-12 * np.abs(difference).max():
        return PairedTest(None, None)
    result = ttest_rel(a, b)
    return PairedTest(float(result.statistic), float(result.pvalue))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the given order; None stays None and is not counted as a test.

    With p_(1) <= ... <= p_(m), the i-th adjusted value is max over j <= i of min(1, (m - j + 1) p_(j)).
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    if any(math.isnan(p) or not 0 <= p <= 1 for p, _ in tested):
        raise InputError(f"p-values must lie in [0, 1], or be None where there was no test; got {p_values}")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, place) in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - done) * p))
        adjusted[place] = highest
    return adjusted
