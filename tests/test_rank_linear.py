"""Expected measures: exact at permutations, averages of permutations, closed forms at the uniform matrix."""

from __future__ import annotations

import math

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.metrics import ndcg, precision, rbp
from letorlab.profiles import PROFILES
from letorlab.queries import offsets_from_sizes
from letorlab.rank_linear import expected_value, measure_named, ndcg_terms

seeds = st.integers(0, 10**6)


def one_query(labels):
    return np.asarray(labels, dtype=float), np.array([0, len(labels)])


def value(objective, Z, labels, profile="letor3"):
    terms = measure_named(objective, profile)(*one_query(labels))
    return expected_value(Z, terms.gains, terms.discounts)


def permutation(order):
    """Z of the ranking that puts document order[k] at rank k."""
    return np.eye(len(order))[np.argsort(order)]


@pytest.mark.parametrize("profile", PROFILES)
@given(seed=seeds)
def test_at_a_permutation_the_expectation_is_the_measure(profile, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    labels, scores = rng.integers(0, 3, size).astype(float), rng.normal(size=size)
    Z, (y, offsets) = permutation(np.argsort(-scores)), one_query(labels)
    for k in range(1, size + 1):
        pair = value(f"ndcg@{k}", Z, labels, profile), ndcg(scores, y, offsets, k=k, profile=profile)[0]
        assert pair[0] == pytest.approx(pair[1], abs=1e-12)
        pair = value(f"precision@{k}", Z, labels, profile), precision(scores, y, offsets, k=k, profile=profile)[0]
        assert pair[0] == pytest.approx(pair[1], abs=1e-12)
    assert value("ndcg", Z, labels, profile) == pytest.approx(value(f"ndcg@{size}", Z, labels, profile))
    rank_biased = rbp(scores, y, offsets, persistence=0.8, profile=profile)[0]
    assert value("rbp@0.8", Z, labels, profile) == pytest.approx(rank_biased, abs=1e-12)


def test_any_gain_of_relevance_and_rank():
    def gain(relevance, ranks):
        return relevance * np.sqrt(relevance + ranks)

    labels, order = [2, 0, 1, 1], [2, 0, 3, 1]
    expected = sum(labels[j] * math.sqrt(labels[j] + rank) for rank, j in enumerate(order, start=1))
    assert value(gain, permutation(order), labels) == pytest.approx(expected)
    ideal = (2**2 - 1) * 1 + 1 * 1 + 1 / math.log2(3)
    as_ndcg = value(lambda r, k: (2**r - 1) / np.log2(np.maximum(k, 2)) / ideal, np.full((4, 4), 0.25), labels)
    assert as_ndcg == pytest.approx(value("ndcg", np.full((4, 4), 0.25), labels))
    with pytest.raises(InputError, match=r"must be finite at every rank"):
        value(lambda r, k: np.log(r + 0 * k), np.eye(2), [1, 0])


@given(seeds, st.integers(1, 8), st.integers(1, 8))
def test_indifference_gives_the_mean_gain_times_the_discounts(seed, size, k):
    labels = np.random.default_rng(seed).integers(0, 3, size)
    gains = 2.0**labels - 1
    discounts = sum(oracles.letor3_discount(rank) for rank in range(1, min(k, size) + 1))
    ideal = oracles.dcg(sorted(labels, reverse=True), k, oracles.letor3_discount, lambda r: 2.0**r - 1)
    expected = gains.mean() * discounts / ideal if ideal > 0 else 0.0
    assert value(f"ndcg@{k}", np.full((size, size), 1 / size), labels) == pytest.approx(expected)


@given(seeds)
def test_the_expectation_is_the_average_over_permutations(seed):
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, 3, 5), rng.dirichlet(np.ones(4))
    matrices = [permutation(rng.permutation(5)) for _ in weights]
    mixture = sum(w * Z for w, Z in zip(weights, matrices, strict=True))
    for objective in ("ndcg@3", "precision@2", "rbp@0.7"):
        average = sum(w * value(objective, Z, labels) for w, Z in zip(weights, matrices, strict=True))
        assert value(objective, mixture, labels) == pytest.approx(average)


def test_equal_relevances_give_one_whatever_the_matrix():
    rng = np.random.default_rng(0)
    Z = sum(w * permutation(rng.permutation(6)) for w in rng.dirichlet(np.ones(5)))
    assert value("ndcg", Z, np.full(6, 2.0)) == pytest.approx(1.0, abs=1e-12)


def test_queries_are_normalised_one_by_one_and_none_without_gain():
    queries = random_queries(3, n_queries=20)
    terms = ndcg_terms(4)(queries.y, queries.offsets)
    for start, stop in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        alone = ndcg_terms(4)(queries.y[start:stop], np.array([0, stop - start]))
        np.testing.assert_allclose(terms.gains[start:stop], alone.gains)
        np.testing.assert_array_equal(terms.discounts[: stop - start], alone.discounts)
    zero = ndcg_terms()(np.zeros(3), offsets_from_sizes([3]))
    assert (zero.gains == 0).all()


@pytest.mark.parametrize("objective", ["mrr", "ndcg@0", "ndcg@", "precision", "precision@x", "rbp", "ndcg@2.5"])
def test_unknown_objectives_list_the_known_ones(objective):
    with pytest.raises(InputError, match=r"unknown objective .*; known: ndcg, ndcg@10, precision@10"):
        measure_named(objective)


def test_labels_and_persistence_out_of_range_are_refused():
    with pytest.raises(InputError, match=r"labels must lie in \[0, 2\] for this gain; found 0 to 4"):
        ndcg_terms()(np.array([0.0, 4.0]), np.array([0, 2]))
    with pytest.raises(InputError, match=r"persistence of RBP must lie in \[0, 1\); got 1.0"):
        measure_named("rbp@1.0")
