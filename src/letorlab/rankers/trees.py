"""Pointwise regression trees on the relevance labels, by scikit-learn: boosted, and as a random forest."""

from __future__ import annotations

from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.early_stopping import EarlyStopping
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result


class GBRT(BaseEstimator):
    """Boosted regression trees, squared error on the labels (scikit-learn's HistGradientBoostingRegressor).

    Parameters
    ----------
    n_trees : int, default 200
    rate : float, default 0.1
        Shrinks each tree.
    n_leaves : int, default 15
    min_docs : int, default 20
        Of a leaf.
    l2 : float, default 0
        Penalty on the values of leaves.
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best number of trees is kept.
    profile : str, default "letor3"
        What ``stop_on`` means, a name of `letorlab.profiles.PROFILES`.
    seed : int, default 0

    Attributes
    ----------
    model_ : sklearn.ensemble.HistGradientBoostingRegressor
    trees_ : int
        That are kept.
    result_ : letorlab.solvers.Result
        ``objective``: mean squared error on the training documents; ``n_iter``: trees that were grown.
    fit_facts_ : dict
        ``trees`` that were kept, ``validation``: the value of ``stop_on``, None without validation queries.
    """

    def __init__(
        self,
        n_trees: int = 200,
        rate: float = 0.1,
        n_leaves: int = 15,
        min_docs: int = 20,
        l2: float = 0.0,
        stop_on: str = "map",
        profile: str = "letor3",
        seed: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.rate = rate
        self.n_leaves = n_leaves
        self.min_docs = min_docs
        self.l2 = l2
        self.stop_on = stop_on
        self.profile = profile
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, validation: Queries | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        validation : Queries, optional
            Keep the number of trees that is best on these. Without, all.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        self.model_ = HistGradientBoostingRegressor(
            max_iter=self.n_trees,
            learning_rate=self.rate,
            max_leaf_nodes=self.n_leaves,
            min_samples_leaf=self.min_docs,
            l2_regularization=self.l2,
            early_stopping=False,  # scikit-learn's would take training documents, not queries, away
            random_state=self.seed,
        ).fit(queries.X, queries.y)
        self.trees_, value = self.n_trees, None
        if validation is not None:
            watch = EarlyStopping(validation, self.stop_on, profile=self.profile)
            for number, scores in enumerate(self.model_.staged_predict(validation.X), start=1):
                watch.offer(number, scores)
            self.trees_, value = watch.best, watch.value
        error = float(np.mean((self._scores(queries.X) - queries.y) ** 2))
        self.result_ = Result(np.zeros(0), error, None, self.n_trees, True)
        self.fit_facts_: dict[str, Any] = {"trees": self.trees_, "validation": value}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        return self._scores(predict_array(self, X))

    def _scores(self, X: Floats) -> Floats:
        scores = next(islice(self.model_.staged_predict(X), self.trees_ - 1, None))
        return np.asarray(scores, dtype=np.float64)


class RandomForest(BaseEstimator):
    """Mean of regression trees on bootstrap samples of the documents (scikit-learn's RandomForestRegressor).

    Parameters
    ----------
    n_trees : int, default 100
    min_docs : int, default 5
        Of a leaf.
    feature_share : float, default 0.3
        Of the features that each split may use.
    seed : int, default 0

    Attributes
    ----------
    model_ : sklearn.ensemble.RandomForestRegressor
    result_ : letorlab.solvers.Result
        ``objective``: mean squared error on the training documents; ``n_iter``: trees.
    """

    def __init__(self, n_trees: int = 100, min_docs: int = 5, feature_share: float = 0.3, seed: int = 0) -> None:
        self.n_trees = n_trees
        self.min_docs = min_docs
        self.feature_share = feature_share
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,)."""
        from sklearn.ensemble import RandomForestRegressor

        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        self.model_ = RandomForestRegressor(
            self.n_trees,
            min_samples_leaf=self.min_docs,
            max_features=self.feature_share,
            random_state=self.seed,
        ).fit(queries.X, queries.y)
        error = float(np.mean((self.model_.predict(queries.X) - queries.y) ** 2))
        self.result_ = Result(np.zeros(0), error, None, self.n_trees, True)
        self.fit_facts_: dict[str, Any] = {}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        features = predict_array(self, X)
        return np.asarray(self.model_.predict(features), dtype=np.float64)
