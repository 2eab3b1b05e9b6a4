"""Linear RankSVM with squared hinge loss: Newton's method on the structure of the pairs."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve

from letorlab.pairwise import StrictPairs, ViolatedPairs
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap


def ranksvm_newton(
    X: Floats,
    pairs: StrictPairs,
    C: float,
    *,
    init: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Result:
    """Minimise P(w) = 1/2 ||w||^2 + C sum over strict pairs of max(0, 1 - w'(x_i - x_j))^2.

    The problem of Chapelle and Keerthi (Efficient algorithms for ranking with SVMs, 2010). On the pairs that
    violate the margin, with difference matrix D, the gradient is w - 2C X' D'(1 - D X w) and the generalised
    Hessian I + 2C X' D' D X; both need D only through `ViolatedPairs`, so no pair is written out and a step
    costs O(n d log n + d^3).

    Parameters
    ----------
    X : (n_docs, n_features) float64
    pairs : StrictPairs
    C : float
        Weight of the loss, more than 0.
    init : (n_features,) float64, optional
        Start, for example the solution at a smaller C.
    tol : float
        Relative duality gap at which to stop.

    Returns
    -------
    Result
        The gap is exact: at the dual point alpha_p = 2C max(0, 1 - margin_p), primal minus dual equals
        1/2 ||grad P(w)||^2.
    """
    w = np.zeros(X.shape[1]) if init is None else init.copy()
    value, violated = _objective(X, pairs, C, w)
    gap = np.inf
    for iteration in range(max_iter + 1):
        gradient = w - 2 * C * (X.T @ (violated.degree - violated.laplacian(X @ w)))
        gap = relative_gap(value, 0.5 * float(gradient @ gradient))
        if gap <= tol or iteration == max_iter:
            break
        hessian = np.eye(len(w)) + 2 * C * violated.gram(X)
        step = -solve(hessian, gradient, assume_a="pos")
        w, value, violated, moved = _search(X, pairs, C, w, value, step, float(gradient @ step))
        if not moved:
            break
    return Result(w, value, gap, n_iter=iteration, converged=bool(gap <= tol))


def _objective(X: Floats, pairs: StrictPairs, C: float, w: Floats) -> tuple[float, ViolatedPairs]:
    scores = X @ w
    violated = pairs.violated(scores)
    # ||1 - D s||^2 = count - 2 degree's + s'Ls, on the violated pairs
    loss = violated.count - 2 * violated.degree @ scores + scores @ violated.laplacian(scores)
    return float(0.5 * w @ w + C * loss), violated


def _search(
    X: Floats, pairs: StrictPairs, C: float, w: Floats, value: float, step: Floats, slope: float
) -> tuple[Floats, float, ViolatedPairs, bool]:
    """Halve the Newton step until it decreases the objective (Armijo); full steps are the rule near the end."""
    size = 1.0
    while size > 1e-10:
        trial = w + size * step
        trial_value, violated = _objective(X, pairs, C, trial)
        if trial_value <= value + 1e-4 * size * slope:
            return trial, trial_value, violated, True
        size /= 2
    return w, value, _objective(X, pairs, C, w)[1], False
