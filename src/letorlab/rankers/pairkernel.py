"""Pairwise ranking by score differences, on any kernel between documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.kernels import Gaussian, Kernel, named_kernel, width
from letorlab.losses import margin_loss
from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import Difference
from letorlab.pairrule import PairRule, fit_pair_rule
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result


class PairKernelRanker(BaseEstimator):
    """Minimise the empirical ranking risk plus lam ||f||^2 over score differences f(x, x') = s(x) - s(x').

    The space is that of the kernel <G_x - G_x', G_u - G_u'> = k(x, u) - k(x, u') - k(x', u) + k(x', u'), the other
    pairwise kernel of Lei and Shi (2024), with any kernel k between documents. On a factor phi of k, s(x) = phi(x)'w
    and ||f||^2 = ||w||^2; with the hinge this is a kernel ranking SVM.

    Parameters
    ----------
    kernel : str or callable, default "gaussian"
        "gaussian" with its width `sigma`, or a kernel of scikit-learn's ``pairwise_kernels`` with `kernel_params`.
    kernel_params : dict, optional
    loss, r, sigma, lam, weighting, rank, residual_tol, tol, max_iter
        As in `letorlab.rankers.gaussian.GaussianPairRanker`.

    Attributes
    ----------
    rule_ : letorlab.pairrule.PairRule
        w and the factor.
    result_ : letorlab.solvers.Result
        With the duality gap of the problem on the stored factor.
    """

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        loss: str = "hinge",
        r: float = 2.0,
        sigma: float | str = "q0.5",
        lam: float = 1e-3,
        weighting: str = "queries",
        rank: int | None = None,
        residual_tol: float = 1e-8,
        tol: float = 1e-4,
        max_iter: int = 2000,
    ) -> None:
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.r = r
        self.sigma = sigma
        self.lam = lam
        self.weighting = weighting
        self.rank = rank
        self.residual_tol = residual_tol
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, init: PairKernelRanker | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        init : PairKernelRanker, optional
            A fitted model to start from, if it has the same data, kernel and rank: its factor is used too.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has two documents of different relevance.
        """
        loss = margin_loss(self.loss, self.r)
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        self.rule_: PairRule = fit_pair_rule(
            queries,
            self._kernel(queries.X),
            Difference,
            loss,
            self.lam,
            weighting=self.weighting,
            rank=self.rank,
            residual_tol=self.residual_tol,
            tol=self.tol,
            max_iter=self.max_iter,
            init=None if init is None else init.rule_,
        )
        self.result_: Result = self.rule_.result
        self.fit_facts_: dict[str, Any] = self.rule_.facts
        return self

    def _kernel(self, X: Floats) -> Kernel:
        if self.kernel == "gaussian":
            return Gaussian(width(self.sigma, X))
        return named_kernel(self.kernel, self.kernel_params)

    def _features(self, X: ArrayLike) -> Floats:
        features = predict_array(self, X)
        return self.rule_.factor.features(features)

    @property
    def coef_(self) -> Floats:
        """w, (rank,)."""
        return self.rule_.coef

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores s (n_docs,), higher is better."""
        return self._features(X) @ self.coef_

    def decision(self, X: ArrayLike, X_prime: ArrayLike) -> Floats:
        """f(x, x') = s(x) - s(x') of the pairs of rows, (n,): positive where x comes before x'."""
        return self.predict(X) - self.predict(X_prime)

    def decision_matrix(self, X: ArrayLike) -> Floats:
        """f(x_i, x_j) of all pairs of rows, (n, n)."""
        scores = self.predict(X)
        return scores[:, None] - scores[None, :]

    def score_risk(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> float:
        """Share of the ordered pairs within queries that f orders wrongly, f = 0 counting one half."""
        queries = Queries.from_rows(predict_array(self, X), y, qid)
        pairs = PairBlocks(queries.y, queries.offsets, "pairs")
        values = Difference(self.rule_.factor.features(queries.X), pairs).values(self.coef_)
        return sum(block.weighted_sum(0.5 - 0.5 * np.sign(values(block))) for block in pairs.blocks)
