"""The sorted sums over pairs against the written-out pairs."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.pairwise import StrictPairs

seeds, margins = st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0, 2.0])


def setting(seed: int, margin: float):
    """Pairs of random queries with tied scores, and the difference matrix of the violated ones."""
    queries = random_queries(seed)
    scores = np.random.default_rng(seed).integers(-4, 5, queries.n_docs) / 2.0
    pairs = oracles.strict_pairs(queries.y, queries.offsets)
    violated = [(i, j) for i, j in pairs if scores[i] - scores[j] < margin]
    return queries, scores, pairs, oracles.difference_matrix(violated, queries.n_docs)


@given(seeds, margins)
def test_violated_pairs_have_the_algebra_of_the_difference_matrix(seed, margin):
    queries, scores, pairs, D = setting(seed, margin)
    strict = StrictPairs(queries.y, queries.offsets)
    violated = strict.violated(scores, margin)
    assert strict.n_pairs == len(pairs)
    assert violated.count == len(D)
    np.testing.assert_allclose(violated.degree, D.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(violated.gram(queries.X), queries.X.T @ D.T @ D @ queries.X, atol=1e-10)
    np.testing.assert_allclose(violated.laplacian(scores), D.T @ D @ scores, atol=1e-10)


@given(seeds, margins, st.sampled_from([0.0, 0.5, 1.0, 2.5]))
def test_a_band_of_margins_has_the_algebra_of_its_pairs(seed, margin, width):
    queries, scores, pairs, _ = setting(seed, margin)
    band = [(i, j) for i, j in pairs if margin - width <= scores[i] - scores[j] < margin]
    D = oracles.difference_matrix(band, queries.n_docs)
    found = StrictPairs(queries.y, queries.offsets).violated(scores, margin, above=margin - width)
    assert found.count == len(band)
    np.testing.assert_allclose(found.degree, D.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.gram(queries.X), queries.X.T @ D.T @ D @ queries.X, atol=1e-10)
    np.testing.assert_allclose(found.laplacian(scores), D.T @ D @ scores, atol=1e-10)


@given(seeds)
def test_concordance_counts_pairs_in_order_and_half_the_ties(seed):
    queries, scores, pairs, _ = setting(seed, 1.0)
    expected = [1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0 for i, j in pairs]
    strict = StrictPairs(queries.y, queries.offsets)
    assert strict.concordance(scores) == pytest.approx(np.mean(expected) if pairs else 0.5)
    assert strict.concordance(scores) + strict.concordance(-scores) == pytest.approx(1.0)


def test_concordance_of_one_query_is_the_area_under_the_roc_curve():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 200).astype(float), rng.integers(0, 9, 200).astype(float)
    assert StrictPairs(y, np.array([0, 200])).concordance(scores) == pytest.approx(roc_auc_score(y, scores), abs=1e-14)


def test_queries_of_one_grade_or_one_document_have_no_pairs():
    pairs = StrictPairs(np.array([1.0, 1, 1, 0]), np.array([0, 3, 4]))
    assert pairs.n_pairs == 0
    assert pairs.violated(np.zeros(4)).count == 0
    np.testing.assert_array_equal(pairs.violated(np.zeros(4)).gram(np.ones((4, 2))), 0)
    assert StrictPairs(np.ones(3), np.array([0, 3])).levels == []


def test_memory_does_not_grow_with_the_number_of_pairs():
    """10^10 pairs: written out, they would need 160 GB."""
    n = 200_000
    y = np.repeat([1.0, 0.0], n // 2)
    scores = np.random.default_rng(0).normal(size=n)
    pairs = StrictPairs(y, np.array([0, n]))
    assert pairs.n_pairs == (n // 2) ** 2
    sorted_lower = np.sort(scores[n // 2 :])
    expected = len(sorted_lower) * (n // 2) - np.searchsorted(sorted_lower, scores[: n // 2] - 1, "right").sum()
    assert pairs.violated(scores).count == expected
