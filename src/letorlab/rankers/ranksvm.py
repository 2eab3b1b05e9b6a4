"""Linear RankSVM on all strict pairs of every query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.errors import InputError
from letorlab.pairwise import StrictPairs
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.solvers.ranksvm import ranksvm_newton


class RankSVM(BaseEstimator):
    """Minimise 1/2 ||w||^2 + C times the sum of hinge losses, squared or not, of all strict pairs within queries.

    Parameters
    ----------
    C : float, default 1e-3
        Weight of the loss; it multiplies a sum, not a mean, over pairs.
    loss : {"squared_hinge", "hinge"}
        The hinge is Joachims' RankSVM; its square is RankSVM-Primal, and several times faster.
    tol : float, default 1e-6
        Relative duality gap at which the solver stops.
    max_iter : int, default 100
        Newton steps.

    Attributes
    ----------
    coef_ : (n_features,) float64
    result_ : letorlab.solvers.Result
        With an exact duality gap.
    """

    def __init__(self, C: float = 1e-3, loss: str = "squared_hinge", tol: float = 1e-6, max_iter: int = 100) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, init: RankSVM | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        init : RankSVM, optional
            A fitted model to start from.

        Raises
        ------
        InputError
            If C is not positive, the loss is another, or no query has two documents of different relevance.
        """
        if not 0 < self.C < np.inf:
            raise InputError(f"C must be a positive number; got {self.C}")
        features, relevance = fit_arrays(self, X, y)
        queries = Queries.from_rows(features, relevance, qid)
        pairs = StrictPairs(queries.y, queries.offsets)
        if pairs.n_pairs == 0:
            raise InputError(
                f"none of the {queries.n_queries} queries has documents of different relevance: "
                "there is no pair to learn from. Check the labels, or the qid column"
            )
        start: Floats | None = None if init is None else init.coef_
        self.result_: Result = ranksvm_newton(
            queries.X, pairs, self.C, loss=self.loss, init=start, tol=self.tol, max_iter=self.max_iter
        )
        self.coef_: Floats = self.result_.coef
        self.fit_facts_: dict[str, Any] = {"n_pairs": pairs.n_pairs}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        return predict_array(self, X) @ self.coef_
