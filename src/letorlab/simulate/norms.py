"""Comparisons with a known truth: r(x) is a squared norm in the plane (Venuto et al., Figures 3 to 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from letorlab.comparison_measures import outcomes
from letorlab.comparisons import Comparisons
from letorlab.errors import InputError
from letorlab.queries import Floats
from letorlab.seeds import Seed, stream

SQUARED_NORMS: dict[str, Callable[[Floats], Floats]] = {
    "l1": lambda x: np.abs(x).sum(axis=1) ** 2,
    "l2": lambda x: np.sum(x**2, axis=1),
    "linf": lambda x: np.abs(x).max(axis=1) ** 2,
}
SIDE, STEP, NOISE = 2.0, 0.5, 0.25  # x uniform in [-2, 2]^2, x' near it, and the noise of the difference


def draw_comparisons(norm: str, n_ties: int, n_inequalities: int, *name: Seed) -> Comparisons:
    """Comparisons y = t(r(x') - r(x) + e) with x uniform in the square, x' = x + N(0, 0.5^2 I), e ~ N(0, 0.25^2).

    As the authors' code draws them (their text says [-3, 3]^2): pairs are drawn until there are enough of both
    kinds, and those that are too many left out.

    Parameters
    ----------
    norm : {"l1", "l2", "linf"}
    n_ties, n_inequalities : int
    name
        Names the random stream.
    """
    if norm not in SQUARED_NORMS:
        raise InputError(f"unknown norm {norm!r}; known: {', '.join(SQUARED_NORMS)}")
    rng, parts, wanted = stream("comparisons", norm, *name), [], {True: n_ties, False: n_inequalities}
    while any(wanted.values()):
        size = 4 * sum(wanted.values()) + 16
        X = rng.uniform(-SIDE, SIDE, (size, 2))
        X_prime = X + STEP * rng.normal(size=(size, 2))
        difference = SQUARED_NORMS[norm](X_prime) - SQUARED_NORMS[norm](X)
        y = outcomes(difference + NOISE * rng.normal(size=size), 1.0)
        for tie in (True, False):
            rows = np.flatnonzero((y == 0) == tie)[: wanted[tie]]
            parts.append(Comparisons(X[rows], X_prime[rows], y[rows]) if len(rows) else None)
            wanted[tie] -= len(rows)
    found = [part for part in parts if part is not None]
    return Comparisons(*(np.concatenate([getattr(part, key) for part in found]) for key in ("X", "X_prime", "y")))


def true_outcomes(norm: str, comparisons: Comparisons) -> np.ndarray:
    """What the truth predicts, without the noise: t(r(x') - r(x))."""
    r = SQUARED_NORMS[norm]
    return outcomes(r(comparisons.X_prime) - r(comparisons.X), 1.0)
