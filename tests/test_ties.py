"""Equal scores: the order of the file, or the mean over all orders."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.metrics import METRICS, average_precision, err, measure, ndcg, precision, reciprocal_rank
from letorlab.profiles import PROFILES
from letorlab.ranking import queries_with_ties

seeds = st.integers(0, 10**6)
IN_ORDER = METRICS.keys() - {"comparison_accuracy", "tie_auc"}  # whose value depends on the order of equal scores


@given(seeds, st.sampled_from(list(PROFILES)))
def test_the_expected_value_is_the_mean_over_all_orders_of_equal_scores(seed, profile):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    scores, labels, offsets = rng.integers(0, 3, n).astype(float), rng.integers(0, 3, n).astype(float), np.array([0, n])
    for name in METRICS:
        options = {"profile": profile, "cutoffs": [1, 2, 4, 7]}
        orders = [measure(name, s, labels, offsets, **options) for s in oracles.orders_of_ties(scores.tolist())]
        if name in IN_ORDER:
            expected = measure(name, scores, labels, offsets, ties="expected", **options)
            np.testing.assert_allclose(expected, np.mean(orders, axis=0), rtol=1e-12, atol=1e-12)
        file = measure(name, scores, labels, offsets, **options)
        if name in IN_ORDER:
            assert min(abs(file - order).max() for order in orders) <= 1e-12  # the order of the file is one of them


@given(seeds)
def test_the_expected_value_does_not_depend_on_the_order_of_the_file(seed):
    queries, rng = random_queries(seed), np.random.default_rng(seed)
    scores = rng.integers(0, 3, queries.n_docs).astype(float)
    mixed = np.concatenate(
        [rng.permutation(np.arange(a, b)) for a, b in zip(queries.offsets, queries.offsets[1:], strict=False)]
    )
    for name in METRICS:
        options = {"profile": "letor4", "cutoffs": [1, 3, 10], "ties": "expected"}
        np.testing.assert_allclose(
            measure(name, scores, queries.y, queries.offsets, **options),
            measure(name, scores[mixed], queries.y[mixed], queries.offsets, **options),
            atol=1e-12,
        )


@given(seeds)
def test_without_ties_both_are_the_same_number(seed):
    queries = random_queries(seed)
    scores = np.random.default_rng(seed).permutation(queries.n_docs).astype(float)
    for name in METRICS:
        file, expected = (
            measure(name, scores, queries.y, queries.offsets, profile="letor3", cutoffs=[1, 5], ties=ties)
            for ties in ("file", "expected")
        )
        np.testing.assert_array_equal(file, expected)


def test_a_constant_scorer_by_hand():
    """Labels 0, 0, 1 or 1, 0, 0 with equal scores: the file's order gives 1/2 or 1, the expectation one value."""
    offsets = np.array([0, 3])
    for labels in (np.array([0.0, 0, 1]), np.array([1.0, 0, 0])):
        data = np.zeros(3), labels, offsets
        gains = (1 + 1 + 1 / log2(3)) / 3
        assert ndcg(*data, k=3, ties="expected") == pytest.approx([gains], abs=1e-15)
        assert precision(*data, k=2, ties="expected") == pytest.approx([1 / 3])
        for measure_ in (average_precision, reciprocal_rank):
            assert measure_(*data, ties="expected") == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3])
    assert reciprocal_rank(np.zeros(3), np.array([0.0, 0, 1]), offsets) == [1 / 3]
    assert reciprocal_rank(np.zeros(3), np.array([1.0, 0, 0]), offsets) == [1.0]


def test_a_thousand_equal_scores_have_the_value_of_random_draws_without_replacement():
    """The first of r relevant among n stands at rank j with probability C(n - j, r - 1) / C(n, r)."""
    n, r = 1000, 7
    labels, offsets = np.arange(n) < r, np.array([0, n])
    first = [comb(n - j, r - 1) / comb(n, r) for j in range(1, n + 1)]
    exact = sum(p / j for j, p in enumerate(first, 1))
    assert reciprocal_rank(np.zeros(n), labels, offsets, ties="expected") == pytest.approx([exact], rel=1e-12)
    # rank 1 is relevant with probability r / n, and grade 1 satisfies one reader in four
    assert err(np.zeros(n), labels, offsets, k=1, ties="expected") == pytest.approx([r / n / 4], rel=1e-12)


def test_only_ties_between_different_grades_matter():
    scores, labels = np.array([1.0, 1, 0, 1, 1, 0, 2]), np.array([1.0, 1, 0, 1, 0, 1, 1])
    np.testing.assert_array_equal(queries_with_ties(scores, labels, np.array([0, 3, 6, 7])), [False, True, False])
    # the last document of one query and the first of the next are no tie
    np.testing.assert_array_equal(queries_with_ties(np.zeros(2), np.array([0.0, 1]), np.array([0, 1, 2])), [False] * 2)
