"""Least squares with a ridge penalty, through one singular value decomposition."""

from __future__ import annotations

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap


def ridge(X: Floats, y: Floats, lam: float, *, tol: float = 1e-6) -> Result:
    """Minimise ||X w - y||^2 + lam ||w||^2; the solution of least norm if lam = 0.

    Parameters
    ----------
    X : (n, d) float64
    y : (n,) float64
    lam : float
        0 or more.
    tol : float
        Relative duality gap that counts as converged. The solution is exact up to rounding, so this only
        catches data too ill-conditioned for double precision.

    Returns
    -------
    Result
        With the certificate of `ridge_gap`.

    Raises
    ------
    InputError
        If lam is negative or not finite.
    """
    if not 0 <= lam < np.inf:
        raise InputError(f"the ridge penalty lam must be a number of at least 0; got {lam}")
    U, d, Vt = _range(X)
    w = Vt.T @ (d / (d**2 + lam) * (U.T @ y))
    residual = y - X @ w
    primal = float(residual @ residual + lam * (w @ w))
    certified = relative_gap(primal, ridge_gap(X, y, w, lam))
    return Result(w, primal, certified, n_iter=1, converged=certified <= tol)


def ridge_gap(X: Floats, y: Floats, w: Floats, lam: float) -> float:
    """Primal at any w minus dual at a point made from the residual r = y - X w; never below the error of w.

    The dual is 2 u'y - ||u||^2 - ||X'u||^2 / lam. For lam > 0 the point is u = r, and the gap is
    lam ||w - X' r / lam||^2. For lam = 0 the point must satisfy X' u = 0, so r is first projected on the complement
    of the range of X.
    """
    residual = y - X @ w
    if lam > 0:
        return lam * float(np.sum((w - X.T @ residual / lam) ** 2))
    U = _range(X)[0]
    u = residual - U @ (U.T @ residual)
    return float(residual @ residual - 2 * u @ y + u @ u)


def _range(X: Floats) -> tuple[Floats, Floats, Floats]:
    """Singular value decomposition U, d, V' without the singular values that are 0 up to rounding."""
    U, d, Vt = np.linalg.svd(X, full_matrices=False)
    kept = d > d.max(initial=0.0) * max(X.shape) * np.finfo(float).eps
    return U[:, kept], d[kept], Vt[kept]
