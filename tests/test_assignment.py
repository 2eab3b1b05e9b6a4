"""From a matrix to a ranking."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from letorlab.assignment import RULES, ranking, scores_of_ranking
from letorlab.errors import InputError
from letorlab.presinkhorn import smoothed_indicator
from letorlab.sinkhorn import sinkhorn

seeds = st.integers(0, 10**6)


def balanced(seed, size):
    return sinkhorn(torch.as_tensor(np.random.default_rng(seed).uniform(0.01, 1, (size, size)))).matrix.numpy()


def log_probability(Z, order):
    return float(np.log(Z[order, np.arange(len(order))]).sum())


@given(seeds, st.integers(1, 6))
def test_the_full_rule_has_the_largest_sum_of_logarithms(seed, size):
    Z = balanced(seed, size)
    best = max(log_probability(Z, list(p)) for p in permutations(range(size)))
    assert log_probability(Z, ranking(Z, np.arange(size), rule="full")) == pytest.approx(best, abs=1e-12)


@given(seeds, st.integers(1, 12))
def test_the_top_rule_with_all_documents_is_the_full_rule(seed, size):
    Z, scores = balanced(seed, size), np.arange(size)
    np.testing.assert_array_equal(ranking(Z, scores, rule="top", top=size), ranking(Z, scores, rule="full"))


@given(seeds)
def test_the_top_rule_assigns_the_first_and_leaves_the_rest(seed):
    Z, scores = balanced(seed, 9), np.arange(9)
    expected, top = (ranking(Z, scores, rule=rule, top=5) for rule in ("expected", "top"))
    np.testing.assert_array_equal(expected, np.argsort(Z @ np.arange(1, 10)))
    np.testing.assert_array_equal(top[5:], expected[5:])
    head = max(permutations(expected[:5].tolist()), key=lambda p: log_probability(Z, list(p)))
    assert log_probability(Z, top[:5]) == pytest.approx(log_probability(Z, list(head)), abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds, smoothing=st.sampled_from([0.01, 0.3, 2.0]))
def test_smoothed_indicators_rank_by_score(rule, seed, smoothing):
    phi = np.random.default_rng(seed).normal(size=12)
    Z = sinkhorn(smoothed_indicator(torch.as_tensor(phi), None, smoothing)).matrix.numpy()
    np.testing.assert_array_equal(ranking(Z, phi, rule=rule), np.argsort(-phi))


def test_where_the_matrix_says_nothing_scores_decide_and_then_the_order_of_the_list():
    Z = np.full((4, 4), 0.25)
    np.testing.assert_array_equal(ranking(Z, np.array([1.0, 3.0, 1.0, 2.0]), rule="expected"), [1, 3, 0, 2])


@given(seeds)
def test_documents_with_equal_scores_keep_their_order_under_every_rule(seed):
    phi = np.random.default_rng(seed).integers(0, 3, 9).astype(float)
    Z = sinkhorn(smoothed_indicator(torch.as_tensor(phi), None, 0.5)).matrix.numpy()
    for rule in RULES:
        np.testing.assert_array_equal(ranking(Z, phi, rule=rule), np.argsort(-phi, kind="stable"))


def test_scores_fall_strictly_down_the_ranking():
    order = np.array([2, 0, 3, 1])
    scores = scores_of_ranking(order, np.array([0.3, 0.1, 0.9, 0.2]))
    np.testing.assert_array_equal(np.argsort(-scores), order)
    assert (np.diff(scores[order]) < 0).all()


def test_equal_documents_share_the_score_of_their_first_rank():
    np.testing.assert_array_equal(scores_of_ranking(np.array([1, 0, 2, 3]), np.array([5.0, 7, 5, 1])), [3, 4, 3, 1])


def test_bad_rules_are_named():
    with pytest.raises(InputError, match="unknown rule for the permutation 'greedy'; known: expected, top, full"):
        ranking(np.eye(2), np.zeros(2), rule="greedy")
    with pytest.raises(InputError, match="top, the number of ranks that are assigned anew, must be at least 1; got 0"):
        ranking(np.eye(2), np.zeros(2), top=0)
