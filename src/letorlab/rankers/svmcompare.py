"""Support vector comparison machines (Venuto, Hocking and others, arXiv 1401.8008): learning to compare, with ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.comparison_rule import ComparisonRule, Model, fit_on_comparisons, fit_on_queries
from letorlab.comparisons import Comparisons
from letorlab.errors import InputError
from letorlab.kernels import Gaussian, Kernel, named_kernel, width
from letorlab.queries import Floats, Ints, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.solvers.pair_dual import MAX_ITER

MODELS: tuple[Model, ...] = ("compare", "rank", "rank2")


class SVMCompare(BaseEstimator):
    """Learn a score r so that x' is better than x where r(x') - r(x) > 1, and the two tie where it is within [-1, 1].

    Three models of one paper. "compare" gives ties a margin class of their own: minimise 1/2 ||u||^2 + C times the sum
    of max(0, 1 - b - u'(x' - x)) over pairs with x' better and max(0, 1 + b +- u'(x' - x)) over ties, then r = u / -b.
    "rank" learns u from the inequalities alone (a ranking SVM), "rank2" takes a tie as two opposite inequalities, and
    both then choose the threshold with fewest errors on the training pairs.

    Features are standardised inside. With ``fit`` the pairs are all pairs of documents of a query, ties included, and
    the kernel is that of a low-rank factor; with ``fit_comparisons`` they are given, and the kernel is exact.

    Parameters
    ----------
    model : {"compare", "rank", "rank2"}, default "compare"
    kernel : str or callable, default "gaussian"
        "gaussian" with its width `sigma`, or a kernel of scikit-learn such as "linear", with `kernel_params`.
    kernel_params : dict, optional
    sigma : float or str, default "q0.5"
        Width on standardised features, k = exp(-d^2 / sigma^2); "q0.5" is the median distance. The paper's gamma is
        1 / sigma^2.
    C : float, default 1e-3
        Weight of the loss of a pair; it multiplies a sum, not a mean.
    rank, residual_tol
        Of the factor, as in `letorlab.rankers.gaussian.GaussianPairRanker`; for ``fit``.
    tol : float, default 1e-4
        Relative duality gap of ``fit``, libsvm's tolerance in ``fit_comparisons``.
    max_iter : int, optional
        Passes of ``fit`` (default 2000), steps of libsvm in ``fit_comparisons`` (default 1e6).

    Attributes
    ----------
    rule_ : letorlab.comparison_rule.ComparisonRule
    result_ : letorlab.solvers.Result
    fit_facts_ : dict
        ``n_pairs``, ties included.
    """

    def __init__(
        self,
        model: Model = "compare",
        kernel: str = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        sigma: float | str = "q0.5",
        C: float = 1e-3,
        rank: int | None = None,
        residual_tol: float = 1e-8,
        tol: float = 1e-4,
        max_iter: int | None = None,
    ) -> None:
        self.model = model
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.sigma = sigma
        self.C = C
        self.rank = rank
        self.residual_tol = residual_tol
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, init: SVMCompare | None = None) -> Self:
        """Fit to every pair of documents of a query: X (n_docs, n_features), relevance y (n_docs,), qid (n_docs,).

        Parameters
        ----------
        init : SVMCompare, optional
            A fitted model of the same data and kernel to start from.

        Raises
        ------
        InputError
            If a parameter is out of range, no two documents of a query differ in relevance, or (model "compare") none
            tie.
        """
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        self.rule_: ComparisonRule = fit_on_queries(
            queries,
            self._model(),
            self._kernel,
            self.C,
            rank=self.rank,
            residual_tol=self.residual_tol,
            tol=self.tol,
            max_iter=self.max_iter or 2000,
            init=None if init is None else init.rule_,
        )
        return self._note(int(np.sum(queries.sizes * (queries.sizes - 1))) // 2)

    def fit_comparisons(self, comparisons: Comparisons) -> Self:
        """Fit to given comparisons, through libsvm on the structured kernel: memory grows with their square.

        Raises
        ------
        InputError
            If a parameter is out of range, or the comparisons are all ties, or (model "compare") none is.
        """
        fit_arrays(self, comparisons.X, comparisons.y)
        self.rule_ = fit_on_comparisons(
            comparisons, self._model(), self._kernel, self.C, tol=self.tol, max_iter=self.max_iter or MAX_ITER
        )
        return self._note(comparisons.n_pairs)

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores r (n_docs,): a difference of more than 1 is an inequality."""
        features = predict_array(self, X)
        return self.rule_.r(features)

    rank_function = predict

    def predict_pairs(self, X: ArrayLike, X_prime: ArrayLike) -> Ints:
        """Outcomes (n,) of pairs of rows: 1 where x' is better, -1 where x is, 0 for a tie."""
        first, second = predict_array(self, X), predict_array(self, X_prime)
        return self.rule_.predict(first, second)

    def _model(self) -> Model:
        if self.model not in MODELS:
            raise InputError(f"unknown model {self.model!r}; known: {', '.join(MODELS)}")
        return self.model

    def _kernel(self, X: Floats) -> Kernel:
        if self.kernel == "gaussian":
            return Gaussian(width(self.sigma, X))
        return named_kernel(self.kernel, self.kernel_params)

    def _note(self, n_pairs: int) -> Self:
        self.result_: Result = self.rule_.result
        self.fit_facts_: dict[str, Any] = {"n_pairs": n_pairs}
        return self
