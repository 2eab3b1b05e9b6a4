"""RankBoost: boosting of thresholds on features over all strict pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.early_stopping import EarlyStopping
from letorlab.errors import InputError
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result
from letorlab.solvers.rankboost import PairWeights, Step, Stumps


class RankBoost(BaseEstimator):
    """Minimise the sum over strict pairs (i, j) of exp(-(f(x_i) - f(x_j))) by adding steps alpha 1[x_k > threshold].

    Every round takes the step with the largest |r|, r the weighted share of the pairs that it orders rightly less that
    of those it orders wrongly, and alpha = 1/2 ln((1 + r) / (1 - r)) (Y. Freund, R. Iyer, R. Schapire and Y. Singer,
    JMLR 2003, section 3.2). The weights of pairs are products within a query, so that no pair is written out.

    Parameters
    ----------
    n_rounds : int, default 300
    n_thresholds : int or None, default 32
        Of a feature, at quantiles of its different values; None: every value.
    rate : float, default 1
        Shrinks alpha; below 1 more rounds are needed, and overfitting is slower.
    weighting : {"pairs", "queries"}, default "pairs"
        Whether every pair weighs the same at the start, or all pairs of each query together.
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best round is kept.
    patience : int, default 100
        Stop after as many rounds without a better value on the validation queries.
    profile : str, default "letor3"
        What ``stop_on`` means, a name of `letorlab.profiles.PROFILES`.

    Attributes
    ----------
    thresholds_, values_ : list of float64 arrays
        f is a sum of step functions, one a feature: ``values_[k][c]`` where x_k is above c of ``thresholds_[k]``.
    result_ : letorlab.solvers.Result
        ``objective``: mean exponential loss of the pairs of the kept rounds; ``n_iter``: rounds that were made.
    fit_facts_ : dict
        ``n_pairs``, ``rounds`` that were kept, ``validation``: the value of ``stop_on``, None without validation
        queries.
    """

    def __init__(
        self,
        n_rounds: int = 300,
        n_thresholds: int | None = 32,
        rate: float = 1.0,
        weighting: str = "pairs",
        stop_on: str = "map",
        patience: int = 100,
        profile: str = "letor3",
    ) -> None:
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.rate = rate
        self.weighting = weighting
        self.stop_on = stop_on
        self.patience = patience
        self.profile = profile

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, validation: Queries | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        validation : Queries, optional
            Keep the round that is best on these. Without, the last.

        Raises
        ------
        InputError
            If a parameter is out of range, or no query has two documents of different relevance.
        """
        self._check()
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        pairs, stumps = PairWeights(queries, self.weighting), Stumps(queries.X, self.n_thresholds)
        watch = None if validation is None else EarlyStopping(validation, self.stop_on, profile=self.profile)
        steps, losses = self._boost(queries, pairs, stumps, watch, validation)
        kept = len(steps) if watch is None else watch.best
        self.thresholds_, self.values_ = stumps.thresholds, stumps.table(steps[:kept])
        self.result_ = Result(np.concatenate(self.values_), losses[kept], None, len(steps), True)
        self.fit_facts_: dict[str, Any] = {
            "n_pairs": pairs.n_pairs,
            "rounds": kept,
            "validation": None if watch is None else watch.value,
        }
        return self

    def _check(self) -> None:
        for name in ("n_rounds", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {getattr(self, name)}")
        if not 0 < self.rate <= 1:
            raise InputError(f"rate must lie in (0, 1]; got {self.rate}")

    def _boost(
        self,
        queries: Queries,
        pairs: PairWeights,
        stumps: Stumps,
        watch: EarlyStopping | None,
        validation: Queries | None,
    ) -> tuple[list[Step], list[float]]:
        """All steps, and the loss before each and after the last."""
        codes, scores = stumps.codes(queries.X), np.zeros(queries.n_docs)
        unseen = np.zeros((0, queries.n_features)) if validation is None else stumps.codes(validation.X)
        unseen_scores, steps = np.zeros(len(unseen)), []
        loss, potential = pairs.evaluate(scores)
        losses = [loss]
        for number in range(1, self.n_rounds + 1):
            step = stumps.best(potential, loss)
            alpha = self.rate * step.alpha
            steps.append(Step(step.feature, step.place, alpha))
            scores += alpha * (codes[:, step.feature] > step.place)
            loss, potential = pairs.evaluate(scores)
            losses.append(loss)
            if watch is not None:
                unseen_scores += alpha * (unseen[:, step.feature] > step.place)
                watch.offer(number, unseen_scores)
                if number - watch.best >= self.patience:
                    break
        return steps, losses

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        features = predict_array(self, X)
        scores = np.zeros(len(features))
        for column, cuts, values in zip(features.T, self.thresholds_, self.values_, strict=True):
            scores += values[np.searchsorted(cuts, column, "left")]
        return scores
