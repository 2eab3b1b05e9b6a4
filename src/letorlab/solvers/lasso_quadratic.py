"""A quadratic function plus an l1 norm, minimised exactly: an active set of signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from letorlab.queries import Floats

Bools = NDArray[np.bool_]

ROUNDING = 16 * np.finfo(float).eps
RIDGE = 1e-14  # of the largest diagonal entry, the first that is tried on a singular part of the matrix


def lasso_quadratic(H: Floats, g: Floats, lam: float, start: Floats, *, tol: float = 1e-10) -> Floats:
    """Minimise 1/2 b'Hb - g'b + lam ||b||_1.

    The signs of the support are held, the linear system is solved for them, and on the way there the exact minimum is
    taken, at which coefficients may reach 0 or change sign. When the support is optimal for its signs, all zeros whose
    slope is too steep join, but for those that would then move against their slope. It ends after finitely many steps.

    Parameters
    ----------
    H : (n, n) float64
        Positive semidefinite.
    g, start : (n,) float64
    tol : float
        Violation of the optimality conditions, relative to lam, at which to stop; or the rounding error of H b, if that
        is more.

    Returns
    -------
    (n,) float64
    """
    b, sizes = start.copy(), np.abs(H)
    for _ in range(10 * len(g) + 100):
        down = g - H @ b
        slack = tol * lam + ROUNDING * (sizes @ np.abs(b) + np.abs(g))
        support, excess = b != 0, np.abs(down) - lam
        residual = np.where(support, down - lam * np.sign(b), 0.0)
        if (np.abs(residual) > slack).any():
            step = _step(H, residual, support)
        elif (~support & (excess > slack)).any():
            step = _entering_step(H, np.sign(down) * np.maximum(excess, 0.0), support, excess > slack)
        else:
            break
        size = _exact_size(H, down, lam, b, step)
        if size == 0.0:
            break  # rounding error is all that is left
        moved = b + size * step
        moved[np.abs(moved) <= 1e-15 * np.abs(b) + 1e-15 * np.abs(size * step)] = 0.0  # those that reached 0
        b = moved
    return b


def _step(H: Floats, slope: Floats, chosen: Bools) -> Floats:
    """Newton's step for the chosen coefficients."""
    step = np.zeros(len(slope))
    rows = np.flatnonzero(chosen)
    part, ridge = H[np.ix_(rows, rows)], 0.0
    scale = float(part.diagonal().max(initial=0.0)) or 1.0
    while True:
        try:
            factor = cho_factor(part + ridge * np.eye(len(rows)))
            break
        except LinAlgError:
            ridge = max(10.0 * ridge, RIDGE * scale)
    step[rows] = cho_solve(factor, slope[rows])
    return step


def _entering_step(H: Floats, slope: Floats, support: Bools, entering: Bools) -> Floats:
    """The step with the entering coefficients, without those that would move against their slope."""
    entering = entering & ~support
    slope = np.where(entering, slope, 0.0)
    while True:
        step = _step(H, slope, support | entering)
        wrong = entering & (step * slope <= 0)
        if not wrong.any():
            return step
        entering = entering & ~wrong
        if not entering.any():  # the steepest alone never does
            entering = np.arange(len(slope)) == np.argmax(np.abs(slope))
            return _step(H, np.where(entering, slope, 0.0), support | entering)
        slope = np.where(entering, slope, 0.0)


def _exact_size(H: Floats, down: Floats, lam: float, b: Floats, step: Floats) -> float:
    """The size >= 0 that minimises along the step: the slope is piecewise linear, and jumps where a sign changes."""
    curvature = float(step @ (H @ step))
    moving = step != 0
    still = moving & (b == 0)
    slope = -float(down @ step) + lam * (float(np.sign(b) @ step) + float(np.abs(step[still]).sum()))
    if slope >= 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = np.where(moving & (b * step < 0), -b / step, np.inf)
    order = np.argsort(zeros, kind="stable")
    at = 0.0
    for position in order[: np.count_nonzero(np.isfinite(zeros))]:
        reach = float(zeros[position])
        ahead = slope + curvature * (reach - at)
        if ahead >= 0:
            break
        slope, at = ahead + 2.0 * lam * abs(float(step[position])), reach
        if slope >= 0:
            return at
    return at - slope / curvature if curvature > 0 else at
