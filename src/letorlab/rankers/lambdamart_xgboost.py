"""LambdaMART by XGBoost, with our evaluation deciding how many trees are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.early_stopping import EarlyStopping
from letorlab.queries import Floats, Queries
from letorlab.rankers.lambdamart import check_grades
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result

if TYPE_CHECKING:
    from xgboost import Booster


class XGBoostLambdaMART(BaseEstimator):
    """Boosted regression trees on LambdaRank's slopes (Burges 2010), as XGBoost grows them.

    Documents are handed over in an order that depends on them alone, with a fixed seed and number of threads:
    XGBoost's result depends on all three.

    Parameters
    ----------
    n_trees : int, default 200
    rate : float, default 0.1
        Shrinks each tree.
    n_leaves : int, default 15
    feature_share : float, default 1
        Of the features that each tree may use.
    l2 : float, default 1
        Penalty on the values of leaves.
    stop_on : str, default "map"
        With validation queries: the measure, higher is better, whose best number of trees is kept.
    patience : int, default 50
        Stop after as many trees without a better value on the validation queries.
    profile : str, default "letor3"
        What ``stop_on`` means, a name of `letorlab.profiles.PROFILES`.
    seed : int, default 0
    n_threads : int, default 1

    Attributes
    ----------
    booster_ : xgboost.Booster
    result_ : letorlab.solvers.Result
        ``objective``: NaN, XGBoost's loss is known by its slope only; ``n_iter``: trees that were grown.
    fit_facts_ : dict
        ``trees`` that were kept, ``validation``: the value of ``stop_on``, None without validation queries.
    """

    def __init__(
        self,
        n_trees: int = 200,
        rate: float = 0.1,
        n_leaves: int = 15,
        feature_share: float = 1.0,
        l2: float = 1.0,
        stop_on: str = "map",
        patience: int = 50,
        profile: str = "letor3",
        seed: int = 0,
        n_threads: int = 1,
    ) -> None:
        self.n_trees = n_trees
        self.rate = rate
        self.n_leaves = n_leaves
        self.feature_share = feature_share
        self.l2 = l2
        self.stop_on = stop_on
        self.patience = patience
        self.profile = profile
        self.seed = seed
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike, validation: Queries | None = None) -> Self:
        """Fit to documents X (n_docs, n_features) with relevance y (n_docs,) of queries qid (n_docs,).

        Parameters
        ----------
        validation : Queries, optional
            Keep the number of trees that is best on these. Without, all.

        Raises
        ------
        InputError
            If the relevance is not made of grades 0, 1, ..., 31.
        """
        import xgboost

        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        check_grades(queries.y)
        train = xgboost.DMatrix(queries.X, queries.y, group=queries.sizes)
        if validation is None:
            self.booster_: Booster = xgboost.train(self._parameters(), train, self.n_trees)
            self.trees_, value, grown = self.n_trees, None, self.n_trees
        else:
            watch = EarlyStopping(validation, self.stop_on, profile=self.profile)
            unseen = xgboost.DMatrix(validation.X, validation.y, group=validation.sizes)
            self.booster_ = xgboost.train(
                self._parameters(),
                train,
                self.n_trees,
                evals=[(unseen, "validation")],
                custom_metric=_metric(watch),
                maximize=True,
                early_stopping_rounds=self.patience,
                verbose_eval=False,
            )
            self.trees_, value, grown = watch.best, watch.value, self.booster_.num_boosted_rounds()
        self.result_ = Result(np.zeros(0), float("nan"), None, grown, True)
        self.fit_facts_: dict[str, Any] = {"trees": self.trees_, "validation": value}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        import xgboost

        features = xgboost.DMatrix(predict_array(self, X), nthread=self.n_threads)
        return np.asarray(self.booster_.predict(features, iteration_range=(0, self.trees_)), dtype=np.float64)

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": "rank:ndcg",
            "disable_default_eval_metric": True,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_leaves": self.n_leaves,
            "eta": self.rate,
            "min_child_weight": 0.0,
            "colsample_bytree": self.feature_share,
            "lambda": self.l2,
            "seed": self.seed,
            "nthread": self.n_threads,
            "verbosity": 0,
        }


def _metric(watch: EarlyStopping) -> Callable[[Floats, Any], tuple[str, float]]:
    """Our measure as XGBoost takes it: a name and the best value so far."""
    tree = 0

    def metric(scores: Floats, data: Any) -> tuple[str, float]:
        nonlocal tree
        tree += 1
        watch.offer(tree, scores)
        return "measure", watch.value

    return metric
