"""A regularised objective of scores in the parameters of a scorer, as a function of one vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from letorlab.errors import InputError
from letorlab.merged import Merged
from letorlab.queries import Floats, Ints
from letorlab.scorers import spread_within
from letorlab.sinkhorn_objective import SinkhornObjective


class Objective(Protocol):
    """What is maximised: the mean of a gain over queries as a function of the scores of distinct documents."""

    merged: Merged
    device: torch.device
    dtype: torch.dtype

    def value_and_slope(
        self, scores: Tensor, smoothing: float, batches: Sequence[Any] | None = None
    ) -> tuple[float, Tensor]: ...

    def batches(self, queries: Ints) -> Iterator[Any]: ...


Kind = TypeVar("Kind", bound=Objective)


class ScorerProblem(Generic[Kind]):
    """Minimise lam ||theta - theta_0||^2 minus the mean gain, theta_0 the parameters at the beginning.

    Scores are divided by `unit`, their spread within queries at the beginning, so that smoothing 1 means the same for
    every scorer.

    Parameters
    ----------
    scorer : torch.nn.Module
        From (n, n_features) to (n,) or (n, 1) scores; its parameters are changed by `set`.
    objective : Objective
        `letorlab.sinkhorn_objective.SinkhornObjective` or `letorlab.listwise_objective.ListwiseObjective`.
    lam : float
    """

    def __init__(self, scorer: nn.Module, objective: Kind, lam: float) -> None:
        self.scorer, self.objective, self.lam = scorer.to(objective.device), objective, lam
        self._X = torch.as_tensor(objective.merged.documents, device=objective.device)
        self._parameters = [p for p in scorer.parameters() if p.requires_grad]
        self.start = parameters_to_vector(self._parameters).detach().cpu().numpy().copy()
        self.unit = 1.0
        self.unit = spread_within(objective.merged, self.scores(self.start).cpu().numpy())

    def scores(self, theta: Floats, X: Floats | None = None) -> Tensor:
        """Scores (n,) in units of the spread; X None: of the distinct training documents."""
        self.set(theta)
        with torch.no_grad():
            return self._score(self._X if X is None else torch.as_tensor(X, device=self._X.device))

    def set(self, theta: Floats) -> None:
        vector_to_parameters(torch.as_tensor(theta, device=self._X.device), self._parameters)

    def evaluate(self, theta: Floats, smoothing: float) -> tuple[float, Floats]:
        """Value and slope over all queries."""
        return self._evaluate(theta, smoothing, None)

    def evaluate_some(self, theta: Floats, smoothing: float, queries: Ints) -> tuple[float, Floats]:
        """Value and slope with the mean over some queries."""
        return self._evaluate(theta, smoothing, queries)

    def _evaluate(self, theta: Floats, smoothing: float, queries: Ints | None) -> tuple[float, Floats]:
        self.set(theta)
        phi = self._score(self._X)
        batches = None if queries is None else list(self.objective.batches(queries))
        gain, slope = self.objective.value_and_slope(phi.detach().to(self.objective.dtype), smoothing, batches)
        change = torch.autograd.grad(phi, self._parameters, slope.to(phi.dtype))
        rising = parameters_to_vector(change).cpu().numpy()
        return self.penalty(theta) - gain, 2.0 * self.lam * (theta - self.start) - rising

    def penalty(self, theta: Floats) -> float:
        return self.lam * float(np.sum((theta - self.start) ** 2))

    def _score(self, X: Tensor) -> Tensor:
        scores = self.scorer(X)
        if scores.shape not in ((len(X),), (len(X), 1)):
            raise InputError(
                f"the scorer gave scores of shape {tuple(scores.shape)} for {len(X)} documents; "
                "one score each is needed"
            )
        return scores.reshape(-1) / self.unit


def exact_gain(problem: ScorerProblem[SinkhornObjective], theta: Floats, smoothing: float) -> tuple[float, float]:
    """Mean expected gain, and marginal error, in float64."""
    objective = problem.objective
    exact = SinkhornObjective(objective.merged, objective.model, dtype=torch.float64, device=objective.device)
    scores = problem.scores(theta)
    return exact.value(scores, smoothing), exact.marginal_error(scores, smoothing)
