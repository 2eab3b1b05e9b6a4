"""Square loss over all strict pairs: conjugate gradients, and the closed form where every pair is strict."""

from __future__ import annotations

import numpy as np

from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import ScaledPairMap, normal_product, weighted_sum
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap


def pair_least_squares(
    pair_map: ScaledPairMap, lam: float, *, init: Floats | None = None, tol: float = 1e-4, max_iter: int = 2000
) -> Result:
    """Minimise P(b) = sum_p c_p (1 - f_p)^2 + lam ||b||^2 with f = F b, by preconditioned conjugate gradients.

    The linear system is (F' diag(c) F + lam I) b = F'c, the preconditioner its diagonal. The tied pairs, which the
    risk counts as constants, are left out: on them this differs from fitting f to 0.

    Parameters
    ----------
    pair_map : ScaledPairMap
    lam : float
        More than 0.
    init : array of shape ``pair_map.shape``, optional
    tol : float
        Relative duality gap at which to stop.

    Returns
    -------
    Result
        With the residual r of the linear system, primal minus dual is exactly ||r||^2 / lam.
    """
    scale, right = pair_map.squares() + lam, weighted_sum(pair_map)
    coef = np.zeros(pair_map.shape) if init is None else init.copy()
    residual = right - _product(pair_map, lam, coef) if init is not None else right.copy()
    step = residual / scale
    n_iter, energy = 0, float(np.sum(residual * step))
    while _gap(residual, lam) > tol * _value(pair_map, right, residual, coef) and n_iter < max_iter and energy > 0:
        image = _product(pair_map, lam, step)
        size = energy / float(np.sum(step * image))
        coef = coef + size * step
        residual = residual - size * image
        previous, energy = energy, float(np.sum(residual**2 / scale))
        step = residual / scale + (energy / previous) * step
        n_iter += 1
    return _result(pair_map, lam, right, coef, n_iter, tol)


def complete_least_squares(
    phi: Floats, pairs: PairBlocks, pair_map: ScaledPairMap, lam: float, *, tol: float
) -> Result:
    """The same for an antisymmetric rule of one query without ties, exactly.

    With all n (n - 1) ordered pairs of weight c / 2, signs S, and phi'phi diagonal with entries d, the solution is
    B_ab = (phi' S phi)_ab / (d_a d_b + 2 lam / c): the closed form in the eigenvectors of the Gram matrix.

    Parameters
    ----------
    phi : (n_docs, rank) float64
        Features of the documents in the order of the data, with orthogonal columns.
    pairs : PairBlocks
        With ``all_pairs_strict``.
    """
    falling = phi[pairs.order]
    before = np.cumsum(falling, axis=0) - falling  # sums of phi over the better documents of each
    after = falling.sum(axis=0) - before - falling
    signed = falling.T @ (after - before)  # phi' S phi
    d = np.sum(falling**2, axis=0)
    coef = signed / (np.outer(d, d) + 2.0 * lam / pairs.blocks[0].weight)
    return _result(pair_map, lam, weighted_sum(pair_map), 0.5 * (coef - coef.T), 1, tol)


def _product(pair_map: ScaledPairMap, lam: float, coef: Floats) -> Floats:
    return normal_product(pair_map, coef) + lam * coef


def _gap(residual: Floats, lam: float) -> float:
    return float(np.sum(residual**2)) / lam


def _value(pair_map: ScaledPairMap, right: Floats, residual: Floats, coef: Floats) -> float:
    """P at coef: sum c - b'(F'c + r), from P = sum c - 2 b'F'c + b'(F'c - r)."""
    return pair_map.pairs.total - float(np.sum(coef * (right + residual)))


def _result(pair_map: ScaledPairMap, lam: float, right: Floats, coef: Floats, n_iter: int, tol: float) -> Result:
    """With a residual computed anew, since the one that is updated along the way collects rounding errors."""
    residual = right - _product(pair_map, lam, coef)
    value = _value(pair_map, right, residual, coef)
    gap = relative_gap(value, _gap(residual, lam))
    return Result(coef, value, gap, n_iter=n_iter, converged=bool(gap <= tol))
