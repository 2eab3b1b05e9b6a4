"""AdaRank: boosting of single features on the measure itself."""

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
from letorlab.solvers import Result


class AdaRank(BaseEstimator):
    """Add features one by one, each chosen for the queries that the sum so far ranks badly.

    Round t takes the feature k with the best weighted measure sum_q P(q) E(q, x_k), adds alpha x_k to the scores, where
    alpha = 1/2 ln(sum_q P(q) (1 + E(q, x_k)) / sum_q P(q) (1 - E(q, x_k))), and makes P(q) proportional to
    exp(-E(q, scores)) (J. Xu and H. Li, AdaRank, SIGIR 2007). Where queries without relevant document are left out, and
    equal scores are ranked worst first.

    The weights change slowly, so that the paper's rule can take one feature, or two near copies in turn, for ever. Here
    a feature that was taken `max_repeats` times sits out until all others were, too.

    Parameters
    ----------
    measure : str, default "map"
        E: "map", or NDCG with a k such as "ndcg@10".
    n_rounds : int, default 500
    max_repeats : int, default 5
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best round is kept.
    patience : int, default 100
        Stop after as many rounds without a better value on the validation queries.
    profile : str, default "letor3"
        What the measures mean, a name of `letorlab.profiles.PROFILES`.

    Attributes
    ----------
    coef_ : (n_features,) float64
        Sum of the alphas of every feature.
    chosen_ : (n_rounds,) int64
        Feature of each round that was kept.
    result_ : letorlab.solvers.Result
        ``objective``: one minus the mean measure of the training queries; ``n_iter``: rounds.
    fit_facts_ : dict
        ``rounds`` that were kept, ``validation``: the value of ``stop_on`` there, None without validation queries.
    """

    def __init__(
        self,
        measure: str = "map",
        n_rounds: int = 500,
        max_repeats: int = 5,
        stop_on: str = "map",
        patience: int = 100,
        profile: str = "letor3",
    ) -> None:
        self.measure = measure
        self.n_rounds = n_rounds
        self.max_repeats = max_repeats
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
            If a parameter is out of range, or no query has a relevant document.
        """
        for name in ("n_rounds", "max_repeats", "patience"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {getattr(self, name)}")
        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        boosting = _Boosting(queries, ListMeasure(queries, self.measure, self.profile), self.max_repeats)
        watch = None if validation is None else EarlyStopping(validation, self.stop_on, profile=self.profile)
        rounds = self._boost(boosting, watch, validation)
        kept = rounds if watch is None else watch.best
        self.chosen_ = np.array(boosting.chosen[:kept])
        self.coef_: Floats = np.zeros(queries.n_features)
        np.add.at(self.coef_, self.chosen_, boosting.alphas[:kept])
        loss = 1.0 - float(boosting.measure(queries.X @ self.coef_).mean())
        self.result_ = Result(self.coef_, loss, None, rounds, True)
        self.fit_facts_: dict[str, Any] = {"rounds": kept, "validation": None if watch is None else watch.value}
        return self

    def _boost(self, boosting: _Boosting, watch: EarlyStopping | None, validation: Queries | None) -> int:
        """Rounds that were made."""
        for number in range(1, self.n_rounds + 1):
            coef = boosting.advance()
            if watch is not None and validation is not None:
                watch.offer(number, validation.X @ coef)
                if number - watch.best >= self.patience:
                    return number
        return self.n_rounds

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        return predict_array(self, X) @ self.coef_


class _Boosting:
    """The state between rounds: scores of the training documents and weights of the queries."""

    def __init__(self, queries: Queries, measure: ListMeasure, max_repeats: int) -> None:
        self.measure, self.max_repeats = measure, max_repeats
        self.chosen: list[int] = []
        self.alphas: list[float] = []
        self._taken = np.zeros(queries.n_features, dtype=np.int64)
        self._X, self._coef = queries.X, np.zeros(queries.n_features)
        alone = np.array([measure(column) for column in queries.X.T])  # E(q, x_k), (n_features, n_queries)
        counted = measure(queries.y) > 0
        if not counted.any():
            raise InputError(
                f"none of the {queries.n_queries} queries has a relevant document: there is nothing to learn from. "
                "Check the labels"
            )
        self._alone, self._counted = alone[:, counted], counted
        self._weight = np.full(self._alone.shape[1], 1.0 / self._alone.shape[1])

    def advance(self) -> Floats:
        """One round; the coefficients (n_features,) after it."""
        value = self._alone @ self._weight
        value[self._taken >= self.max_repeats] = -np.inf
        feature = int(np.argmax(value))
        # a perfect feature would get an infinite coefficient
        alpha = 0.5 * float(np.log((1.0 + value[feature]) / max(1.0 - value[feature], 1e-10)))
        self.chosen.append(feature)
        self.alphas.append(alpha)
        self._coef[feature] += alpha
        self._taken[feature] += 1
        if (self._taken >= self.max_repeats).all():
            self._taken[:] = 0
        bad = np.exp(-self.measure(self._X @ self._coef)[self._counted])
        self._weight = bad / bad.sum()
        return self._coef
