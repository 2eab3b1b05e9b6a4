"""Pairwise ranking in the antisymmetric Gaussian space (Lei and Shi)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.kernels import Gaussian, width
from letorlab.losses import margin_loss
from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import Antisymmetric
from letorlab.pairrule import PairRule, fit_pair_rule
from letorlab.queries import Floats, Ints, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.tournament import Preferences, intransitive_share, scores_of_queries


class GaussianPairRanker(BaseEstimator):
    """Minimise the empirical ranking risk plus lam ||f||^2 over antisymmetric pairwise rules f.

    The space is that of the kernel K((x, x'), (u, u')) = (k(x, u) k(x', u') - k(x', u) k(x, u')) / 2 with the
    Gaussian k(x, u) = exp(-||x - u||^2 / sigma^2) (Y. Lei and Y. Shi, Learning with convex loss and pairwise Gaussian
    kernels, 2024). On a factor phi(x)'phi(u) of k, f(x, x') = phi(x)' B phi(x') with antisymmetric B and ||f||^2 =
    ||B||_F^2. Such a rule need not come from scores: it can learn that a beats b, b beats c and c beats a.

    Parameters
    ----------
    loss : {"hinge", "square", "rhinge"}, default "hinge"
        (1 - t)_+, (1 - t)^2 or (1 - t)_+^r of the margin t = sgn(y - y') f(x, x'). Tied pairs are constants.
    r : float, default 2
        Exponent of "rhinge", at least 1.
    sigma : float or str, default "q0.5"
        Width of the Gaussian, or a quantile of the distances between the training documents: "q0.5" is the median.
    lam : float, default 1e-3
        Weight of the squared norm.
    weighting : {"queries", "pairs"}, default "queries"
        Whether each query or each pair counts alike, see `letorlab.pairblocks.PairBlocks`. With one query, "pairs"
        is the risk of the paper, divided by n (n - 1).
    rank : int, optional
        The most landmarks of the factor; by default all different documents, but at most 512.
    residual_tol : float, default 1e-8
        What the factor may leave of k(x, x); the landmarks are as few as this allows.
    aggregate : {"clip", "mean", "wins"}, default "clip"
        How f becomes a score: the mean over the query's documents x' of clip(f(x, x'), -1, 1), f or sgn f.
    tol : float, default 1e-4
        Relative duality gap at which the solver stops.
    max_iter : int, default 2000
        The most passes over the pairs.

    Attributes
    ----------
    sigma_ : float
    rule_ : letorlab.pairrule.PairRule
        B and the factor.
    result_ : letorlab.solvers.Result
        With the duality gap of the problem on the stored factor; see `letorlab.exactgap` for that of the exact kernel.
    fit_facts_ : dict
        ``n_pairs``; ``factor_residual``, what the factor leaves of k(x, x) on average; ``intransitive_share``, the
        share of the training triples that f prefers in a circle.
    """

    def __init__(
        self,
        loss: str = "hinge",
        r: float = 2.0,
        sigma: float | str = "q0.5",
        lam: float = 1e-3,
        weighting: str = "queries",
        rank: int | None = None,
        residual_tol: float = 1e-8,
        aggregate: str = "clip",
        tol: float = 1e-4,
        max_iter: int = 2000,
    ) -> None:
        self.loss = loss
        self.r = r
        self.sigma = sigma
        self.lam = lam
        self.weighting = weighting
        self.rank = rank
        self.residual_tol = residual_tol
        self.aggregate = aggregate
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, init: GaussianPairRanker | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        init : GaussianPairRanker, optional
            A fitted model to start from, if it has the same data, sigma and rank: its factor is used too.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has two documents of different relevance.
        """
        loss = margin_loss(self.loss, self.r)
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        self.sigma_ = width(self.sigma, queries.X)
        self.rule_: PairRule = fit_pair_rule(
            queries,
            Gaussian(self.sigma_),
            Antisymmetric,
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
        phi = self.rule_.factor.features(queries.X)
        circular = intransitive_share(phi @ self.coef_, phi, queries.offsets)
        self.fit_facts_: dict[str, Any] = {**self.rule_.facts, "intransitive_share": circular}
        return self

    def _features(self, X: ArrayLike) -> Floats:
        features = predict_array(self, X)
        return self.rule_.factor.features(features)

    @property
    def coef_(self) -> Floats:
        """B, (rank, rank), antisymmetric."""
        return self.rule_.coef

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better: the mean preference over the documents of the same query.

        Without qid all documents are one query. The scores of a query change with its documents.
        """
        phi = self._features(X)
        left = phi @ self.coef_

        def rule(docs: Ints) -> Preferences:
            return lambda rows: left[docs[rows]] @ phi[docs].T

        return scores_of_queries(qid, len(phi), rule, self.aggregate)

    def decision(self, X: ArrayLike, X_prime: ArrayLike) -> Floats:
        """f(x, x') of the pairs of rows, (n,): positive where x comes before x'."""
        phi, phi_prime = (self._features(part) for part in (X, X_prime))
        return np.einsum("ik,ik->i", phi @ self.coef_, phi_prime)

    def decision_matrix(self, X: ArrayLike) -> Floats:
        """f(x_i, x_j) of all pairs of rows, (n, n), antisymmetric."""
        phi = self._features(X)
        values: Floats = phi @ self.coef_ @ phi.T
        return values

    def score_risk(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> float:
        """Share of the ordered pairs within queries that f orders wrongly, f = 0 counting one half.

        The estimator of the paper is f clipped to [-1, 1], which has the same risk. Tied pairs count as right.
        """
        queries = Queries.from_rows(predict_array(self, X), y, qid)
        pairs = PairBlocks(queries.y, queries.offsets, "pairs")
        values = Antisymmetric(self.rule_.factor.features(queries.X), pairs).values(self.coef_)
        return sum(block.weighted_sum(0.5 - 0.5 * np.sign(values(block))) for block in pairs.blocks)
