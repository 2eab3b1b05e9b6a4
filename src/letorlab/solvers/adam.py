"""Mini-batch Adam as a stage of annealing: for networks, and for more queries than a pass should take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from letorlab.queries import Floats, Ints
from letorlab.seeds import Seed, stream
from letorlab.solvers.annealing import Stage

DECAY = (0.9, 0.999)  # of the means of the slope and of its square (Kingma and Ba 2015)
TINY = 1e-8
EPOCHS_IDLE = 3  # without a better mean value; a single one may be chance

EvaluateSome = Callable[[Floats, float, Ints], tuple[float, Floats]]


def adam_stage(
    evaluate: EvaluateSome, n_queries: int, *, batch: int, epochs: int, rate: float, tol: float, seed: Seed
) -> Stage:
    """Epochs over all queries in a random order, until `EPOCHS_IDLE` of them lower the mean value by less than tol.

    Parameters
    ----------
    evaluate : callable
        Value and slope at a point, a smoothing and some queries.
    n_queries : int
    batch : int
        Queries of a step.
    epochs : int
        The most of a stage.
    rate : float
        Length of a step in each coordinate.
    """

    def stage(start: Floats, smoothing: float, after: Callable[[Floats], None]) -> tuple[Floats, int, bool]:
        point, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
        steps, lowest, idle = 0, np.inf, 0
        for epoch in range(1, epochs + 1):
            order, total = stream(seed, "adam", repr(smoothing), epoch).permutation(n_queries), 0.0
            for some in np.array_split(order, -(-n_queries // batch)):
                value, slope = evaluate(point, smoothing, some)
                total += value * len(some) / n_queries
                steps += 1
                mean += (1 - DECAY[0]) * (slope - mean)
                square += (1 - DECAY[1]) * (slope**2 - square)
                unbiased = mean / (1 - DECAY[0] ** steps), square / (1 - DECAY[1] ** steps)
                point = point - rate * unbiased[0] / (np.sqrt(unbiased[1]) + TINY)
            after(point)
            idle = 0 if total < lowest - tol else idle + 1
            if idle == EPOCHS_IDLE:
                return point, epoch, True
            lowest = min(lowest, total)
        return point, epochs, False

    return stage
