"""The measures that boosting and line searches maximise, against those of the evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.listmeasures import ListMeasure
from letorlab.metrics import average_precision, ndcg
from letorlab.queries import Queries


def exact(metric, scores, queries, profile):
    if metric == "map":
        return average_precision(scores, queries.y, queries.offsets, profile=profile)
    return ndcg(scores, queries.y, queries.offsets, k=int(metric[5:]), profile=profile)


@pytest.mark.parametrize("profile", ["letor3", "standard_exp", "standard_linear"])
@pytest.mark.parametrize("metric", ["map", "ndcg@1", "ndcg@4", "ndcg@40"])
@given(seed=st.integers(0, 10**6))
def test_without_ties_the_values_are_those_of_the_evaluation(metric, profile, seed):
    queries, rng = random_queries(seed), np.random.default_rng(seed)
    scores = rng.normal(size=queries.n_docs) * 10.0 ** rng.integers(-6, 7)
    values = ListMeasure(queries, metric, profile)(scores)
    np.testing.assert_allclose(values, exact(metric, scores, queries, profile), atol=1e-12)


@pytest.mark.parametrize("metric", ["map", "ndcg@3"])
@given(seed=st.integers(0, 10**6))
def test_equal_scores_are_ranked_worst_first_whatever_the_order_of_rows(metric, seed):
    queries, rng = random_queries(seed), np.random.default_rng(seed)
    scores = rng.integers(-1, 2, queries.n_docs) * 0.5  # with zeros of both signs
    scores[scores == 0] *= rng.choice([-1.0, 1.0], size=np.count_nonzero(scores == 0))
    order = np.lexsort((queries.y, np.repeat(np.arange(queries.n_queries), queries.sizes)))
    worst = Queries(queries.X[order], queries.y[order], queries.offsets, queries.qid, queries.docid[order])
    values = ListMeasure(queries, metric, "letor3")(scores)
    np.testing.assert_allclose(values, exact(metric, scores[order], worst, "letor3"), atol=1e-12)


def test_other_measures_and_labels_without_gain_are_refused():
    queries = random_queries(1, grades=4)
    with pytest.raises(InputError, match="'mrr' can not be maximised here; use map, or ndcg"):
        ListMeasure(queries, "mrr", "letor3")
    with pytest.raises(InputError, match="labels must be at most 2"):
        ListMeasure(queries, "ndcg@3", "letor3")
