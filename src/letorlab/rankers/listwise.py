"""Linear scores and networks trained on a listwise or pairwise loss: ListNet, RankNet, LambdaRank and others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.devices import torch_device
from letorlab.errors import InputError
from letorlab.listwise import LOSSES, Loss
from letorlab.listwise_objective import ListwiseObjective
from letorlab.merged import unmerged
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.scorer_problem import ScorerProblem
from letorlab.scorers import make_scorer
from letorlab.solvers import Result
from letorlab.training import Training


class ListwiseRanker(BaseEstimator):
    """Minimise lam ||theta - theta_0||^2 plus the mean over queries of a loss of their scores.

    With a linear score and ``start_lam=None``, theta_0 is 0 and the penalty is the usual one; ListNet, RankNet and
    ListMLE are then convex problems, which L-BFGS solves. With validation queries the weights that are best on them
    are kept, from all iterations.

    Parameters
    ----------
    objective : str, default "listnet"
        "listnet" (top one), "listmle", "ranknet", "lambdarank", "approxndcg", "neuralsort" or "smoothrank"; formulas
        and papers in `letorlab.listwise`.
    lam : float, default 1e-4
        Weight of the squared distance to the start.
    k : int, optional
        Ranks that count in the objectives that are NDCG, all but the first three; None: all.
    scorer : {"linear", "mlp"} or torch.nn.Module, default "linear"
        "mlp" adds one hidden layer to the linear score. A module takes (n, n_features) float64 and is copied.
    n_hidden : int, default 16
        Hidden units of "mlp".
    start_lam : float or None, default 0
        Ridge penalty of the regression that training starts from, with scores scaled to unit spread within queries;
        None starts from 0, where "smoothrank" and "neuralsort" have no slope.
    smoothing : float, default 1
        Of the first stage, for the last three objectives; in units of the scores' spread at the start.
    n_stages : int, default 6
        Each halves the smoothing; objectives without smoothing have one stage.
    optimiser : {"lbfgs", "adam"}, default "lbfgs"
        "lambdarank" needs "adam": its slope belongs to no function.
    max_iter : int, default 500
        Iterations, or epochs of Adam, of a stage.
    tol : float, default 1e-7
        A stage ends when an iteration (or three epochs) improves the value by less.
    batch : int, default 64
        Queries of a step of Adam.
    rate : float, default 0.01
        Its step.
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best weights are kept.
    patience : int, default 2
        Stop after as many stages without better weights.
    profile : str, default "letor3"
        What ``stop_on`` means, a name of `letorlab.profiles.PROFILES`.
    seed : int, default 0
        Of hidden weights and of the order of Adam's batches.
    device : str, default "auto"
        "auto" is a GPU where there is one, otherwise the CPU. Only on a CPU are two runs equal to the last digit.

    Attributes
    ----------
    scorer_ : torch.nn.Module
    result_ : letorlab.solvers.Result
        ``coef`` are the parameters of the scorer; ``objective`` is what is minimised, at the last smoothing.
        ``converged``: the last stage met its tolerance, or patience was spent.
    fit_facts_ : dict
        ``smoothing`` and ``validation``, the value of ``stop_on``, of the kept weights; None where there is none.
    """

    def __init__(
        self,
        objective: str = "listnet",
        lam: float = 1e-4,
        k: int | None = None,
        scorer: str | torch.nn.Module = "linear",
        n_hidden: int = 16,
        start_lam: float | None = 0.0,
        smoothing: float = 1.0,
        n_stages: int = 6,
        optimiser: str = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-7,
        batch: int = 64,
        rate: float = 0.01,
        stop_on: str = "map",
        patience: int = 2,
        profile: str = "letor3",
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.objective = objective
        self.lam = lam
        self.k = k
        self.scorer = scorer
        self.n_hidden = n_hidden
        self.start_lam = start_lam
        self.smoothing = smoothing
        self.n_stages = n_stages
        self.optimiser = optimiser
        self.max_iter = max_iter
        self.tol = tol
        self.batch = batch
        self.rate = rate
        self.stop_on = stop_on
        self.patience = patience
        self.profile = profile
        self.seed = seed
        self.device = device

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, validation: Queries | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        validation : Queries, optional
            Keep the weights that are best on these. Without, those where training ends.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has documents of different relevance.
        """
        loss = self._loss()
        training = self._training(loss)
        problem = self._problem(Queries.from_rows(*fit_arrays(self, X, y), qid), loss)
        trained = training.run(problem, problem.start, validation, self.profile)
        value, ended = problem.evaluate(trained.theta, trained.smoothing)[0], trained.ended
        self.result_ = Result(trained.theta, value, None, ended.n_iter, ended.converged)
        self.fit_facts_: dict[str, Any] = {
            "smoothing": trained.smoothing if loss.smoothed else None,
            "validation": trained.validation,
        }
        problem.set(trained.theta)
        self.scorer_ = problem.scorer.cpu()
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        features = torch.as_tensor(predict_array(self, X))
        with torch.no_grad():
            return self.scorer_(features).reshape(-1).numpy()

    def _loss(self) -> Loss:
        if self.objective not in LOSSES:
            raise InputError(f"unknown objective {self.objective!r}; known: {', '.join(LOSSES)}")
        loss = LOSSES[self.objective]
        if self.optimiser == "lbfgs" and not loss.line_search:
            raise InputError(f"{self.objective} has a slope but no value to search a line by: use optimiser='adam'")
        if self.k is not None and not self.k >= 1:
            raise InputError(f"k must be a whole number of at least 1, or None for all ranks; got {self.k}")
        if not 0 <= self.lam < np.inf:
            raise InputError(f"lam must be a number of at least 0; got {self.lam}")
        return loss

    def _training(self, loss: Loss) -> Training:
        return Training(
            smoothing=self.smoothing,
            n_stages=self.n_stages if loss.smoothed else 1,
            optimiser=self.optimiser,
            max_iter=self.max_iter,
            tol=self.tol,
            batch=self.batch,
            rate=self.rate,
            stop_on=self.stop_on,
            patience=self.patience,
            seed=self.seed,
        )

    def _problem(self, queries: Queries, loss: Loss) -> ScorerProblem[ListwiseObjective]:
        merged = unmerged(queries)
        scorer = make_scorer(self.scorer, merged, start_lam=self.start_lam, n_hidden=self.n_hidden, seed=self.seed)
        objective = ListwiseObjective(merged, loss, k=self.k, device=torch_device(self.device))
        return ScorerProblem(scorer, objective, self.lam)
