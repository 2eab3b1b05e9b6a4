"""The dual of a comparison machine on written-out pairs, through libsvm."""

from __future__ import annotations

import warnings

import numpy as np

from letorlab.kernels import Kernel
from letorlab.queries import Floats, Ints
from letorlab.solvers import Result, relative_gap

MAX_ITER = 1_000_000  # of libsvm's decomposition, each of two variables; it has no limit of its own


def pair_gram(kernel: Kernel, X: Floats, X_prime: Floats) -> Floats:
    """<k(x'_a) - k(x_a), k(x'_b) - k(x_b)> for all pairs a, b: (m, m)."""
    mixed = kernel(X_prime, X)
    return kernel(X_prime, X_prime) + kernel(X, X) - mixed - mixed.T


def pair_dual(
    gram: Floats, label: Ints, weight: Floats, *, with_offset: bool, tol: float = 1e-3, max_iter: int = MAX_ITER
) -> Result:
    """Minimise 1/2 ||u||^2 + sum_a c_a max(0, 1 - label_a (b + g_a)) over the span of the pairs, g = gram @ coef.

    Parameters
    ----------
    gram : (m, m) float64
        From `pair_gram`.
    label : (m,) int64
        1 or -1; both must occur if there is an offset b.
    weight : (m,) float64
        c.
    with_offset : bool
        Whether b is a variable, or 0. libsvm always has one: without, each pair is given both ways round with half
        its weight, which makes 0 optimal.
    tol : float
        libsvm's own tolerance of the optimality conditions.

    Returns
    -------
    Result
        ``coef`` is label * v on the pairs, then b, with dual variables 0 <= v <= c.
    """
    if with_offset:
        v, offset, n_iter, converged = _libsvm(gram, label, weight, tol, max_iter)
    else:
        both = np.block([[gram, -gram], [-gram, gram]])
        v2, _, n_iter, converged = _libsvm(both, np.concatenate([label, -label]), np.tile(weight / 2, 2), tol, max_iter)
        v, offset = v2[: len(label)] + v2[len(label) :], 0.0
    coef = label * v
    g = gram @ coef
    norm2 = float(coef @ g)
    primal = 0.5 * norm2 + float(weight @ np.maximum(0.0, 1.0 - label * (offset + g)))
    gap = relative_gap(primal, primal - float(v.sum() - 0.5 * norm2))
    return Result(np.append(coef, offset), primal, gap, n_iter=n_iter, converged=converged)


def _libsvm(gram: Floats, label: Ints, weight: Floats, tol: float, max_iter: int) -> tuple[Floats, float, int, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    model = SVC(C=float(weight.max()), kernel="precomputed", tol=tol, max_iter=max_iter, cache_size=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is reported in the result
        model.fit(gram, label, sample_weight=weight / weight.max())
    v = np.zeros(len(label))
    v[model.support_] = np.abs(model.dual_coef_[0])
    n_iter = int(np.max(model.n_iter_))
    return v, float(model.intercept_[0]), n_iter, n_iter < max_iter
