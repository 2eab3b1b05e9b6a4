"""Hard-margin comparison machines: a linear program and a quadratic program for separable comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from letorlab.comparisons import Comparisons
from letorlab.errors import InputError
from letorlab.queries import Floats, Ints
from letorlab.solvers.pair_dual import pair_dual

HARD = 1e6  # weight of the loss, relative to what the largest difference could need, at which the margin is hard


@dataclass(frozen=True)
class HardComparison:
    """r(x) = w'x; x' is better than x where r(x') - r(x) > 1, and all comparisons are at least `margin` from +-1.

    Attributes
    ----------
    w : (n_features,) float64
    margin : float
        mu, in units of r.
    """

    w: Floats
    margin: float

    def rank_function(self, X: Floats) -> Floats:
        return X @ self.w

    def predict_pairs(self, X: Floats, X_prime: Floats) -> Ints:
        g = (X_prime - X) @ self.w
        return np.where(np.abs(g) > 1.0, np.sign(g), 0.0).astype(np.int64)


def compare_lp(comparisons: Comparisons) -> HardComparison:
    """Maximise the margin mu of (7): |w'(x' - x)| <= 1 - mu on ties, y w'(x' - x) >= 1 + mu on inequalities.

    Raises
    ------
    InputError
        If no linear r separates the comparisons, or there is no tie, so that the margin has no bound.
    """
    solution = _linear_program(comparisons)
    if solution is None:
        raise InputError(
            f"no linear score separates these {comparisons.n_pairs} comparisons: use SVMCompare, which allows errors"
        )
    return HardComparison(solution[:-1], float(solution[-1]))


def is_separable(comparisons: Comparisons) -> bool:
    """Whether some linear r predicts every comparison, with a margin of at least 0."""
    return _linear_program(comparisons) is not None


def compare_qp(comparisons: Comparisons) -> HardComparison:
    """Minimise ||u||^2 subject to label (b + u'(x' - x)) >= 1 on the flipped data (9); w = u / -b and mu = -1/b.

    By the paper's Lemma 3.1 this is feasible for (7), with a margin of at most that of `compare_lp`. The features are
    taken as they are: the solution changes with their scale, that of the linear program does not.

    Raises
    ------
    InputError
        As `compare_lp`.
    """
    compare_lp(comparisons)
    X, X_prime, label = comparisons.flipped()
    difference = X_prime - X
    gram = difference @ difference.T
    weight = np.full(len(label), HARD / gram.diagonal().max())
    result = pair_dual(gram, label, weight, with_offset=True, tol=1e-10)
    u, offset = difference.T @ result.coef[:-1], float(result.coef[-1])
    return HardComparison(u / -offset, -1.0 / offset)


def _linear_program(comparisons: Comparisons) -> Floats | None:
    """w, then mu; None if it is infeasible."""
    if not (comparisons.y == 0).any():
        raise InputError("the hard margin is between ties and inequalities, and none of the comparisons is a tie")
    difference = comparisons.X_prime - comparisons.X
    tied, strict = difference[comparisons.y == 0], (difference * comparisons.y[:, None])[comparisons.y != 0]
    rows = np.concatenate([tied, -tied, -strict])
    bounds = np.concatenate([np.ones(2 * len(tied)), -np.ones(len(strict))])
    n_features = difference.shape[1]
    found = linprog(
        np.append(np.zeros(n_features), -1.0),
        A_ub=np.column_stack([rows, np.ones(len(rows))]),
        b_ub=bounds,
        bounds=[(None, None)] * n_features + [(0.0, 1.0)],
        method="highs",
    )
    return found.x if found.success else None
