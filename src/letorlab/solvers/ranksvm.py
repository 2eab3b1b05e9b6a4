"""Linear RankSVM: Newton's method on the structure of the pairs, for the squared hinge and the hinge."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve

from letorlab.errors import InputError
from letorlab.pairwise import StrictPairs, ViolatedPairs
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap

LOSSES = ("squared_hinge", "hinge")
WIDTHS = 0.15 ** np.arange(9)  # of the rounded kink of the hinge, from 1 to 3e-7


def ranksvm_newton(
    X: Floats,
    pairs: StrictPairs,
    C: float,
    *,
    loss: str = "squared_hinge",
    init: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Result:
    """Minimise P(w) = 1/2 ||w||^2 + C sum over strict pairs of psi(w'(x_i - x_j)), psi the squared hinge or the hinge.

    The squared hinge is the problem of Chapelle and Keerthi (Efficient algorithms for ranking with SVMs, 2010), the
    hinge that of Joachims (2002). On the pairs that violate the margin, with difference matrix D, the gradient of the
    squared hinge is w - 2C X' D'(1 - D X w) and the generalised Hessian I + 2C X' D' D X; both need D only through
    `ViolatedPairs`, so no pair is written out and a step costs O(n log n + n d^2 + d^3). The hinge is descended on with
    its kink rounded over a width h that shrinks: (1 - t)^2 / (2h) on the band 1 - h <= t < 1 and linear below it, so
    the same algebra on other runs of the sorted scores.

    Parameters
    ----------
    X : (n_docs, n_features) float64
    pairs : StrictPairs
    C : float
        Weight of the loss, more than 0.
    loss : {"squared_hinge", "hinge"}
    init : (n_features,) float64, optional
        Start, for example the solution at a smaller C.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        The most Newton steps.

    Returns
    -------
    Result
        The gap is that of the best point and the best dual point u_p = -psi'(t_p) seen, psi being the smooth loss.
        For the squared hinge, P - D = 1/2 ||grad P||^2. Of a rounded hinge, all u_p lie in [0, 1], so that they
        certify the hinge itself: D(u) = C sum_p u_p - 1/2 ||C X' D' u||^2 <= min P.

    Raises
    ------
    InputError
        If the loss is another.
    """
    if loss not in LOSSES:
        raise InputError(f"unknown loss {loss!r}; known: {', '.join(LOSSES)}")
    search = _Search(X, pairs, C, hinge=loss == "hinge", tol=tol, max_iter=max_iter)
    w = np.zeros(X.shape[1]) if init is None else init.copy()
    for width in WIDTHS if search.hinge else [None]:
        w = search.descend(w, width)
        if search.finished:
            break
    return search.result()


@dataclass
class _Search:
    """The descent, and the best primal and dual values of the problem that it has seen."""

    X: Floats
    pairs: StrictPairs
    C: float
    hinge: bool
    tol: float
    max_iter: int
    n_iter: int = 0
    primal: float = np.inf
    dual: float = -np.inf
    coef: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def finished(self) -> bool:
        return self.gap <= self.tol * self.primal or self.n_iter >= self.max_iter

    def descend(self, w: Floats, width: float | None) -> Floats:
        """Newton steps on the smooth loss until its own gap no longer matters beside that of the problem."""
        at = self._visit(w, width)
        while not self.finished and (not self.hinge or at.smooth_gap > 0.1 * self.gap):
            step = -solve(at.hessian(self.X), at.gradient, assume_a="pos")
            self.n_iter += 1
            moved = self._search_along(at, step, width)
            if moved is None:
                break
            at = moved
        return at.w

    def result(self) -> Result:
        gap = relative_gap(self.primal, self.gap)
        return Result(self.coef, self.primal, gap, n_iter=self.n_iter, converged=bool(gap <= self.tol))

    def _search_along(self, at: _Point, step: Floats, width: float | None) -> _Point | None:
        """Halve the Newton step until it decreases the objective (Armijo); full steps are the rule near the end."""
        size, slope = 1.0, float(at.gradient @ step)
        while size > 1e-10:
            trial = self._visit(at.w + size * step, width)
            if trial.value <= at.value + 1e-4 * size * slope:
                return trial
            size /= 2
        return None

    def _visit(self, w: Floats, width: float | None) -> _Point:
        """The smooth problem at w; notes what it says about the problem itself."""
        at = _Point.of(self.X, self.pairs, self.C, w, width)
        primal = 0.5 * float(w @ w) + self.C * at.hinge_sum if self.hinge else at.value
        if primal < self.primal:
            self.primal, self.coef = primal, w.copy()
        self.dual = max(self.dual, at.hinge_dual if self.hinge else at.value - at.smooth_gap)
        return at


@dataclass(frozen=True)
class _Point:
    """A smooth problem at w: 1/2 ||w||^2 + C sum_p psi(t_p), psi quadratic in a band of margins and linear below it.

    Parameters
    ----------
    w, gradient : (n_features,) float64
    value : float
    hinge_sum : float
        Sum of max(0, 1 - t_p) over the pairs.
    hinge_dual : float
        The dual of the hinge at u_p = -psi'(t_p): C sum_p u_p - 1/2 ||C X' D' u||^2.
    band : ViolatedPairs
        The pairs in the band, where psi is (1 - t)^2 / (2 width).
    curvature : float
        C / width.
    """

    w: Floats
    value: float
    gradient: Floats
    hinge_sum: float
    hinge_dual: float
    band: ViolatedPairs
    curvature: float

    @classmethod
    def of(cls, X: Floats, pairs: StrictPairs, C: float, w: Floats, width: float | None) -> _Point:
        scores, steepness = X @ w, 2.0 if width is None else 1.0 / width
        band = pairs.violated(scores, above=-np.inf if width is None else 1.0 - width)
        # with r_p = 1 - t_p on the band: D'r, the sum of r, and the sum of its squares
        push = band.degree - band.laplacian(scores)
        hinge_sum = band.count - float(band.degree @ scores)
        value = 0.5 * steepness * (hinge_sum - float(scores @ push))
        pushed, u_sum = steepness * push, steepness * hinge_sum
        if width is not None:
            below = pairs.violated(scores, 1.0 - width)
            slack = below.count - float(below.degree @ scores)
            value += slack - 0.5 * width * below.count
            pushed, u_sum, hinge_sum = pushed + below.degree, u_sum + below.count, hinge_sum + slack
        pull = C * (X.T @ pushed)
        value = 0.5 * float(w @ w) + C * value
        dual = C * u_sum - 0.5 * float(pull @ pull)
        return cls(w, value, w - pull, hinge_sum, dual, band, C * steepness)

    @property
    def smooth_gap(self) -> float:
        """Primal minus dual of the smooth problem at its own dual point."""
        return 0.5 * float(self.gradient @ self.gradient)

    def hessian(self, X: Floats) -> Floats:
        """Generalised Hessian: I + C psi'' X' D' D X over the pairs in the band."""
        return np.eye(X.shape[1]) + self.curvature * self.band.gram(X)
