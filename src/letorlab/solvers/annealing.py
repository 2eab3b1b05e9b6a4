"""Minimising a smoothed, non-convex function while its smoothing shrinks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.optimize import OptimizeResult, minimize

from letorlab.queries import Floats

Evaluate = Callable[[Floats, float], tuple[float, Floats]]
Watch = Callable[[Floats, float], bool]
Stage = Callable[[Floats, float, Callable[[Floats], None]], tuple[Floats, int, bool]]


@dataclass(frozen=True)
class Annealed:
    """Where the last stage ended.

    Attributes
    ----------
    point : (n,) float64
    smoothing : float
        Of the last stage.
    n_iter : int
        Iterations of all stages.
    converged : bool
        Whether the last stage met its tolerance, or the stages were stopped early.
    """

    point: Floats
    smoothing: float
    n_iter: int
    converged: bool


def anneal(
    stage: Stage, start: Floats, smoothings: Sequence[float], watch: Watch, *, patience: float = math.inf
) -> Annealed:
    """Run a stage at each smoothing in turn, from where the one before ended.

    Parameters
    ----------
    stage : callable
        From a point, a smoothing and a function to call after each iteration, to the new point, its number of
        iterations and whether it met its tolerance; see `lbfgs_stage`.
    start : (n,) float64
    smoothings : sequence of float
    watch : callable
        Told of the point and smoothing after each iteration; True if that is the best so far.
    patience : number
        Stop after as many stages without a new best.
    """
    point, n_iter, converged, idle = start, 0, False, 0
    for smoothing in smoothings:
        improved: list[bool] = []
        point, iterations, converged = stage(point, smoothing, _noting(watch, smoothing, improved))
        n_iter += iterations
        idle = 0 if any(improved) else idle + 1
        if idle >= patience:
            return Annealed(point, smoothing, n_iter, True)
    return Annealed(point, smoothing, n_iter, converged)


def _noting(watch: Watch, smoothing: float, improved: list[bool]) -> Callable[[Floats], None]:
    def after_iteration(point: Floats) -> None:
        improved.append(watch(point.copy(), smoothing))

    return after_iteration


def lbfgs_stage(evaluate: Evaluate, *, max_iter: int, tol: float) -> Stage:
    """L-BFGS (SciPy's) until an iteration lowers the value by less than tol.

    Parameters
    ----------
    evaluate : callable
        Value and slope at a point and a smoothing.
    """

    def stage(start: Floats, smoothing: float, after: Callable[[Floats], None]) -> tuple[Floats, int, bool]:
        found: OptimizeResult = minimize(
            evaluate,
            start,
            args=(smoothing,),
            jac=True,
            method="L-BFGS-B",
            callback=after,
            options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-8, "maxls": 10},
        )
        # status 2: the line search found nothing lower, which single precision allows only near a stationary point
        return found.x, int(found.nit), found.status in (0, 2)

    return stage
