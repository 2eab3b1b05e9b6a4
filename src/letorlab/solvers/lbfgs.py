"""Limited-memory BFGS with a diagonal preconditioner, for smooth strongly convex functions of large arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from letorlab.queries import Floats

MEMORY = 10  # pairs of steps and changes of slope that are kept
HALVINGS = 40  # of a step; when they do not help, rounding error is all that is left
SUFFICIENT = 1e-4  # share of the decrease along the slope that a step must reach

Evaluate = Callable[[Floats], tuple[float, Floats]]


def lbfgs(evaluate: Evaluate, start: Floats, diagonal: Floats, stop: Callable[[], bool]) -> Floats:
    """Minimise a function until `stop`, or until no step decreases it in floating-point numbers.

    A step is accepted if the value falls enough (Armijo). The function being strongly convex, the slope then changes
    in the direction of the step, which is all that the update needs; along a step that is too long the minimum
    of a parabola is tried next.

    Parameters
    ----------
    evaluate : callable
        Value and slope at a point.
    start : array of any shape
    diagonal : array of the same shape
        Positive; roughly the diagonal of the Hessian.
    stop : callable
        Asked after each step.
    """
    point = start
    value, slope = evaluate(point)
    history: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    while not stop():
        direction = -_newton_like(slope, history, diagonal)
        steepness = _dot(slope, direction)
        size = 1.0
        for _ in range(HALVINGS):
            step = size * direction
            new_value, new_slope = evaluate(point + step)
            if new_value <= value + SUFFICIENT * size * steepness:
                break
            size *= float(np.clip(-0.5 * size * steepness / (new_value - value - size * steepness), 0.1, 0.5))
        else:
            return point
        change = new_slope - slope
        curvature = _dot(step, change)
        if curvature > 0:
            history.append((step, change, curvature))
        point, value, slope = point + step, new_value, new_slope
    return point


def _newton_like(slope: Floats, history: deque[tuple[Floats, Floats, float]], diagonal: Floats) -> Floats:
    """The inverse of the Hessian's estimate times the slope: the two-loop recursion."""
    result, shares = slope.copy(), []
    for step, change, curvature in reversed(history):
        shares.append(_dot(step, result) / curvature)
        result -= shares[-1] * change
    result /= diagonal
    if history:
        _, change, curvature = history[-1]
        result *= curvature / _dot(change, change / diagonal)
    for (step, change, curvature), share in zip(history, reversed(shares), strict=True):
        result += (share - _dot(change, result) / curvature) * step
    return result


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
