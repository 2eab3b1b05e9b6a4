"""Solvers: one algorithm a file; each returns a `Result` with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

from letorlab.queries import Floats


@dataclass(frozen=True)
class Result:
    """What a solver found, and how sure it is.

    Attributes
    ----------
    coef : float64 array
        The solution.
    objective : float
        Primal value at ``coef``, without the constant that tied pairs add.
    relative_gap : float or None
        (primal - dual) / primal, an upper bound of the relative error of ``objective``; None if not convex.
    n_iter : int
    converged : bool
        Whether the solver met its own tolerance.
    """

    coef: Floats
    objective: float
    relative_gap: float | None
    n_iter: int
    converged: bool


def relative_gap(primal: float, gap: float) -> float:
    """gap / primal; 0 at a zero objective, where the gap is 0 up to rounding."""
    return max(gap, 0.0) / primal if primal > 0 else 0.0
