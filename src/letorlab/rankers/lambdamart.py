"""LambdaMART by LightGBM, with our evaluation deciding how many trees are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from letorlab.early_stopping import EarlyStopping
from letorlab.errors import InputError
from letorlab.queries import Floats, Queries
from letorlab.rankers.validation import fit_arrays, predict_array
from letorlab.solvers import Result

if TYPE_CHECKING:
    from lightgbm import Booster

LARGEST_GRADE = 31


class LambdaMART(BaseEstimator):
    """Boosted regression trees on LambdaRank's slopes (Burges 2010), as LightGBM grows them.

    Documents are handed over in an order that depends on them alone, with a fixed seed and number of threads:
    LightGBM's result depends on all three.

    Parameters
    ----------
    n_trees : int, default 200
    rate : float, default 0.1
        Shrinks each tree.
    n_leaves : int, default 15
    min_docs : int, default 20
        Of a leaf.
    feature_share : float, default 1
        Of the features that each tree may use.
    l2 : float, default 0
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
    booster_ : lightgbm.Booster
    result_ : letorlab.solvers.Result
        ``objective``: NaN, LightGBM's loss is known by its slope only; ``n_iter``: trees that were grown.
    fit_facts_ : dict
        ``trees`` that were kept, ``validation``: the value of ``stop_on``, None without validation queries.
    """

    def __init__(
        self,
        n_trees: int = 200,
        rate: float = 0.1,
        n_leaves: int = 15,
        min_docs: int = 20,
        feature_share: float = 1.0,
        l2: float = 0.0,
        stop_on: str = "map",
        patience: int = 50,
        profile: str = "letor3",
        seed: int = 0,
        n_threads: int = 1,
    ) -> None:
        self.n_trees = n_trees
        self.rate = rate
        self.n_leaves = n_leaves
        self.min_docs = min_docs
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
        import lightgbm

        queries = Queries.from_rows(*fit_arrays(self, X, y), qid).canonical()
        check_grades(queries.y)
        train = lightgbm.Dataset(queries.X, queries.y, group=queries.sizes, free_raw_data=False)
        if validation is None:
            self.booster_: Booster = lightgbm.train(self._parameters(), train, self.n_trees)
            kept, value = self.booster_.num_trees(), None
        else:
            watch = EarlyStopping(validation, self.stop_on, profile=self.profile)
            unseen = train.create_valid(validation.X, validation.y, group=validation.sizes)
            self.booster_ = lightgbm.train(
                self._parameters(),
                train,
                self.n_trees,
                valid_sets=[unseen],
                feval=_feval(watch),
                callbacks=[lightgbm.early_stopping(self.patience, verbose=False)],
            )
            kept, value = self.booster_.best_iteration, watch.value
        self.trees_ = kept
        self.result_ = Result(np.zeros(0), float("nan"), None, self.booster_.num_trees(), True)
        self.fit_facts_: dict[str, Any] = {"trees": kept, "validation": value}
        return self

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores (n_docs,), higher is better."""
        features = predict_array(self, X)
        return np.asarray(self.booster_.predict(features, num_iteration=self.trees_, num_threads=self.n_threads))

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": "lambdarank",
            "metric": "None",
            "label_gain": [2.0**grade - 1.0 for grade in range(LARGEST_GRADE + 1)],
            "learning_rate": self.rate,
            "num_leaves": self.n_leaves,
            "min_data_in_leaf": self.min_docs,
            "min_sum_hessian_in_leaf": 0.0,
            "feature_fraction": self.feature_share,
            "lambda_l2": self.l2,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self.n_threads,
            "verbosity": -1,
        }


def check_grades(y: Floats) -> None:
    """Raise InputError unless all labels are grades that the gain 2^label - 1 can take."""
    if not ((y == np.round(y)) & (y >= 0) & (y <= LARGEST_GRADE)).all():
        wrong = y[(y != np.round(y)) | (y < 0) | (y > LARGEST_GRADE)][0]
        raise InputError(
            f"LambdaMART needs grades 0, 1, ..., {LARGEST_GRADE} as relevance; found {wrong:g}. "
            "Round or bin the labels, or take gbrt"
        )


def _feval(watch: EarlyStopping) -> Callable[[Floats, Any], tuple[str, float, bool]]:
    """Our measure as LightGBM takes it: a name, the best value so far, and that higher is better."""
    tree = 0

    def feval(scores: Floats, data: Any) -> tuple[str, float, bool]:
        nonlocal tree
        tree += 1
        watch.offer(tree, scores)
        return "measure", watch.value, True

    return feval
