"""AdaRank and RankBoost: every round against a slow search, the sums over pairs against pairs written out."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.metrics import average_precision
from letorlab.rankers.adarank import AdaRank
from letorlab.rankers.rankboost import RankBoost
from letorlab.solvers.rankboost import PairWeights, Stumps


def data(queries):
    return queries.X, queries.y, queries.qid_of_docs


# ---- AdaRank -----------------------------------------------------------------------------------------------------


def slow_adarank(queries, n_rounds):
    """The paper's box, one query at a time; scores without ties."""

    def measure(scores, a, b):
        return oracles.average_precision(oracles.ranked(scores[a:b], queries.y[a:b]))

    bounds = [(a, b) for a, b in pairwise(queries.offsets) if queries.y[a:b].any()]
    weight, scores, taken = [1 / len(bounds)] * len(bounds), np.zeros(queries.n_docs), []
    for _ in range(n_rounds):
        best = None
        for k, column in enumerate(queries.X.T):
            each = [measure(column, a, b) for a, b in bounds]
            value = sum(p * e for p, e in zip(weight, each, strict=True))
            if best is None or value > best[0] + 1e-12:
                best = value, k
        alpha = 0.5 * math.log((1 + best[0]) / (1 - best[0]))
        taken.append((best[1], alpha))
        scores = scores + alpha * queries.X[:, best[1]]
        bad = [math.exp(-measure(scores, a, b)) for a, b in bounds]
        weight = [value / sum(bad) for value in bad]
    return taken


@pytest.mark.parametrize("seed", range(5))
def test_adarank_takes_the_rounds_of_the_paper(seed):
    queries = random_queries(seed, n_queries=12)
    model = AdaRank(n_rounds=6, max_repeats=100).fit(*data(queries))
    taken = slow_adarank(queries, 6)
    assert model.chosen_.tolist() == [feature for feature, _ in taken]
    expected = np.zeros(queries.n_features)
    for feature, alpha in taken:
        expected[feature] += alpha
    np.testing.assert_allclose(model.coef_, expected, atol=1e-12)


def test_a_feature_sits_out_until_all_others_were_taken():
    queries = random_queries(3, n_queries=12)
    for repeats in (1, 2):
        chosen = AdaRank(n_rounds=16, max_repeats=repeats).fit(*data(queries)).chosen_
        for block in chosen.reshape(-1, 4 * repeats):
            assert np.bincount(block).tolist() == [repeats] * 4


def test_a_perfect_feature_gets_a_finite_coefficient_and_is_all_that_is_needed():
    queries = random_queries(4, n_queries=12)
    X = queries.X.copy()
    X[:, 2] = queries.y
    model = AdaRank(n_rounds=1).fit(X, queries.y, queries.qid_of_docs)
    assert model.chosen_.tolist() == [2]
    assert np.isfinite(model.coef_).all()
    counted = np.maximum.reduceat(queries.y, queries.offsets[:-1]) > 0
    assert average_precision(model.predict(X), queries.y, queries.offsets)[counted] == pytest.approx(1)
    assert model.result_.objective == pytest.approx(1 - counted.mean())


def test_adarank_needs_a_relevant_document():
    with pytest.raises(InputError, match="none of the 2 queries has a relevant document"):
        AdaRank().fit(np.eye(4), np.zeros(4), ["a", "a", "b", "b"])
    with pytest.raises(InputError, match="max_repeats must be a whole number of at least 1"):
        AdaRank(max_repeats=0).fit(np.eye(2), [1, 0], ["a", "a"])


# ---- RankBoost ---------------------------------------------------------------------------------------------------


def pair_weights(queries, scores, weighting):
    """Starting weight times exp(-(s_i - s_j)) of each pair written out."""
    pairs = oracles.strict_pairs(queries.y, queries.offsets)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    counts = np.bincount([query[i] for i, _ in pairs], minlength=queries.n_queries)
    start = np.array([1.0 if weighting == "pairs" else 1.0 / counts[query[i]] for i, _ in pairs])
    return pairs, start / start.sum() * np.exp([scores[j] - scores[i] for i, j in pairs])


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@given(seed=st.integers(0, 10**6))
def test_sums_over_pairs_equal_those_of_pairs_written_out(weighting, seed):
    queries = random_queries(seed, n_queries=8, grades=4)
    scores = np.random.default_rng(seed).normal(size=queries.n_docs)
    pairs, weight = pair_weights(queries, scores, weighting)
    potential = np.zeros(queries.n_docs)
    for (i, j), w in zip(pairs, weight, strict=True):
        potential[i] += w
        potential[j] -= w
    fast = PairWeights(queries, weighting)
    loss, fast_potential = fast.evaluate(scores)
    assert fast.n_pairs == len(pairs)
    assert loss == pytest.approx(weight.sum())
    np.testing.assert_allclose(fast_potential, potential, atol=1e-12 * max(1.0, weight.max()))
    assert fast.evaluate(np.zeros(queries.n_docs))[0] == pytest.approx(1)


@pytest.mark.parametrize("ties", [False, True])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_step_of_a_round_is_the_best_of_all(ties, seed):
    queries = random_queries(seed, n_queries=5, ties=ties)
    scores = np.random.default_rng(seed).normal(size=queries.n_docs)
    pairs, weight = pair_weights(queries, scores, "pairs")
    weighted = list(zip(pairs, weight, strict=True))
    shares = [
        sum(w * (float(x[i] > value) - float(x[j] > value)) for (i, j), w in weighted)
        for x in queries.X.T
        for value in np.unique(x)
    ]
    best = max(map(abs, shares)) / weight.sum()
    fast = PairWeights(queries, "pairs")
    stumps = Stumps(queries.X, None)
    loss, potential = fast.evaluate(scores)
    step = stumps.best(potential, loss)
    assert abs(math.tanh(step.alpha)) == pytest.approx(min(best, 1 - 1e-10), abs=1e-9)
    if best < 0.99:  # alpha minimises the loss along this step up to the bound sqrt(1 - r^2)
        above = (queries.X[:, step.feature] > stumps.thresholds[step.feature][step.place]).astype(float)
        assert fast.evaluate(scores + step.alpha * above)[0] <= loss * math.sqrt(1 - best**2) * (1 + 1e-9)


def test_the_model_is_the_sum_of_its_steps_and_the_loss_falls_every_round():
    queries = random_queries(1, n_queries=20)
    losses = [RankBoost(n_rounds=n).fit(*data(queries)).result_.objective for n in (1, 2, 5, 20)]
    assert losses == sorted(losses, reverse=True)
    model = RankBoost(n_rounds=20).fit(*data(queries))
    pairs, weight = pair_weights(queries, model.predict(queries.X), "pairs")
    assert model.result_.objective == pytest.approx(weight.sum())
    assert model.fit_facts_["n_pairs"] == len(pairs)


def test_few_thresholds_are_spread_over_the_values():
    X = np.arange(101.0)[:, None]
    assert Stumps(X, 3).thresholds[0].tolist() == [0.5, 50.5, 99.5]
    assert len(Stumps(X, None).thresholds[0]) == 100
    assert Stumps(np.ones((5, 1)), None).thresholds[0].tolist() == []


@pytest.mark.parametrize("cls", [AdaRank, RankBoost])
def test_the_best_round_by_validation_is_kept(cls):
    train, unseen = random_queries(1, n_queries=30), random_queries(2, n_queries=30)
    model = cls(n_rounds=30).fit(*data(train), validation=unseen)
    kept = average_precision(model.predict(unseen.X), unseen.y, unseen.offsets).mean()
    assert kept == pytest.approx(model.fit_facts_["validation"])
    every = [
        average_precision(cls(n_rounds=n).fit(*data(train)).predict(unseen.X), unseen.y, unseen.offsets).mean()
        for n in range(1, 31)
    ]
    assert kept == pytest.approx(max(every))
    assert model.fit_facts_["rounds"] == 1 + int(np.argmax(np.round(every, 12)))
    impatient = cls(n_rounds=30, patience=2).fit(*data(train), validation=unseen)
    assert impatient.result_.n_iter == min(30, impatient.fit_facts_["rounds"] + 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_rounds": 0}, "n_rounds must be a whole number of at least 1"),
        ({"rate": 0.0}, r"rate must lie in \(0, 1\]; got 0.0"),
        ({"n_thresholds": 0}, "n_thresholds must be a whole number of at least 1, or None"),
        ({"weighting": "documents"}, "unknown weighting 'documents'; known: pairs, queries"),
    ],
)
def test_bad_parameters_of_rankboost_are_named(params, message):
    with pytest.raises(InputError, match=message):
        RankBoost(**params).fit(np.eye(2), [1, 0], ["a", "a"])


def test_rankboost_needs_a_pair():
    with pytest.raises(InputError, match="there is no pair to learn from"):
        RankBoost().fit(np.eye(4), np.ones(4), ["a", "a", "b", "b"])
