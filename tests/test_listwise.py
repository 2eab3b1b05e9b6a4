"""Listwise and pairwise losses: slow oracles, closed forms, invariances, slopes; and training on them."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise

import numpy as np
import oracles
import pytest
import torch
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.listwise import LOSSES
from letorlab.listwise_objective import ListwiseObjective
from letorlab.merged import unmerged
from letorlab.metrics import average_precision
from letorlab.queries import Queries
from letorlab.rankers.listwise import ListwiseRanker
from letorlab.rankers.ranksvm import RankSVM
from letorlab.toy import make_toy

NDCG_LIKE = [name for name, loss in LOSSES.items() if loss.smoothed]
PARAMS = {"lambdarank": {"optimiser": "adam", "tol": 1e-5}}


def gain(label):
    return 2.0**label - 1.0


def ideal(labels):
    return oracles.dcg(sorted(labels, reverse=True), len(labels), oracles.standard_discount, gain)


def sigmoid(t):
    return 1 / (1 + math.exp(-t))


def slow_listnet(s, y, smoothing):
    p, q = (np.exp(v) / np.exp(v).sum() for v in (y, s))
    return -sum(p * np.log(q))


def slow_listmle(s, y, smoothing):
    terms = [-s[i] + math.log(sum(math.exp(s[j]) for j in range(len(y)) if y[j] <= y[i])) for i in range(len(y))]
    return float(np.mean([term for term, label in zip(terms, y, strict=True) if label > min(y)]))


def slow_ranknet(s, y, smoothing):
    pairs = oracles.strict_pairs(y, np.array([0, len(y)]))
    return float(np.mean([math.log(1 + math.exp(s[j] - s[i])) for i, j in pairs]))


def slow_lambdarank(s, y, smoothing):
    rank = {i: r for r, i in enumerate(sorted(range(len(s)), key=lambda i: -s[i]), start=1)}
    total = 0.0
    for i, j in oracles.strict_pairs(y, np.array([0, len(y)])):
        swap = abs(oracles.standard_discount(rank[i]) - oracles.standard_discount(rank[j])) * (gain(y[i]) - gain(y[j]))
        total += swap * math.log(1 + math.exp(s[j] - s[i]))
    return total / ideal(y)


def slow_approxndcg(s, y, smoothing):
    n = len(s)
    ranks = [1 + sum(sigmoid((s[j] - s[i]) / smoothing) for j in range(n) if j != i) for i in range(n)]
    return -sum(gain(y[i]) * oracles.standard_discount(ranks[i]) for i in range(n)) / ideal(y)


def expected(logits, y):
    chance = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    gains = chance @ np.array([gain(label) for label in y])
    return -sum(g * oracles.standard_discount(k) for k, g in enumerate(gains, start=1)) / ideal(y)


def slow_neuralsort(s, y, smoothing):
    n = len(s)
    spread = [sum(abs(s[j] - other) for other in s) for j in range(n)]
    logits = [[((n + 1 - 2 * k) * s[j] - spread[j]) / smoothing for j in range(n)] for k in range(1, n + 1)]
    return expected(np.array(logits), y)


def slow_smoothrank(s, y, smoothing):
    falling = sorted(s, reverse=True)
    return expected(np.array([[-((s[j] - at) ** 2) / smoothing for j in range(len(s))] for at in falling]), y)


SLOW = {name: globals()[f"slow_{name}"] for name in LOSSES}


def objective_of(queries, name, k=None):
    return ListwiseObjective(unmerged(queries), LOSSES[name], k=k)


def value(objective, scores, smoothing=0.5):
    return -objective.value_and_slope(torch.as_tensor(scores), smoothing)[0]


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), smoothing=st.sampled_from([0.2, 1.0, 3.0]))
def test_padded_lists_give_the_same_as_one_query_at_a_time(name, seed, smoothing):
    objective = objective_of(random_queries(seed, n_queries=6), name)
    merged = objective.merged
    scores = np.random.default_rng(seed).normal(size=len(merged.document))
    slow = [
        SLOW[name](scores[start:stop], merged.relevance[start:stop], smoothing)
        for start, stop in pairwise(merged.offsets)
    ]
    assert value(objective, scores, smoothing) == pytest.approx(np.mean(slow), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "lambdarank"])
def test_slopes_equal_finite_differences(name):
    objective = objective_of(random_queries(3, n_queries=6), name, k=4)
    rng, step = np.random.default_rng(0), 1e-6
    scores = rng.normal(size=len(objective.merged.document))
    _, slope = objective.value_and_slope(torch.as_tensor(scores), 0.7)
    for _ in range(4):
        way = rng.normal(size=len(scores))
        ends = [value(objective, scores + sign * step * way, 0.7) for sign in (1, -1)]
        assert float(slope @ torch.as_tensor(way)) == pytest.approx((ends[1] - ends[0]) / (2 * step), abs=1e-7)


def test_listmle_of_distinct_labels_is_the_likelihood_of_the_order():
    """Plackett and Luce: all orders' probabilities add up to 1, and the loss is minus the mean logarithm of one."""
    scores = np.array([0.3, -1.0, 2.0, 0.5])

    def chance(order):
        weights = np.exp(scores[list(order)])
        return np.prod([weights[i] / weights[i:].sum() for i in range(len(weights))])

    orders = list(itertools.permutations(range(4)))
    assert sum(map(chance, orders)) == pytest.approx(1)
    for order in orders[::5]:
        y = np.empty(4)
        y[list(order)] = [3, 2, 1, 0]
        queries = Queries.from_rows(np.arange(4.0)[:, None], y, ["a"] * 4)
        assert value(objective_of(queries, "listmle"), scores) == pytest.approx(-np.log(chance(order)) / 3)


@pytest.mark.parametrize("name", NDCG_LIKE)
@pytest.mark.parametrize("k", [None, 3])
def test_without_smoothing_the_loss_is_minus_the_ndcg(name, k):
    queries = random_queries(5, n_queries=8)
    objective = objective_of(queries, name, k)
    merged = objective.merged
    scores = np.random.default_rng(1).permutation(len(merged.document)).astype(float)  # at least 1 apart
    exact = [
        oracles.ndcg(oracles.ranked(scores[a:b], merged.relevance[a:b]), k or b - a, oracles.standard_discount, gain)
        for a, b in pairwise(merged.offsets)
    ]
    assert value(objective, scores, 1e-2) == pytest.approx(-np.mean(exact), abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_adding_a_constant_to_a_query_changes_nothing_and_scores_of_a_thousand_are_finite(name):
    objective = objective_of(random_queries(6), name)
    rng = np.random.default_rng(2)
    scores = rng.normal(size=len(objective.merged.document))
    shift = np.repeat(rng.normal(size=objective.merged.n_queries), np.diff(objective.merged.offsets))
    assert value(objective, scores + shift) == pytest.approx(value(objective, scores), abs=1e-12)
    huge, slope = objective.value_and_slope(torch.as_tensor(1000 * np.sign(scores)), 0.5)
    assert math.isfinite(huge)
    assert torch.isfinite(slope).all()


def test_queries_without_a_strict_pair_change_nothing_and_data_without_any_are_refused():
    queries = random_queries(2, n_queries=8)
    more = Queries.from_rows(
        np.vstack([queries.X, np.ones((3, queries.n_features))]),
        np.concatenate([queries.y, [1, 1, 1]]),
        np.concatenate([queries.qid_of_docs, ["one", "same", "same"]]),
    )
    fits = [ListwiseRanker(start_lam=None).fit(q.X, q.y, q.qid_of_docs) for q in (queries, more)]
    np.testing.assert_allclose(fits[0].result_.coef, fits[1].result_.coef, atol=1e-9)
    with pytest.raises(InputError, match="there is nothing to learn from"):
        ListwiseRanker().fit(np.ones((4, 2)), np.ones(4), ["a", "a", "b", "b"])


# ---- training ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy() -> tuple[Queries, Queries]:
    data = make_toy(queries=50, documents=[15, 25], features=8, grades=3, seed=7)
    first = np.isin(data.qid_of_docs, data.qid[:30])
    rows = data.X, data.y, data.qid_of_docs
    return tuple(Queries.from_rows(*(column[part] for column in rows)) for part in (first, ~first))


def fit(train, validation=None, **params):
    return ListwiseRanker(**params).fit(train.X, train.y, train.qid_of_docs, validation=validation)


def mean_ap(model, queries):
    return average_precision(model.predict(queries.X), queries.y, queries.offsets).mean()


@pytest.mark.parametrize("name", ["listnet", "listmle", "ranknet"])
def test_convex_objectives_end_at_the_stationary_point_wherever_they_start(name, toy):
    fits = [fit(toy[0], objective=name, lam=1e-2, start_lam=None, tol=1e-13)]
    objective = objective_of(toy[0], name)
    X, w = objective.merged.documents, fits[0].result_.coef
    _, rising = objective.value_and_slope(torch.as_tensor(X @ w), 1.0)
    np.testing.assert_allclose(2 * 1e-2 * w - X.T @ rising.numpy(), 0, atol=1e-5)
    other = fit(toy[0], objective=name, lam=1e-2, start_lam=None, tol=1e-13, optimiser="adam", max_iter=3000)
    np.testing.assert_allclose(other.result_.coef, w, atol=1e-2)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("scorer", ["linear", "mlp"])
def test_every_objective_trains_and_ranks_about_as_well_as_ranksvm(name, scorer, toy):
    train, test = toy
    model = fit(train, test, objective=name, scorer=scorer, n_hidden=4, **PARAMS.get(name, {}))
    assert model.result_.converged
    level = mean_ap(RankSVM(C=1e-2).fit(train.X, train.y, train.qid_of_docs), test)
    assert mean_ap(model, test) > 0.95 * level
    assert mean_ap(model, test) == pytest.approx(model.fit_facts_["validation"])  # the best weights are the kept ones


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_rows_does_not_matter(name, toy):
    train = toy[0]
    order = np.random.default_rng(3).permutation(train.n_docs)
    params = {"objective": name, "max_iter": 20, "n_stages": 2, **PARAMS.get(name, {})}
    other = ListwiseRanker(**params).fit(train.X[order], train.y[order], train.qid_of_docs[order])
    np.testing.assert_array_equal(other.result_.coef, fit(train, **params).result_.coef)


def test_the_best_weights_by_validation_are_kept_not_the_last(toy):
    train, validation = toy
    flipped = Queries(validation.X, 2 - validation.y, validation.offsets, validation.qid, validation.docid)
    kept, last = fit(train, flipped, start_lam=None), fit(train, start_lam=None)
    # on reversed labels no step helps: the constant start is best
    np.testing.assert_array_equal(kept.result_.coef, 0)
    assert np.abs(last.result_.coef).max() > 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "mse"}, "unknown objective 'mse'; known: listnet, listmle"),
        ({"objective": "lambdarank"}, "use optimiser='adam'"),
        ({"lam": -1.0}, "lam must be a number of at least 0; got -1.0"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"optimiser": "sgd"}, "unknown optimiser 'sgd'"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
    ],
)
def test_bad_parameters_are_named(params, message, toy):
    with pytest.raises(InputError, match=message):
        fit(toy[0], **params)
