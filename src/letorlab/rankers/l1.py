"""l1-penalised pairwise ranking on atoms of document pairs (Chen and Chen)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.atoms import PairKernel
from letorlab.errors import InputError
from letorlab.kernels import Gaussian, width
from letorlab.losses import MarginLoss, margin_loss
from letorlab.pairblocks import PairBlocks
from letorlab.pairkernels import AnyPairKernel, DifferenceKernel, PairKernelKind, ProductKernel
from letorlab.queries import Floats, Ints, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.solvers.l1 import largest_lam, minimise_l1_risk
from letorlab.sparserule import SparseRule, landmarks_of
from letorlab.tournament import Preferences, scores_of_queries


class L1PairRanker(BaseEstimator):
    """Minimise the empirical ranking risk plus lam sum_ij |alpha_ij| over sparse sums of pair atoms.

    f = sum_ij alpha_ij K((z_i, z_j), .) with antisymmetric alpha, on documents z of the sample (H. Chen and J. Chen,
    l1-regularised ranking). With the product kernel k(x, u) k(x', u') of a Gaussian k, f(x, x') = k_x' alpha k_x' has
    the form of `letorlab.rankers.gaussian.GaussianPairRanker`; the l1 norm makes it depend on few pairs of documents.

    Parameters
    ----------
    loss : {"square", "qhinge"}, default "square"
        (1 - t)^2 or (1 - t)_+^q of the margin t = sgn(y - y') f(x, x'). Tied pairs are constants.
    q : float, default 2
        Exponent of "qhinge", at least 1; 1 is the hinge.
    pair_kernel : {"product", "difference"} or callable, default "product"
        k(z, x) k(z', x'), or <k_x - k_x', k_z - k_z'> (a score difference), or any function
        ``K(Z, Z_prime, X, X_prime) -> (n, m)`` of n and m pairs that is the same when both pairs are turned round.
    sigma : float or str, default "q0.5"
        Width of the Gaussian k(x, u) = exp(-||x - u||^2 / sigma^2), or a quantile of the distances: "q0.5".
    lam : float, default 0.01
        Weight of the norm.
    lam_unit : {"max", "absolute"}, default "max"
        Whether lam counts in units of the smallest weight at which no atom is in use, or as it is.
    weighting : {"queries", "pairs"}, default "queries"
        Whether each query or each pair counts alike, see `letorlab.pairblocks.PairBlocks`. With one query, "pairs" is
        the risk of the paper, divided by n (n - 1).
    landmarks : int, optional
        How many documents make the atoms, chosen for their Gaussians to span the others'. By default all different
        documents, but at most 512: the paper has all, and m landmarks give m (m - 1) / 2 atoms.
    aggregate : {"clip", "mean", "wins"}, default "clip"
        How f becomes a score: the mean over the query's documents x' of clip(f(x, x'), -1, 1), f or sgn f.
    tol : float, default 1e-4
        Relative duality gap at which the solver stops.
    max_iter : int, default 1000
        The most gradients over all atoms.

    Attributes
    ----------
    sigma_, lam_, lam_max_ : float
        The width, lam in absolute units, and the weight from which on the solution is 0.
    landmarks_ : (m, n_features) float64
    atoms_ : (n_atoms, 2) int64
        The pairs of landmarks that carry the model.
    weights_ : (n_atoms,) float64
        alpha at these; alpha is antisymmetric.
    result_ : letorlab.solvers.Result
        ``coef`` are the weights; with the duality gap of the problem over all atoms.
    fit_facts_ : dict
        ``n_pairs``, ``n_atoms``, ``n_landmarks``, ``lam``, ``lam_max``, and ``all_zero``: whether no atom is in use, so
        that every document gets the same score.
    """

    def __init__(
        self,
        loss: str = "square",
        q: float = 2.0,
        pair_kernel: str | PairKernel = "product",
        sigma: float | str = "q0.5",
        lam: float = 0.01,
        lam_unit: str = "max",
        weighting: str = "queries",
        landmarks: int | None = None,
        aggregate: str = "clip",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.q = q
        self.pair_kernel = pair_kernel
        self.sigma = sigma
        self.lam = lam
        self.lam_unit = lam_unit
        self.weighting = weighting
        self.landmarks = landmarks
        self.aggregate = aggregate
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, init: L1PairRanker | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        init : L1PairRanker, optional
            A fitted model to start from, if it has the same landmarks.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has two documents of different relevance.
        """
        loss = self._loss()
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        pairs = PairBlocks(queries.y, queries.offsets, self.weighting)
        self.sigma_ = width(self.sigma, queries.X)
        kernel = Gaussian(self.sigma_)
        self.landmarks_ = landmarks_of(queries.X, kernel, self.landmarks)
        kind = self._kind(kernel)
        dictionary = kind.dictionary(queries.X, self.landmarks_, pairs)
        self.lam_max_ = largest_lam(dictionary, loss)
        self.lam_ = self._absolute_lam(self.lam_max_)
        start = None if init is None else init._alpha_on(self.landmarks_)
        found = minimise_l1_risk(dictionary, loss, self.lam_, init=start, tol=self.tol, max_iter=self.max_iter)
        self.rule_ = SparseRule.of(kind, self.landmarks_, found.coef)
        self.result_: Result = self.rule_.compact(found)
        self.fit_facts_: dict[str, Any] = {
            "n_pairs": pairs.n_pairs,
            "n_atoms": len(self.weights_),
            "n_landmarks": len(self.landmarks_),
            "lam": self.lam_,
            "lam_max": self.lam_max_,
            "all_zero": len(self.weights_) == 0,
        }
        return self

    def _loss(self) -> MarginLoss:
        if self.loss not in ("square", "qhinge"):
            raise InputError(f"unknown loss {self.loss!r}; known: square, qhinge (with an exponent q >= 1)")
        if not 1.0 <= self.q < np.inf:
            raise InputError(f"the exponent q of the hinge must be a number of at least 1; got {self.q}")
        return margin_loss("square" if self.loss == "square" else "rhinge", self.q)

    def _kind(self, kernel: Gaussian) -> PairKernelKind:
        if callable(self.pair_kernel):
            return AnyPairKernel(self.pair_kernel)
        if self.pair_kernel not in ("product", "difference"):
            raise InputError(f"unknown pair_kernel {self.pair_kernel!r}; known: product, difference, or a function")
        return ProductKernel(kernel) if self.pair_kernel == "product" else DifferenceKernel(kernel)

    def _absolute_lam(self, lam_max: float) -> float:
        if self.lam_unit not in ("max", "absolute"):
            raise InputError(f'unknown lam_unit {self.lam_unit!r}; known: "max" (a share of lam_max), "absolute"')
        if not 0 < self.lam < np.inf:
            raise InputError(f"the weight lam of the l1 norm must be a positive number; got {self.lam}")
        return float(self.lam) if self.lam_unit == "absolute" else self.lam * lam_max

    def _alpha_on(self, landmarks: Floats) -> Floats | None:
        return self.alpha_ if np.array_equal(self.landmarks_, landmarks) else None

    @property
    def alpha_(self) -> Floats:
        """The coefficients as an antisymmetric matrix, (m, m)."""
        return self.rule_.atoms.matrix(self.rule_.weights, len(self.landmarks_))

    @property
    def atoms_(self) -> Ints:
        return np.column_stack([self.rule_.atoms.first, self.rule_.atoms.second])

    @property
    def weights_(self) -> Floats:
        return self.rule_.weights

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better: the mean preference over the documents of the same query.

        Without qid all documents are one query. The scores of a query change with its documents.
        """
        features = predict_array(self, X)

        def rule(docs: Ints) -> Preferences:
            return self.rule_.within(features[docs])

        return scores_of_queries(qid, len(features), rule, self.aggregate)

    def decision(self, X: ArrayLike, X_prime: ArrayLike) -> Floats:
        """f(x, x') of the pairs of rows, (n,): positive where x comes before x'."""
        return self.rule_.on_pairs(predict_array(self, X), predict_array(self, X_prime))

    def decision_matrix(self, X: ArrayLike) -> Floats:
        """f(x_i, x_j) of all pairs of rows, (n, n), antisymmetric."""
        features = predict_array(self, X)
        return self.rule_.within(features)(slice(0, len(features)))

    def score_risk(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> float:
        """Share of the ordered pairs within queries that f orders wrongly, f = 0 counting one half.

        The paper counts f = 0 as right, which would make the rule f = 0 the best. Tied pairs count as right.
        """
        return self._mean_over_pairs(X, y, qid, "pairs", lambda f: 0.5 - 0.5 * np.sign(f))

    def clipped_risk(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> float:
        """Empirical risk of the loss at f clipped to [-1, 1], the estimator of the paper; without the tied pairs."""
        loss = self._loss()
        return self._mean_over_pairs(X, y, qid, self.weighting, lambda f: loss.value(np.clip(f, -1.0, 1.0)))

    def _mean_over_pairs(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, weighting: str, cost: Any) -> float:
        queries = Queries.from_rows(predict_array(self, X), y, qid)
        pairs = PairBlocks(queries.y, queries.offsets, weighting)
        values = self.rule_.values(queries.X, pairs)
        return sum(block.weighted_sum(cost(values(block))) for block in pairs.blocks)
