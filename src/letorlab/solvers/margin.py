"""Convex margin risks over all strict pairs: preconditioned L-BFGS with a certified duality gap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from letorlab.losses import Hinge, MarginLoss, SmoothHinge
from letorlab.pairmaps import ScaledPairMap, risk
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap
from letorlab.solvers.lbfgs import lbfgs

WIDTHS = 0.3 ** np.arange(16)  # of the rounded kink of the hinge, from 1 to 1e-8


def minimise_margin_risk(
    pair_map: ScaledPairMap,
    loss: MarginLoss,
    lam: float,
    *,
    init: Floats | None = None,
    tol: float = 1e-4,
    max_iter: int = 2000,
) -> Result:
    """Minimise P(b) = sum_p c_p psi(f_p) + lam ||b||^2 over coefficients b, with f = F b on the strict pairs p.

    The hinge is descended on through `SmoothHinge` with a width that shrinks until the gap of the hinge itself is
    small enough.

    Parameters
    ----------
    pair_map : ScaledPairMap
        F, and the weights c.
    loss : MarginLoss
        psi.
    lam : float
        More than 0.
    init : array of shape ``pair_map.shape``, optional
        Start, for example the solution at a larger lam.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        The most passes over the pairs.

    Returns
    -------
    Result
        ``n_iter`` counts passes over the pairs. The gap is that of the best point and the best dual point seen:
        any u with finite conjugates gives D(u) = -sum_p c_p psi*(-u_p) - ||F'(c u)||^2 / (4 lam) <= min P.
    """
    search = _Search(pair_map, loss, lam, tol, max_iter)
    coef = np.zeros(pair_map.shape) if init is None else init
    try:
        for smoothing in _smoothings(loss):
            coef = search.descend(coef, smoothing)
    except _Finished:
        pass
    return search.result()


def _smoothings(loss: MarginLoss) -> list[MarginLoss | None]:
    return [SmoothHinge(float(width)) for width in WIDTHS] if isinstance(loss, Hinge) else [None]


class _Finished(Exception):
    """The gap is small enough, or all passes are used."""


@dataclass
class _Search:
    """The descent, and the best primal and dual values that it has seen."""

    pair_map: ScaledPairMap
    loss: MarginLoss
    lam: float
    tol: float
    max_iter: int
    n_iter: int = 0
    primal: float = np.inf
    dual: float = 0.0  # b = 0 in the dual: no convex loss is negative
    coef: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        # 2 is the curvature of the square loss; for the others it is the right order of size.
        self._diagonal = 2.0 * self.lam + 2.0 * self.pair_map.squares()

    def descend(self, start: Floats, smoothing: MarginLoss | None) -> Floats:
        """Minimise the smoothed problem, until its own gap no longer matters beside the gap of the problem."""
        smooth_gap = np.inf

        def evaluate(coef: Floats) -> tuple[float, Floats]:
            nonlocal smooth_gap
            value, slope = self._evaluate(coef, smoothing)
            smooth_gap = float(np.sum(slope**2)) / (4.0 * self.lam)
            return value, slope

        def stop() -> bool:
            return smoothing is not None and smooth_gap <= 0.1 * self.gap

        return lbfgs(evaluate, start, self._diagonal, stop)

    def _evaluate(self, coef: Floats, smoothing: MarginLoss | None) -> tuple[float, Floats]:
        """Value and slope of the smoothed problem; notes what it says about the problem itself."""
        if self.n_iter >= self.max_iter:
            raise _Finished
        self.n_iter += 1
        at = risk(self.pair_map, coef, self.loss, smoothing)
        penalty = self.lam * float(np.sum(coef**2))
        if at.value + penalty < self.primal:
            self.primal, self.coef = at.value + penalty, coef.copy()
        self.dual = max(self.dual, -at.conjugates - float(np.sum(at.gradient**2)) / (4.0 * self.lam))
        if self.gap <= self.tol * self.primal:
            raise _Finished
        return at.smooth_value + penalty, at.gradient + 2.0 * self.lam * coef

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def result(self) -> Result:
        gap = relative_gap(self.primal, self.gap)
        return Result(self.coef, self.primal, gap, n_iter=self.n_iter, converged=bool(gap <= self.tol))
