"""Fitting a comparison rule: a score r and a threshold, so that x' beats x where r(x') - r(x) > 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from letorlab.comparison_measures import tie_threshold
from letorlab.comparisons import Comparisons, score_differences
from letorlab.errors import InputError
from letorlab.kernels import Kernel
from letorlab.lowrank import Factor, factor_of
from letorlab.pairblocks import PairBlocks, tied_blocks
from letorlab.queries import Floats, Ints, Queries
from letorlab.scaling import Scaling
from letorlab.solvers import Result
from letorlab.solvers.comparison import ComparisonProblem, minimise_comparison_risk
from letorlab.solvers.pair_dual import pair_dual, pair_gram

Model = Literal["rank", "rank2", "compare"]
MakeKernel = Callable[[Floats], Kernel]  # a kernel for documents of scaled features

# How often a strict pair, and a tied one in either order, counts in each model; whether a tie has its own margin class.
STRICT, TIED, OFFSET = (
    {"rank": 1.0, "rank2": 2.0, "compare": 1.0},
    {"rank": 0.0, "rank2": 1.0, "compare": 1.0},
    {"rank": False, "rank2": False, "compare": True},
)


@dataclass(frozen=True)
class KernelScore:
    """u(x) = sum_a coef_a k(points_a, x)."""

    kernel: Kernel
    points: Floats
    coef: Floats

    def __call__(self, X: Floats) -> Floats:
        return self.kernel(X, self.points) @ self.coef


@dataclass(frozen=True)
class FactorScore:
    """u(x) = phi(x)'w with the features of a factor."""

    factor: Factor
    w: Floats

    def __call__(self, X: Floats) -> Floats:
        return self.factor.features(X) @ self.w


@dataclass(frozen=True)
class ComparisonRule:
    """A fitted rule.

    Attributes
    ----------
    scaling : Scaling
    score : KernelScore or FactorScore
        u, on scaled features.
    offset : float or None
        beta of the model "compare"; None for the others.
    threshold : float
        Largest difference of u that is still a tie: -beta, or the threshold with fewest training errors.
    result : Result
    """

    scaling: Scaling
    score: KernelScore | FactorScore
    offset: float | None
    threshold: float
    result: Result

    def u(self, X: Floats) -> Floats:
        return self.score(self.scaling(X))

    def r(self, X: Floats) -> Floats:
        """Scores in units of the threshold, (n,): a difference of more than 1 is an inequality.

        Where there is no positive threshold (a model "compare" so weak that its beta is not negative), u itself.
        """
        return self.u(X) / (self.threshold if self.threshold > 0 else 1.0)

    def predict(self, X: Floats, X_prime: Floats) -> Ints:
        """Outcomes (n,) in {-1, 0, 1} of pairs of rows.

        From the classifier's two values, beta + g for "x' is better" and beta - g for "x is better" with g = u(x') -
        u(x): the one that is positive, or the sign of g if both are, or a tie. With beta < 0 this is the threshold.
        """
        g = self.u(X_prime) - self.u(X)
        return np.where(np.abs(g) > self.threshold, np.sign(g), 0.0).astype(np.int64)


def fit_on_comparisons(
    comparisons: Comparisons, model: Model, make_kernel: MakeKernel, C: float, *, tol: float, max_iter: int
) -> ComparisonRule:
    """Fit a model to written-out comparisons by the dual of its support vector machine, on the exact kernel."""
    _check(model, C, int(np.sum(comparisons.y != 0)), int(np.sum(comparisons.y == 0)))
    scaling = Scaling.of(comparisons.items)
    X, X_prime, n_strict = strict_first(comparisons)
    X, X_prime = scaling(X), scaling(X_prime)
    kernel = make_kernel(scaling(comparisons.items))
    result = fit_dual(pair_gram(kernel, X, X_prime), n_strict, model, C, tol=tol, max_iter=max_iter)
    used = np.flatnonzero(result.coef[:-1])
    points = np.concatenate([X_prime[used], X[used]])
    score = KernelScore(kernel, points, np.concatenate([result.coef[used], -result.coef[used]]))
    offset = float(result.coef[-1]) if OFFSET[model] else None
    g = score(scaling(comparisons.X_prime)) - score(scaling(comparisons.X))
    return ComparisonRule(scaling, score, offset, _threshold(offset, g, comparisons.y), result)


def strict_first(comparisons: Comparisons) -> tuple[Floats, Floats, int]:
    """The pairs of the flipped data, x and x', and how many of them, the first, are inequalities."""
    X, X_prime, label = comparisons.flipped()
    return X, X_prime, int(np.sum(label == 1))


def fit_dual(gram: Floats, n_strict: int, model: Model, C: float, *, tol: float, max_iter: int) -> Result:
    """Solve the dual of a model on the kernel of pairs `gram`, of which the first `n_strict` are inequalities.

    The coefficients are those of the pairs that the model uses (all, or the inequalities), then the offset.
    """
    n = len(gram) if TIED[model] else n_strict
    strict = np.arange(n) < n_strict
    label = np.where(strict | (not OFFSET[model]), 1, -1)
    weight = C * np.where(strict, STRICT[model], TIED[model])
    return pair_dual(gram[:n, :n], label, weight, with_offset=OFFSET[model], tol=tol, max_iter=max_iter)


def fit_on_queries(
    queries: Queries,
    model: Model,
    make_kernel: MakeKernel,
    C: float,
    *,
    rank: int | None,
    residual_tol: float,
    tol: float,
    max_iter: int,
    init: ComparisonRule | None = None,
) -> ComparisonRule:
    """Fit a model to every pair of documents of a query, ties included, in the features of a factor of the kernel."""
    strict = PairBlocks(queries.y, queries.offsets, "pairs")
    n_pairs = int(np.sum(queries.sizes * (queries.sizes - 1))) // 2
    _check(model, C, strict.n_pairs, n_pairs - strict.n_pairs)
    scaling = Scaling.of(queries.X)
    X = scaling(queries.X)
    kernel = make_kernel(X)
    old = init.score if init is not None and isinstance(init.score, FactorScore) else None
    factor = factor_of(X, kernel, rank=rank, tol=residual_tol, known=old.factor if old else None)
    phi = factor.features(X)[strict.order]
    _, basis = np.linalg.eigh(phi.T @ phi)  # the solver is scaled by the Hessian's diagonal, which suits this basis
    problem = ComparisonProblem(
        phi @ basis,
        [block.reweighted(C * STRICT[model]) for block in strict.blocks],
        tied_blocks(queries.y[strict.order], queries.offsets, C * TIED[model]) if TIED[model] else [],
        OFFSET[model],
    )
    start = None
    if init is not None and old is not None and factor is old.factor:
        start = np.append(basis.T @ old.w, init.offset or 0.0)
    result = minimise_comparison_risk(problem, init=start, tol=tol, max_iter=max_iter)
    score = FactorScore(factor, basis @ result.coef[:-1])
    offset = float(result.coef[-1]) if OFFSET[model] else None
    g, outcome = score_differences(score(X), queries.y, queries.offsets)
    return ComparisonRule(scaling, score, offset, _threshold(offset, g, outcome), result)


def _threshold(offset: float | None, g: Floats, outcome: Ints) -> float:
    return tie_threshold(g, outcome) if offset is None else -offset


def _check(model: Model, C: float, n_strict: int, n_tied: int) -> None:
    if not 0 < C < np.inf:
        raise InputError(f"C must be a positive number; got {C}")
    if model == "compare" and n_tied == 0:
        raise InputError(
            f"none of the {n_strict} comparisons is a tie: the margin of ties cannot be learnt from them. Use the "
            'model "rank", which needs none, or add ties'
        )
    if model != "rank2" and n_strict == 0:
        raise InputError(f"all {n_tied} comparisons are ties: there is no order to learn from. Check the outcomes")
