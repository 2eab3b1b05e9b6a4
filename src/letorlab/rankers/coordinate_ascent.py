"""Coordinate ascent: a linear score that is improved on the measure itself, one feature at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.early_stopping import EarlyStopping
from letorlab.errors import InputError
from letorlab.listmeasures import ListMeasure
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.seeds import stream
from letorlab.solvers import Result

FIRST_STEP, SCALE = 0.05, 2.0  # of a weight, in shares of it; each further step is twice as long


class CoordinateAscent(BaseEstimator):
    """Maximise the mean measure of the training queries over linear scores, by line searches along single weights.

    A sweep goes through the features in random order and moves each weight to the best of itself, 0 and
    w +- 0.05 max(|w|, 1 / n_features) 2^m, m = 0, 1, ..., n_steps - 1; sweeps are made until one gains less than `tol`
    (D. Metzler and W. B. Croft, Linear feature-based models for information retrieval, 2007, with RankLib's steps).
    Of several starts the best is kept. The measure is a step function of the weights: there is no gap, and the result
    depends on the start.

    Parameters
    ----------
    measure : str, default "map"
        "map", or NDCG with a k such as "ndcg@10". Equal scores are ranked worst first.
    n_restarts : int, default 2
        The first starts from equal weights, the others from random ones.
    n_steps : int, default 8
    max_sweeps : int, default 25
    tol : float, default 1e-3
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best sweep of all starts is kept.
    profile : str, default "letor3"
        What the measures mean, a name of `letorlab.profiles.PROFILES`.
    seed : int, default 0

    Attributes
    ----------
    coef_ : (n_features,) float64
        With absolute values that add up to 1.
    result_ : letorlab.solvers.Result
        ``objective``: one minus the mean measure of the training queries. ``converged``: every start ended with a sweep
        that gained less than `tol`.
    fit_facts_ : dict
        ``validation``: the value of ``stop_on``, None without validation queries.
    """

    def __init__(
        self,
        measure: str = "map",
        n_restarts: int = 2,
        n_steps: int = 8,
        max_sweeps: int = 25,
        tol: float = 1e-3,
        stop_on: str = "map",
        profile: str = "letor3",
        seed: int = 0,
    ) -> None:
        self.measure = measure
        self.n_restarts = n_restarts
        self.n_steps = n_steps
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.stop_on = stop_on
        self.profile = profile
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, validation: Queries | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        validation : Queries, optional
            Keep the weights after the sweep that is best on these. Without, those best on the training queries.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has a relevant document.
        """
        for name in ("n_restarts", "n_steps", "max_sweeps"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {getattr(self, name)}")
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        measure = ListMeasure(queries, self.measure, self.profile)
        if not measure(queries.y).any():
            raise InputError(
                f"none of the {queries.n_queries} queries has a relevant document: there is nothing to learn from. "
                "Check the labels"
            )
        chosen = queries if validation is None else validation
        watch = EarlyStopping(chosen, self.measure if validation is None else self.stop_on, profile=self.profile)
        n_sweeps, converged = 0, True
        for restart in range(self.n_restarts):
            sweeps, ended = self._climb(queries.X, measure, restart, watch, chosen.X)
            n_sweeps, converged = n_sweeps + sweeps, converged and ended
        self.coef_: Floats = watch.best
        loss = 1.0 - float(measure(queries.X @ self.coef_).mean())
        self.result_ = Result(self.coef_, loss, None, n_sweeps, converged)
        self.fit_facts_: dict[str, Any] = {"validation": None if validation is None else watch.value}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        return predict_array(self, X) @ self.coef_

    def _climb(
        self, X: Floats, measure: ListMeasure, restart: int, watch: EarlyStopping, chosen: Floats
    ) -> tuple[int, bool]:
        """Sweeps from one start, and whether the last gained too little to go on."""
        rng, d = stream(self.seed, "coordinate_ascent", restart), X.shape[1]
        w = np.full(d, 1.0 / d) if restart == 0 else rng.uniform(-1.0, 1.0, d)
        w /= np.abs(w).sum()
        value = float(measure(X @ w).mean())
        for sweep in range(1, self.max_sweeps + 1):
            before = value
            for feature in rng.permutation(d):
                w[feature], value = self._search(X, w, feature, measure, value)
            w /= np.abs(w).sum() or 1.0
            watch.offer(w.copy(), chosen @ w)
            if value - before < self.tol:
                return sweep, True
        return self.max_sweeps, False

    def _search(self, X: Floats, w: Floats, feature: int, measure: ListMeasure, value: float) -> tuple[float, float]:
        """The best weight of one feature with its value; the old one unless another is strictly better."""
        scores, column, old = X @ w, X[:, feature], float(w[feature])
        best = old
        for weight in self._candidates(old, 1.0 / len(w)):
            found = float(measure(scores + (weight - old) * column).mean())
            if found > value + 1e-12:
                best, value = weight, found
        return best, value

    def _candidates(self, old: float, typical: float) -> list[float]:
        steps = FIRST_STEP * max(abs(old), typical) * SCALE ** np.arange(self.n_steps)
        return [*(old + steps), *(old - steps), *([0.0] if old != 0 else [])]
