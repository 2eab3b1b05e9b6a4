"""Adapters of tree libraries: they add our evaluation and order of documents, and change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from letorlab.errors import InputError
from letorlab.metrics import average_precision
from letorlab.queries import Queries
from letorlab.rankers import missing_library, ranker_class
from letorlab.rankers.trees import GBRT, RandomForest

BOOSTED = ["gbrt", "lambdamart", "lambdamart_xgboost"]


def boosted(name, **params):
    if missing_library(name):
        pytest.skip(f"{missing_library(name)} is not installed")
    return ranker_class(name)(n_leaves=4, **params)


@pytest.fixture(scope="module")
def splits() -> tuple[Queries, Queries]:
    return random_queries(1, n_queries=60), random_queries(2, n_queries=40)


@pytest.mark.parametrize("name", BOOSTED)
def test_the_number_of_trees_that_is_best_on_validation_is_kept(name, splits):
    train, unseen = splits
    data = train.X, train.y, train.qid_of_docs
    model = boosted(name, n_trees=15).fit(*data, validation=unseen)
    values = [
        average_precision(boosted(name, n_trees=n).fit(*data).predict(unseen.X), unseen.y, unseen.offsets).mean()
        for n in range(1, 16)
    ]
    assert model.fit_facts_["validation"] == pytest.approx(max(values))
    assert model.fit_facts_["trees"] == 1 + int(np.argmax(np.round(values, 12)))
    kept = average_precision(model.predict(unseen.X), unseen.y, unseen.offsets).mean()
    assert kept == pytest.approx(max(values))


@pytest.mark.parametrize("name", ["lambdamart", "lambdamart_xgboost"])
@pytest.mark.parametrize("label", [0.5, 32.0])
def test_lambdamart_refuses_what_is_not_a_grade(name, label, splits):
    train = splits[0]
    y = train.y.copy()
    y[3] = label
    with pytest.raises(InputError, match=rf"needs grades 0, 1, ..., 31 as relevance; found {label:g}"):
        boosted(name).fit(train.X, y, train.qid_of_docs)


def test_lambdamart_takes_the_highest_grade(splits):
    train = splits[0]
    y = np.where(train.y == 2, 31.0, train.y)
    assert np.isfinite(boosted("lambdamart", n_trees=3).fit(train.X, y, train.qid_of_docs).predict(train.X)).all()


def test_the_pointwise_trees_are_those_of_scikit_learn(splits):
    train = splits[0].canonical()
    data = train.X, train.y, train.qid_of_docs
    theirs = HistGradientBoostingRegressor(
        max_iter=20, learning_rate=0.1, max_leaf_nodes=4, min_samples_leaf=20, early_stopping=False, random_state=3
    ).fit(train.X, train.y)
    ours = GBRT(n_trees=20, n_leaves=4, seed=3).fit(*data)
    np.testing.assert_array_equal(ours.predict(train.X), theirs.predict(train.X))
    forest = RandomForestRegressor(20, min_samples_leaf=5, max_features=0.5, random_state=3).fit(train.X, train.y)
    ours = RandomForest(n_trees=20, feature_share=0.5, seed=3).fit(*data)
    np.testing.assert_allclose(ours.predict(train.X), forest.predict(train.X), atol=1e-12)
