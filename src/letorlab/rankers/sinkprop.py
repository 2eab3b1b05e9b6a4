"""Ranking via Sinkhorn propagation (Adams and Zemel)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.assignment import check_rule, ranking, scores_of_ranking
from letorlab.devices import torch_device
from letorlab.errors import InputError
from letorlab.merged import merge
from letorlab.queries import Floats, Queries, group_rows
from letorlab.rank_linear import measure_named
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.scorer_problem import ScorerProblem, exact_gain
from letorlab.scorers import make_scorer
from letorlab.sinkhorn import STEPS
from letorlab.sinkhorn_objective import SinkhornModel, SinkhornObjective
from letorlab.solvers import Result
from letorlab.training import Training


class SinkProp(BaseEstimator):
    """Maximise the mean expected NDCG of doubly stochastic matrices of documents and ranks.

    The scores of a query become a positive matrix, five steps of Sinkhorn balancing make it almost doubly stochastic,
    the expectation of a rank-linear measure under it is smooth in the scores, and its slope flows back through the
    balancing (R. P. Adams and R. S. Zemel, Ranking via Sinkhorn Propagation, arXiv 1106.1925). Training minimises

        lam ||theta - theta_0||^2 - mean over queries of the expected measure

    from the least-squares weights theta_0, while the smoothing is halved stage by stage. The problem is not convex:
    there is no gap, and the result depends on the start.

    Parameters
    ----------
    lam : float, default 1e-3
        Weight of the squared distance to the start. Scores are in units of their spread within queries at the start.
    matrix : {"indicator", "logistic", "probit", "beta"}, default "indicator"
        Matrix before the balancing: the paper's smoothed indicator, or partitioned measures.
    scorer : {"linear", "mlp"} or torch.nn.Module, default "linear"
        "mlp" adds one hidden layer to the linear score. A module takes (n, n_features) float64 and is copied.
    n_hidden : int, default 16
        Hidden units of "mlp".
    objective : str or callable, default "ndcg"
        "ndcg", "ndcg@10", "precision@10", "rbp@0.9", or a gain l(relevance, ranks), see `letorlab.rank_linear`.
    profile : str, default "letor3"
        Gains and discounts, a name of `letorlab.profiles.PROFILES`.
    start_lam : float, default 0
        Ridge penalty of the regression that training starts from.
    warm_start : bool, default True
        Whether ``init`` is used. The paper begins at the regression each time; early stopping then sees the whole way.
    smoothing : float, default 2
        Of the first stage, in units of the spread.
    n_stages : int, default 8
        Each halves the smoothing.
    optimiser : {"lbfgs", "adam"}, default "lbfgs"
    max_iter : int, default 50
        Iterations, or epochs of Adam, of a stage.
    tol : float, default 1e-5
        A stage ends when an iteration or epoch improves the value by less.
    batch : int, default 64
        Queries of a step of Adam.
    rate : float, default 0.01
        Its step.
    stop_on : str, default "ndcg@10"
        With validation queries: the measure, higher is better, whose best weights are kept.
    patience : int, default 2
        Stop after as many stages without better weights.
    n_iter : int, default 5
        Steps of the balancing.
    rule : {"top", "expected", "full"}, default "top"
        How the matrix becomes a ranking, see `letorlab.assignment.ranking`.
    top : int, default 200
        Ranks that the Hungarian method assigns.
    seed : int, default 0
    dtype : {"float32", "float64"}, default "float32"
        Of the matrices in training; values that are reported are computed in float64.
    device : str, default "auto"
        "auto" is a GPU where there is one, otherwise the CPU. Only on a CPU are two runs equal to the last digit.

    Attributes
    ----------
    scorer_ : torch.nn.Module
    unit_ : float
        Spread of the scores at the start.
    smoothing_ : float
        At which the kept weights were found; used in `predict`.
    result_ : letorlab.solvers.Result
        ``coef`` are the parameters of the scorer; ``objective`` is what is minimised, at ``smoothing_``. ``converged``:
        the last stage met its tolerance, or early stopping was reached.
    fit_facts_ : dict
        ``n_merged_docs``: rows left after equal documents of a query are merged; ``smoothing``; ``expected_gain`` and
        ``expected_gain_at_start`` of the training queries, both at this smoothing; ``marginal_error``;
        ``validation``: the value of ``stop_on``, None without validation queries.
    """

    def __init__(
        self,
        lam: float = 1e-3,
        matrix: str = "indicator",
        scorer: str | torch.nn.Module = "linear",
        n_hidden: int = 16,
        objective: str | Callable[[float, Floats], Floats] = "ndcg",
        profile: str = "letor3",
        start_lam: float = 0.0,
        warm_start: bool = True,
        smoothing: float = 2.0,
        n_stages: int = 8,
        optimiser: str = "lbfgs",
        max_iter: int = 50,
        tol: float = 1e-5,
        batch: int = 64,
        rate: float = 0.01,
        stop_on: str = "ndcg@10",
        patience: int = 2,
        n_iter: int = STEPS,
        rule: str = "top",
        top: int = 200,
        seed: int = 0,
        dtype: str = "float32",
        device: str = "auto",
    ) -> None:
        self.lam = lam
        self.matrix = matrix
        self.scorer = scorer
        self.n_hidden = n_hidden
        self.objective = objective
        self.profile = profile
        self.start_lam = start_lam
        self.warm_start = warm_start
        self.smoothing = smoothing
        self.n_stages = n_stages
        self.optimiser = optimiser
        self.max_iter = max_iter
        self.tol = tol
        self.batch = batch
        self.rate = rate
        self.stop_on = stop_on
        self.patience = patience
        self.n_iter = n_iter
        self.rule = rule
        self.top = top
        self.seed = seed
        self.dtype = dtype
        self.device = device

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike,
        init: SinkProp | None = None,
        validation: Queries | None = None,
    ) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        init : SinkProp, optional
            A fitted model with the same scorer: with ``warm_start``, training begins at its weights. The penalty still
            draws to the regression.
        validation : Queries, optional
            Stop early on these, and keep the weights that are best on them. Without, training goes to its end.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has a document with gain.
        """
        training = self._training()
        problem = self._problem(Queries.from_rows(*fit_arrays(self, X, y), qid))
        begin = _parameters_of(init, problem.start) if init is not None and self.warm_start else problem.start
        trained = training.run(problem, begin, validation, self.profile)
        theta, self.smoothing_ = trained.theta, trained.smoothing
        gain, error = exact_gain(problem, theta, self.smoothing_)
        objective, ended = problem.penalty(theta) - gain, trained.ended
        self.result_ = Result(theta, objective, None, ended.n_iter, ended.converged)
        self.fit_facts_: dict[str, Any] = {
            "n_merged_docs": len(problem.objective.merged.mass),
            "smoothing": self.smoothing_,
            "expected_gain": gain,
            "expected_gain_at_start": exact_gain(problem, problem.start, self.smoothing_)[0],
            "marginal_error": error,
            "validation": trained.validation,
        }
        problem.set(theta)
        self.scorer_, self.unit_ = problem.scorer.cpu(), problem.unit
        return self

    def decision_scores(self, X: ArrayLike) -> Floats:
        """The scores phi that the matrices are made of, (n_docs,), before they become a ranking."""
        features = torch.as_tensor(predict_array(self, X))
        with torch.no_grad():
            return self.scorer_(features).reshape(-1).numpy() / self.unit_

    def ranking_matrix(self, X: ArrayLike) -> Floats:
        """The balanced matrix Z of one query, (n_docs, n_docs): probability of document j at rank k."""
        return self._model().balance(self.decision_scores(X), self.smoothing_)

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,): J, J - 1, ..., 1 down the ranking of a query of J documents.

        Without qid all documents are one query. Documents that the model can not tell apart share the score of the
        first of their ranks.
        """
        phi = self.decision_scores(X)
        order, offsets, _ = group_rows(np.zeros(len(phi)) if qid is None else qid)
        scores, model = np.empty(len(phi)), self._model()
        for start, stop in pairwise(offsets):
            rows = order[start:stop]
            Z = model.balance(phi[rows], self.smoothing_)
            scores[rows] = scores_of_ranking(ranking(Z, phi[rows], rule=self.rule, top=self.top), phi[rows])
        return scores

    def _model(self) -> SinkhornModel:
        return SinkhornModel(self.matrix, self.n_iter)

    def _problem(self, queries: Queries) -> ScorerProblem[SinkhornObjective]:
        merged = merge(queries, measure_named(self.objective, self.profile))
        scorer = make_scorer(self.scorer, merged, start_lam=self.start_lam, n_hidden=self.n_hidden, seed=self.seed)
        dtype = torch.float32 if self.dtype == "float32" else torch.float64
        objective = SinkhornObjective(merged, self._model(), dtype=dtype, device=torch_device(self.device))
        return ScorerProblem(scorer, objective, self.lam)

    def _training(self) -> Training:
        """Everything is checked before the data are touched."""
        if not 0 <= self.lam < np.inf:
            raise InputError(f"lam must be a number of at least 0; got {self.lam}")
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"unknown dtype {self.dtype!r}; known: float32, float64")
        check_rule(self.rule, self.top)
        names = inspect.signature(Training).parameters
        return Training(**{name: getattr(self, name) for name in names})


def _parameters_of(init: SinkProp, start: Floats) -> Floats:
    """Parameters of a fitted model, where it has as many."""
    if init.result_.coef.shape != start.shape:
        raise InputError(
            f"init has {len(init.result_.coef)} parameters, this scorer has {len(start)}: "
            "give the same scorer and features"
        )
    return init.result_.coef
