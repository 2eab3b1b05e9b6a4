"""Training a scorer by annealing, with early stopping on validation queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from letorlab.early_stopping import EarlyStopping
from letorlab.errors import InputError
from letorlab.queries import Floats, Queries
from letorlab.scorer_problem import ScorerProblem
from letorlab.seeds import Seed
from letorlab.solvers.adam import adam_stage
from letorlab.solvers.annealing import Annealed, Stage, anneal, lbfgs_stage

OPTIMISERS = ("lbfgs", "adam")


@dataclass(frozen=True)
class Training:
    """How to train; the parameters are those of `letorlab.rankers.sinkprop.SinkProp`, and are checked here."""

    smoothing: float
    n_stages: int
    optimiser: str
    max_iter: int
    tol: float
    batch: int
    rate: float
    stop_on: str
    patience: int
    seed: Seed

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise InputError(f"unknown optimiser {self.optimiser!r}; known: {', '.join(OPTIMISERS)}")
        for name in ("smoothing", "rate", "tol"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(f"{name} must be a positive number; got {getattr(self, name)}")
        for name in ("n_stages", "max_iter", "batch", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {getattr(self, name)}")

    def run(self, problem: ScorerProblem[Any], begin: Floats, validation: Queries | None, profile: str) -> Trained:
        """From the parameters `begin` through all stages, or until the validation queries say stop."""
        smoothings = [self.smoothing * 0.5**stage for stage in range(self.n_stages)]
        if validation is None:
            ended = anneal(self._stage(problem), begin, smoothings, lambda theta, smoothing: False)
            return Trained(ended.point, ended.smoothing, ended, None)
        stopping = EarlyStopping(validation, self.stop_on, profile=profile)

        def watch(theta: Floats, smoothing: float) -> bool:
            return stopping.offer((theta, smoothing), problem.scores(theta, validation.X).cpu().numpy())

        watch(begin, self.smoothing)  # a start that nothing improves is kept
        ended = anneal(self._stage(problem), begin, smoothings, watch, patience=self.patience)
        theta, found_at = stopping.best
        return Trained(theta, found_at, ended, stopping.value)

    def _stage(self, problem: ScorerProblem[Any]) -> Stage:
        if self.optimiser == "lbfgs":
            return lbfgs_stage(problem.evaluate, max_iter=self.max_iter, tol=self.tol)
        return adam_stage(
            problem.evaluate_some,
            problem.objective.merged.n_queries,
            batch=self.batch,
            epochs=self.max_iter,
            rate=self.rate,
            tol=self.tol,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Trained:
    """The parameters that were kept.

    Attributes
    ----------
    theta : (n_parameters,) float64
    smoothing : float
        At which they were found.
    ended : letorlab.solvers.annealing.Annealed
        Where training ended.
    validation : float or None
        Value of the metric of early stopping at `theta`.
    """

    theta: Floats
    smoothing: float
    ended: Annealed
    validation: float | None
