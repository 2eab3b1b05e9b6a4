"""Pointwise least squares on the relevance labels, plain or with a ridge penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.queries import Floats
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.solvers.least_squares import ridge


class Regression(BaseEstimator):
    """Minimise the sum of squared errors plus ``lam`` times the squared norm of the weights.

    The intercept is the weight of a constant feature and is penalised like the others: with ``lam`` picked by
    validation MAP this gives LETOR's row Regression+L2 on OHSUMED to 0.002, and ``lam=0`` its row Regression.

    Parameters
    ----------
    lam : float, default 0
        Ridge penalty; 0 is ordinary least squares.

    Attributes
    ----------
    coef_ : (n_features,) float64
    intercept_ : float
    result_ : letorlab.solvers.Result
    """

    def __init__(self, lam: float = 0.0) -> None:
        self.lam = lam

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,); qid is not used."""
        features, relevance = fit_arrays(self, X, y)
        self.result_: Result = ridge(np.column_stack([features, np.ones(len(features))]), relevance, self.lam)
        self.coef_, self.intercept_ = self.result_.coef[:-1], float(self.result_.coef[-1])
        self.fit_facts_: dict[str, Any] = {}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        return predict_array(self, X) @ self.coef_ + self.intercept_
