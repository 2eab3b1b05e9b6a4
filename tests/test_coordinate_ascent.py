"""Coordinate ascent: no step along one feature improves its end, and it ranks what can be ranked."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries

from letorlab.errors import InputError
from letorlab.listmeasures import ListMeasure
from letorlab.metrics import average_precision
from letorlab.queries import Queries
from letorlab.rankers.coordinate_ascent import CoordinateAscent


def fit(queries, validation=None, **params):
    return CoordinateAscent(**params).fit(queries.X, queries.y, queries.qid_of_docs, validation=validation)


def linear_queries(seed):
    """Labels that a linear score ranks perfectly."""
    queries = random_queries(seed, n_queries=30)
    scores = queries.X @ np.array([1.0, -2.0, 0.5, 0.0])
    return Queries(queries.X, (scores > 0.5).astype(float), queries.offsets, queries.qid, queries.docid)


@pytest.mark.parametrize("measure", ["map", "ndcg@5"])
def test_at_the_end_no_step_along_a_feature_gains(measure):
    queries = random_queries(1, n_queries=20)
    model = fit(queries, measure=measure, n_restarts=1, tol=1e-12)
    assert model.result_.converged
    value = ListMeasure(queries, measure, "letor3")
    assert model.result_.objective == pytest.approx(1 - value(queries.X @ model.coef_).mean())
    assert np.abs(model.coef_).sum() == pytest.approx(1)
    for feature in range(queries.n_features):
        for step in 0.05 * max(abs(model.coef_[feature]), 0.25) * 2.0 ** np.arange(8):
            for sign in (1, -1):
                w = model.coef_ + sign * step * np.eye(4)[feature]
                assert value(queries.X @ w).mean() <= 1 - model.result_.objective + 1e-9


def test_what_a_linear_score_can_rank_is_ranked():
    queries = linear_queries(2)
    best = average_precision(queries.y, queries.y, queries.offsets).mean()
    assert 1 - fit(queries, n_restarts=3).result_.objective > 0.97 * best


def test_more_restarts_are_never_worse():
    queries = random_queries(3, n_queries=20)
    losses = [fit(queries, n_restarts=n).result_.objective for n in (1, 2, 4)]
    assert losses == sorted(losses, reverse=True)


def test_the_best_sweep_by_validation_is_kept():
    queries, unseen = random_queries(4, n_queries=20), random_queries(5, n_queries=20)
    model = fit(queries, unseen, n_restarts=3)
    kept = average_precision(model.predict(unseen.X), unseen.y, unseen.offsets).mean()
    assert kept == pytest.approx(model.fit_facts_["validation"])
    assert kept >= average_precision(unseen.X @ fit(queries).coef_, unseen.y, unseen.offsets).mean()


def test_too_few_sweeps_are_reported():
    assert not fit(linear_queries(2), max_sweeps=1, tol=0.0).result_.converged


def test_bad_parameters_and_labels_are_named():
    with pytest.raises(InputError, match="n_steps must be a whole number of at least 1; got 0"):
        fit(random_queries(1), n_steps=0)
    with pytest.raises(InputError, match="none of the 2 queries has a relevant document"):
        CoordinateAscent().fit(np.eye(4), np.zeros(4), ["a", "a", "b", "b"])
