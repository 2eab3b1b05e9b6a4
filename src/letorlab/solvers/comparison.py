"""Comparison machines on all pairs of ranking data: scores and a tie margin, with a certified duality gap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from letorlab.losses import Hinge, SmoothHinge
from letorlab.pairblocks import Block
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap
from letorlab.solvers.lbfgs import lbfgs
from letorlab.solvers.margin import WIDTHS


@dataclass(frozen=True)
class ComparisonProblem:
    """Minimise 1/2 ||w||^2 + sum over strict pairs of c max(0, 1 - b - g) + sum over ties of c max(0, 1 + b + g)

    where g = w'(phi_i - phi_j) of a strict pair has its better document i first, and a tied pair counts in both orders.
    With b this is the soft-margin problem (15) of Venuto et al. on the flipped data (8), c = C; with b = 0 and twice
    the weight on strict pairs it is their model rank2, and without ties the ranking SVM.

    Parameters
    ----------
    phi : (n_docs, rank) float64
        Features in the order of the blocks.
    strict, tied : list of Block
        With weights c.
    with_offset : bool
        Whether b is a variable, or 0.
    """

    phi: Floats
    strict: list[Block]
    tied: list[Block]
    with_offset: bool

    def diagonal(self) -> Floats:
        """Roughly the Hessian's diagonal, for w and b."""
        result = np.zeros(self.phi.shape[1] + 1)
        for block in [*self.strict, *self.tied]:
            weights = block.weights()
            rows, cols = self.phi[block.rows], self.phi[block.cols]
            result[:-1] += weights.sum(axis=1) @ rows**2 + weights.sum(axis=0) @ cols**2
            result[:-1] -= 2.0 * np.einsum("ik,ik->k", rows, weights @ cols)
            result[-1] += weights.sum()
        result[:-1] += 1.0
        return result


def minimise_comparison_risk(
    problem: ComparisonProblem, *, init: Floats | None = None, tol: float = 1e-4, max_iter: int = 2000
) -> Result:
    """Minimise a `ComparisonProblem` by L-BFGS on a hinge whose kink is rounded less and less.

    Parameters
    ----------
    init : (rank + 1,) float64, optional
        Start: w, then b.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        The most passes over the pairs.

    Returns
    -------
    Result
        ``coef`` is w, then b. Dual variables 0 <= v <= c give the value sum v - 1/2 ||sum +-v (phi_i - phi_j)||^2,
        if those of strict and of tied pairs have the same sum where b is free: the larger sum is scaled down.
    """
    search = _Search(problem, tol, max_iter)
    coef = np.zeros(problem.phi.shape[1] + 1) if init is None else init
    try:
        for width in WIDTHS:
            coef = search.descend(coef, SmoothHinge(float(width)))
    except _Finished:
        pass
    return search.result()


class _Finished(Exception):
    """The gap is small enough, or all passes are used."""


@dataclass
class _Side:
    """What the strict or the tied pairs add: loss, its smoothing, and the sums of their dual variables."""

    value: float
    smooth_value: float
    total: float
    image: Floats  # sum of v (phi_i - phi_j)


@dataclass
class _Search:
    problem: ComparisonProblem
    tol: float
    max_iter: int
    n_iter: int = 0
    primal: float = np.inf
    dual: float = 0.0
    coef: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self._diagonal = self.problem.diagonal()

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def descend(self, start: Floats, smoothing: SmoothHinge) -> Floats:
        error = np.inf

        def evaluate(coef: Floats) -> tuple[float, Floats]:
            nonlocal error
            value, slope = self._evaluate(coef, smoothing)
            error = 0.5 * float(np.sum(slope[:-1] ** 2)) + abs(slope[-1]) * (1.0 + abs(coef[-1]))
            return value, slope

        return lbfgs(evaluate, start, self._diagonal, lambda: error <= 0.1 * self.gap)

    def _evaluate(self, coef: Floats, smoothing: SmoothHinge) -> tuple[float, Floats]:
        if self.n_iter >= self.max_iter:
            raise _Finished
        self.n_iter += 1
        w, offset = coef[:-1], float(coef[-1])
        scores = self.problem.phi @ w
        strict = self._side(self.problem.strict, scores, offset, 1.0, smoothing)
        tied = self._side(self.problem.tied, scores, offset, -1.0, smoothing)
        penalty = 0.5 * float(w @ w)
        if penalty + strict.value + tied.value < self.primal:
            self.primal, self.coef = penalty + strict.value + tied.value, coef.copy()
        self.dual = max(self.dual, self._dual_value(strict, tied))
        if self.gap <= self.tol * self.primal:
            raise _Finished
        slope_of_offset = tied.total - strict.total if self.problem.with_offset else 0.0
        slope = np.append(w - strict.image + tied.image, slope_of_offset)
        return penalty + strict.smooth_value + tied.smooth_value, slope

    def _side(self, blocks: list[Block], scores: Floats, offset: float, sign: float, smoothing: SmoothHinge) -> _Side:
        """Pairs of margin sign (offset + s_i - s_j)."""
        hinge, degree = Hinge(), np.zeros(len(scores))
        value = smooth_value = total = 0.0
        for block in blocks:
            margin = sign * (offset + scores[block.rows, None] - scores[None, block.cols])
            v = block.keep_strict(block.weight * smoothing.dual_point(margin))
            value += block.weighted_sum(hinge.value(margin))
            smooth_value += block.weighted_sum(smoothing.value(margin))
            total += float(v.sum())
            degree[block.rows] += v.sum(axis=1)
            degree[block.cols] -= v.sum(axis=0)
        return _Side(value, smooth_value, total, self.problem.phi.T @ degree)

    def _dual_value(self, strict: _Side, tied: _Side) -> float:
        share_strict = share_tied = 1.0
        if self.problem.with_offset:
            smaller = min(strict.total, tied.total)
            share_strict = smaller / strict.total if strict.total > 0 else 0.0
            share_tied = smaller / tied.total if tied.total > 0 else 0.0
        total = share_strict * strict.total + share_tied * tied.total
        norm2 = float(np.sum((share_strict * strict.image - share_tied * tied.image) ** 2))
        size = min(1.0, total / norm2) if norm2 > 0 else 1.0  # the best multiple that stays in the box
        return size * total - 0.5 * size**2 * norm2

    def result(self) -> Result:
        gap = relative_gap(self.primal, self.gap)
        return Result(self.coef, self.primal, gap, n_iter=self.n_iter, converged=bool(gap <= self.tol))
